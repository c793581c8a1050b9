"""Folders for the files of an attempt, of which none stays behind, not even of a killed process."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PREFIX: Final = "quorate-load-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a new folder for as long as the block takes; remove those of processes that died."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if (lock := _locked(left)) is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    folder, lock = _new()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _new() -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = _locked(folder)
        # Another process may have swept it before it was locked; some file systems have no locks.
        if lock is not None or folder.exists():
            return folder, lock


def _locked(folder: Path) -> int | None:
    """Lock a folder until its process ends; None if another has it, or it is gone."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    if folder.exists():
        return lock
    os.close(lock)
    return None

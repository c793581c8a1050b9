"""The directory of a shard: a folder per database, and a pointer to the current one."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from quorate.observe.failpoints import failpoint
from quorate.storage import durably
from quorate.storage.engine.port import Engine
from quorate.storage.engine.rocks import Budget, RocksEngine

_POINTER: Final = "pointer"


class Home(Protocol):
    """Folders of files. All methods may block, and raise `OSError` or `EngineError`."""

    def pointer(self) -> bytes | None:
        """Return the pointer's content; None if it was never written."""

    def point(self, content: bytes) -> None:
        """Replace the pointer durably, together with all folders created before."""

    def settle_pointer(self) -> None:
        """Make the pointer durable as it is."""

    def folders(self) -> tuple[str, ...]:
        """Return the names of the folders, in order."""

    def open(self, folder: str, families: Iterable[str]) -> Engine:
        """Open the database in a folder, or create it."""

    def checkpoint(self, engine: Engine, folder: str) -> None:
        """Copy an open database of this home into a new folder."""

    def make(self, folder: str) -> None:
        """Create an empty folder."""

    def write(self, folder: str, name: str, offset: int, content: bytes) -> None:
        """Write a part of a file, unsynced."""

    def sync(self, folder: str) -> None:
        """Make a folder's files durable."""

    def files(self, folder: str) -> dict[str, int]:
        """Return the size of each file in a folder."""

    def read(self, folder: str, name: str, offset: int, size: int) -> bytes:
        """Read a part of a file."""

    def remove(self, folder: str) -> None:
        """Remove a folder, if it is there."""

    def destroy(self) -> None:
        """Remove everything, when the replica is deleted."""


class DiskHome:
    """A directory with a subdirectory per folder."""

    def __init__(self, path: Path, budget: Budget | None = None) -> None:
        self._path: Final = path
        self._budget: Final = budget
        path.mkdir(parents=True, exist_ok=True)

    def __str__(self) -> str:
        return str(self._path)

    def pointer(self) -> bytes | None:
        """Return the pointer's content; None if it was never written."""
        try:
            return (self._path / _POINTER).read_bytes()
        except FileNotFoundError:
            return None

    def point(self, content: bytes) -> None:
        """Replace the pointer by a rename, durably."""
        path = self._path / _POINTER
        drawn = path.with_suffix(".new")
        durably.write(drawn, content)
        failpoint("pointer.written")
        drawn.replace(path)
        failpoint("pointer.renamed")
        durably.sync_directory(self._path)

    def settle_pointer(self) -> None:
        """Sync a rename made before a restart; its content was synced before."""
        durably.sync_directory(self._path)

    def folders(self) -> tuple[str, ...]:
        """Return the names of the folders, in order."""
        return tuple(sorted(each.name for each in self._path.iterdir() if each.is_dir()))

    def open(self, folder: str, families: Iterable[str]) -> Engine:
        """Open the database in a folder, or create it."""
        return RocksEngine(self._path / folder, families, self._budget)

    def checkpoint(self, engine: Engine, folder: str) -> None:
        """Copy an open database by hard links."""
        engine.checkpoint(self._path / folder)

    def make(self, folder: str) -> None:
        """Create an empty directory."""
        (self._path / folder).mkdir()

    def write(self, folder: str, name: str, offset: int, content: bytes) -> None:
        """Write a part of a file, unsynced."""
        with (self._path / folder / name).open("r+b" if offset else "wb") as file:
            file.seek(offset)
            file.write(content)

    def sync(self, folder: str) -> None:
        """Make a folder's files durable."""
        directory = self._path / folder
        for path in directory.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        durably.sync_directory(directory)

    def files(self, folder: str) -> dict[str, int]:
        """Return the size of each file in a folder."""
        directory = self._path / folder
        return {path.name: path.stat().st_size for path in sorted(directory.iterdir())}

    def read(self, folder: str, name: str, offset: int, size: int) -> bytes:
        """Read a part of a file."""
        with (self._path / folder / name).open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def remove(self, folder: str) -> None:
        """Remove a folder, if it is there."""
        _remove(self._path / folder)

    def destroy(self) -> None:
        """Remove the directory, the pointer first."""
        (self._path / _POINTER).unlink(missing_ok=True)
        durably.sync_directory(self._path)
        _remove(self._path)


def _remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)

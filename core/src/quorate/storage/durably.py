"""Writes to files that survive a power loss."""

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write a file and sync it; its name becomes durable with a sync of its directory."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, content: bytes) -> None:
    """Replace a file's content atomically and durably."""
    drawn = path.with_suffix(".new")
    write(drawn, content)
    drawn.replace(path)
    sync_directory(path.parent)


def replace_twice(path: Path, content: bytes) -> None:
    """Replace a file and its copy."""
    replace(path, content)
    replace(_copy(path), content)


def read_either(path: Path) -> bytes | None:
    """Return the content of a file or of its copy, and restore what is missing; None: both are."""
    content = peek_either(path)
    if content is not None:
        for each in (path, _copy(path)):
            if not each.exists():
                replace(each, content)
    return content


def peek_either(path: Path) -> bytes | None:
    """Return the content of a file or of its copy, and change neither; None: both are missing."""
    for each in (path, _copy(path)):
        if each.exists():
            return each.read_bytes()
    return None


def _copy(path: Path) -> Path:
    return path.with_name(f"{path.name}.copy")


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

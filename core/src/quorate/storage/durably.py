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


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

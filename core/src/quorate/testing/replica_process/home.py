"""The directory of a node remembers the cluster that it belongs to."""

from pathlib import Path

from quorate.storage import durably

_NAME = "cluster"


def first_entry(directory: Path) -> bytes:
    """Return the first entry of the cluster that this directory belongs to; empty: of none yet."""
    path = directory / _NAME
    return path.read_bytes() if path.exists() else b""


def keep_first_entry(directory: Path, content: bytes) -> None:
    """Belong to a cluster from now on, durably."""
    durably.replace(directory / _NAME, content)

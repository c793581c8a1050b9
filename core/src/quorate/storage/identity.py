"""A node's replica id, drawn when its directory is created."""

import secrets
from pathlib import Path

from quorate.storage import durably


def replica_id(directory: Path) -> int:
    """Return the replica id in a directory; draw one for a new directory."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "replica"
    if not path.exists():
        durably.replace(path, str(secrets.randbits(64)).encode())
    return int(path.read_text())

"""The directory of a node: its replica id is drawn with it."""

import os
import secrets
from pathlib import Path


def replica_id(directory: Path) -> int:
    """Return the id of the replica whose directory this is; a new one for a new directory."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "replica"
    if not path.exists():
        drawn = path.with_suffix(".new")
        with drawn.open("w") as file:
            file.write(str(secrets.randbits(64)))
            file.flush()
            os.fsync(file.fileno())
        drawn.rename(path)
        opened = os.open(directory, os.O_RDONLY)
        os.fsync(opened)
        os.close(opened)
    return int(path.read_text())

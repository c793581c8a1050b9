"""Gives up the directory of a node after damage to all of it: its log, or metadata/0.

The node becomes a new, empty replica and reports the one that it was: the cluster then removes the
lost replica from every shard, and adds the new one.
"""

import json
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from quorate.storage import durably

#: The entries of the directory that are moved away, and where.
_OWN: Final = ("log", "witness", "notes", "shards", "files")
_ASIDE: Final = "damaged"
_LOST: Final = "lost.json"


class Lost(NamedTuple):
    """The former replicas of a node, and the damage that it gave the last one up for."""

    replicas: tuple[int, ...] = ()
    what: str = ""
    found_at_ms: int = 0


def lost(directory: Path) -> Lost:
    """Return the lost replicas of a node that the cluster may not have replaced yet."""
    try:
        kept = json.loads((directory / _LOST).read_bytes())
        return Lost(tuple(map(int, kept["replicas"])), str(kept["what"]), int(kept["found_at_ms"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return Lost()


def give_up(directory: Path, replica: int, what: str, now_ms: int) -> None:
    """Move the databases away, and record that the replica is lost; may be interrupted."""
    before = lost(directory)
    replicas = tuple(dict.fromkeys((*before.replicas, replica)))
    entry = Lost(replicas, what, now_ms)
    durably.replace(directory / _LOST, json.dumps(entry._asdict()).encode())
    finish(directory)


def finish(directory: Path) -> None:
    """Move the databases of a lost replica aside.

    The first replica's are kept until the cluster has a new one; later ones, mere copies, are
    deleted.
    """
    aside = directory / _ASIDE
    first = not aside.exists() or len(lost(directory).replicas) == 1
    aside.mkdir(exist_ok=True)
    for name in _OWN:
        path = directory / name
        if not path.exists():
            continue
        if first and not (aside / name).exists():
            path.rename(aside / name)
        else:
            shutil.rmtree(path)
    durably.sync_directory(directory)


def forget(directory: Path) -> None:
    """Delete the databases moved aside, once the cluster has the new replica; blocks."""
    (directory / _LOST).unlink(missing_ok=True)
    durably.sync_directory(directory)
    shutil.rmtree(directory / _ASIDE, ignore_errors=True)

"""Notes of a node about its replicas, outside their databases."""

# What a method does is documented at its port, `Notes`.
# ruff: noqa: D102

import json
from pathlib import Path
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote

from quorate.storage import durably
from quorate.storage.engine.port import DamagedError


class Note(NamedTuple):
    """What a node must know of a replica before it is opened."""

    #: The number of recoveries of the shard when its data began.
    epoch: int = 0
    #: Why the replica must not run; empty if it may.
    stopped: str = ""
    #: Whether its data and log are being removed, because the shard went on to other nodes.
    leaving: bool = False
    #: Whether there was a replica before, which has left.
    past: bool = False
    #: Whether the replica is the first one here of a shard that it is a founder of.
    founds: bool = False
    #: Whether its data or log was found damaged: it leaves the shard, and begins anew.
    damaged: bool = False


class Notes(Protocol):
    """One note per shard."""

    def read(self, shard: str) -> Note:
        """Return the note of a shard, by default an empty one; raises `DamagedError`."""

    def write(self, shard: str, note: Note) -> None:
        """Replace the note of a shard, durably; raises `OSError`."""


class FileNotes:
    """A file per shard in a directory, replaced as a whole."""

    def __init__(self, directory: Path) -> None:
        self._directory: Final = directory
        directory.mkdir(parents=True, exist_ok=True)

    def read(self, shard: str) -> Note:
        path = self._path(shard)
        try:
            kept = json.loads(path.read_bytes())
            epoch, stopped = int(kept["epoch"]), str(kept["stopped"])
            signs = (kept.get(each) is True for each in Note._fields[2:])
            return Note(epoch, stopped, *signs)
        except FileNotFoundError:
            return Note()
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedError(
                f"{path} cannot be read: {error}. Replace this member with"
                " `quorate member replace`."
            ) from None

    def write(self, shard: str, note: Note) -> None:
        durably.replace(self._path(shard), json.dumps(note._asdict()).encode())

    def _path(self, shard: str) -> Path:
        return self._directory / quote(shard, safe="")


class MemoryNotes:
    """Notes in memory."""

    def __init__(self) -> None:
        self._notes: Final[dict[str, Note]] = {}

    def read(self, shard: str) -> Note:
        return self._notes.get(shard, Note())

    def write(self, shard: str, note: Note) -> None:
        self._notes[shard] = note

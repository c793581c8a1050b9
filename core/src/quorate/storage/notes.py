"""What a node keeps of its replica of a shard outside its database: a few bytes a shard."""

import json
from pathlib import Path
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote

from quorate.storage import durably
from quorate.storage.engine.port import DamagedError


class Note(NamedTuple):
    """What must be known of a replica before it is opened."""

    #: The history of the shard that its data belongs to: how often the shard was recovered.
    epoch: int = 0
    #: Why it must not go on as it is; empty: it may.
    stopped: str = ""


class Notes(Protocol):
    """One note per shard."""

    def read(self, shard: str) -> Note:
        """Return the note of a shard; an empty one before any was written.

        Raises `DamagedError`.
        """

    def write(self, shard: str, note: Note) -> None:
        """Replace the note of a shard, durably; raises `OSError`."""


class FileNotes:
    """One file per shard in a directory, replaced as a whole."""

    def __init__(self, directory: Path) -> None:
        self._directory: Final = directory
        directory.mkdir(parents=True, exist_ok=True)

    def read(self, shard: str) -> Note:
        """Return the note of a shard."""
        path = self._path(shard)
        try:
            kept = json.loads(path.read_bytes())
            return Note(int(kept["epoch"]), str(kept["stopped"]))
        except FileNotFoundError:
            return Note()
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedError(
                f"{path} cannot be read: {error}. Replace this member with"
                " `quorate member replace`."
            ) from None

    def write(self, shard: str, note: Note) -> None:
        """Replace the note of a shard, durably."""
        durably.replace(self._path(shard), json.dumps(note._asdict()).encode())

    def _path(self, shard: str) -> Path:
        return self._directory / quote(shard, safe="")


class MemoryNotes:
    """The twin of the files."""

    def __init__(self) -> None:
        self._notes: Final[dict[str, Note]] = {}

    def read(self, shard: str) -> Note:
        """Return the note of a shard."""
        return self._notes.get(shard, Note())

    def write(self, shard: str, note: Note) -> None:
        """Replace the note of a shard."""
        self._notes[shard] = note

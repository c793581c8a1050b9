"""How far each shard's log was durable, and how far it was applied, outside the databases.

A database that lost its end to damage looks as valid as one that lost an unsynced tail; only a
record outside can distinguish them. And rows that a killed process had not flushed are applied
again without a leader, as far as is known that they were committed.
"""

# What a method does is documented at its port, `Witnesses`.
# ruff: noqa: D102

import os
from pathlib import Path
from random import Random
from struct import Struct
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote
from zlib import crc32

from quorate.storage import durably

_DURABLE: Final = Struct(">QI")
_APPLIED: Final = Struct(">Q")
_CHECKSUM: Final = Struct(">I")
#: The end of the name of a file with an applied index.
_OF_APPLIED: Final = ".applied"


class Durable(NamedTuple):
    """How far a log is durable: its last index, and the number of saved hard states."""

    last_index: int
    states: int


class Witnesses(Protocol):
    """Two records per shard. A power loss may lose or tear unsynced writes."""

    def read(self, shard: str) -> Durable | None:
        """Return the durable state of a shard's log; None, if missing or torn, proves nothing."""

    def write(self, shard: str, durable: Durable) -> None:
        """Write the durable state of a shard's log, unsynced."""

    def sync(self, shard: str) -> None:
        """Sync what `write` wrote for a shard."""

    def applied(self, shard: str) -> int:
        """Return an index up to which a shard's log was applied; 0, if missing or torn."""

    def note_applied(self, shard: str, index: int) -> None:
        """Write the applied index of a shard, unsynced; its log is durable up to there."""

    def remove(self, shard: str) -> None:
        """Remove the records of a shard durably, if they are there."""

    def close(self) -> None:
        """Close open files."""


def encode(durable: Durable) -> bytes:
    """Return the bytes of a record."""
    return _signed(_DURABLE.pack(*durable))


def decode(content: bytes) -> Durable | None:
    """Parse a record; None if the bytes are torn."""
    body = _checked(content)
    return None if body is None else Durable(*_DURABLE.unpack(body))


def encode_applied(index: int) -> bytes:
    """Return the bytes of an applied index."""
    return _signed(_APPLIED.pack(index))


def decode_applied(content: bytes) -> int:
    """Parse an applied index; 0 if the bytes are torn."""
    body = _checked(content)
    return 0 if body is None else int(_APPLIED.unpack(body)[0])


def _signed(body: bytes) -> bytes:
    return body + _CHECKSUM.pack(crc32(body))


def _checked(content: bytes) -> bytes | None:
    body = content[: -_CHECKSUM.size]
    return body if body and content == _signed(body) else None


class FileWitnesses:
    """Files of 16 and of 12 bytes per shard, rewritten in place."""

    def __init__(self, directory: Path) -> None:
        self._directory: Final = directory
        #: The open files by shard and kind.
        self._files: Final[dict[tuple[str, str], int]] = {}
        directory.mkdir(parents=True, exist_ok=True)

    def read(self, shard: str) -> Durable | None:
        try:
            return decode(self._path(shard).read_bytes())
        except FileNotFoundError:
            return None

    def write(self, shard: str, durable: Durable) -> None:
        os.pwrite(self._file(shard), encode(durable), 0)

    def sync(self, shard: str) -> None:
        os.fsync(self._file(shard))

    def applied(self, shard: str) -> int:
        try:
            return decode_applied(self._path(shard, _OF_APPLIED).read_bytes())
        except FileNotFoundError:
            return 0

    def note_applied(self, shard: str, index: int) -> None:
        os.pwrite(self._file(shard, _OF_APPLIED), encode_applied(index), 0)

    def remove(self, shard: str) -> None:
        for kind in ("", _OF_APPLIED):
            if (shard, kind) in self._files:
                os.close(self._files.pop((shard, kind)))
            self._path(shard, kind).unlink(missing_ok=True)
        durably.sync_directory(self._directory)

    def close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])

    def _path(self, shard: str, kind: str = "") -> Path:
        return self._directory / f"{quote(shard, safe='')}{kind}"

    def _file(self, shard: str, kind: str = "") -> int:
        file = self._files.get((shard, kind))
        if file is None:
            path = self._path(shard, kind)
            file = self._files[shard, kind] = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        return file


class MemoryWitnesses:
    """Survives the process; a power loss reverts or tears unsynced writes."""

    def __init__(self) -> None:
        #: Per shard, the synced value and the unsynced ones after it; None is a torn one.
        self._versions: Final[dict[str, list[Durable | None]]] = {}
        #: Per shard, the newest applied indexes.
        self._applied: Final[dict[str, list[int]]] = {}

    def read(self, shard: str) -> Durable | None:
        return self._versions.get(shard, [None])[-1]

    def write(self, shard: str, durable: Durable) -> None:
        versions = self._versions.setdefault(shard, [None])
        versions.append(durable)
        if len(versions) > 8:
            del versions[1]

    def sync(self, shard: str) -> None:
        versions = self._versions.setdefault(shard, [None])
        del versions[:-1]

    def applied(self, shard: str) -> int:
        return self._applied.get(shard, [0])[-1]

    def note_applied(self, shard: str, index: int) -> None:
        noted = self._applied.setdefault(shard, [0])
        noted.append(index)
        del noted[1:-8]

    def remove(self, shard: str) -> None:
        self._versions.pop(shard, None)
        self._applied.pop(shard, None)

    def close(self) -> None:
        """Do nothing."""

    def lose_power(self, rng: Random) -> None:
        """Crash: each record reverts to the synced or a later value, or is torn."""
        for versions in self._versions.values():
            if len(versions) > 1:
                versions[:] = [rng.choice([*versions, None])]
        for noted in self._applied.values():
            noted[:] = [rng.choice(noted)]

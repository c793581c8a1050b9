"""How far each shard's log was durable, recorded outside the database.

A database that lost its end to damage looks as valid as one that lost an unsynced tail; only a
record outside can distinguish them.
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
_CHECKSUM: Final = Struct(">I")


class Durable(NamedTuple):
    """How far a log is durable: its last index, and the number of saved hard states."""

    last_index: int
    states: int


class Witnesses(Protocol):
    """A record per shard. A power loss may lose or tear unsynced writes."""

    def read(self, shard: str) -> Durable | None:
        """Return the durable state of a shard's log; None, if missing or torn, proves nothing."""

    def write(self, shard: str, durable: Durable) -> None:
        """Write the durable state of a shard's log, unsynced."""

    def sync(self, shard: str) -> None:
        """Sync the record of a shard."""

    def remove(self, shard: str) -> None:
        """Remove the record of a shard durably, if it is there."""

    def close(self) -> None:
        """Close open files."""


def encode(durable: Durable) -> bytes:
    """Return the bytes of a record."""
    body = _DURABLE.pack(*durable)
    return body + _CHECKSUM.pack(crc32(body))


def decode(content: bytes) -> Durable | None:
    """Parse a record; None if the bytes are torn."""
    body, checksum = content[: _DURABLE.size], content[_DURABLE.size :]
    if checksum != _CHECKSUM.pack(crc32(body)):
        return None
    return Durable(*_DURABLE.unpack(body))


class FileWitnesses:
    """A file of 16 bytes per shard, rewritten in place."""

    def __init__(self, directory: Path) -> None:
        self._directory: Final = directory
        self._files: Final[dict[str, int]] = {}
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

    def remove(self, shard: str) -> None:
        if shard in self._files:
            os.close(self._files.pop(shard))
        self._path(shard).unlink(missing_ok=True)
        durably.sync_directory(self._directory)

    def close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])

    def _path(self, shard: str) -> Path:
        return self._directory / quote(shard, safe="")

    def _file(self, shard: str) -> int:
        if shard not in self._files:
            self._files[shard] = os.open(self._path(shard), os.O_RDWR | os.O_CREAT, 0o600)
        return self._files[shard]


class MemoryWitnesses:
    """Survives the process; a power loss reverts or tears unsynced writes."""

    def __init__(self) -> None:
        #: Per shard, the synced value and the unsynced ones after it; None is a torn one.
        self._versions: Final[dict[str, list[Durable | None]]] = {}

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

    def remove(self, shard: str) -> None:
        self._versions.pop(shard, None)

    def close(self) -> None:
        """Do nothing."""

    def lose_power(self, rng: Random) -> None:
        """Crash: each record reverts to the synced or a later value, or is torn."""
        for versions in self._versions.values():
            if len(versions) > 1:
                versions[:] = [rng.choice([*versions, None])]

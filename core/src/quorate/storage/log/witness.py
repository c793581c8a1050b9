"""What a shard's log is known to have held, kept outside the database.

A database that lost its end to damage looks as sound as one that lost a tail that was never
synced; only somebody outside can tell them apart.
"""

import os
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote
from zlib import crc32

from quorate.storage import durably

_DURABLE: Final = Struct(">QI")
_CHECKSUM: Final = Struct(">I")


class Durable(NamedTuple):
    """How far a log was durable: its last index, and how many hard states were saved."""

    last_index: int
    states: int


class Witnesses(Protocol):
    """One durable per shard. A power loss may lose or tear what was only written."""

    def read(self, shard: str) -> Durable | None:
        """Return a shard's durable; None when it is missing or torn: that says nothing."""

    def write(self, shard: str, durable: Durable) -> None:
        """Set a shard's durable, unsynced."""

    def sync(self, shard: str) -> None:
        """Make a shard's durable durable."""

    def remove(self, shard: str) -> None:
        """Forget a shard's durable, durably; there need not be one."""

    def close(self) -> None:
        """Let go of what is open."""


def encode(durable: Durable) -> bytes:
    """Return the bytes of a durable."""
    body = _DURABLE.pack(*durable)
    return body + _CHECKSUM.pack(crc32(body))


def decode(content: bytes) -> Durable | None:
    """Return the durable; None when the bytes are torn."""
    body, checksum = content[: _DURABLE.size], content[_DURABLE.size :]
    if checksum != _CHECKSUM.pack(crc32(body)):
        return None
    return Durable(*_DURABLE.unpack(body))


class FileWitnesses:
    """One file of 16 bytes per shard in a directory, rewritten in place."""

    def __init__(self, directory: Path) -> None:
        self._directory: Final = directory
        self._files: Final[dict[str, int]] = {}
        directory.mkdir(parents=True, exist_ok=True)

    def read(self, shard: str) -> Durable | None:
        """Return a shard's durable; None when it is missing or torn."""
        try:
            return decode(self._path(shard).read_bytes())
        except FileNotFoundError:
            return None

    def write(self, shard: str, durable: Durable) -> None:
        """Set a shard's durable, unsynced."""
        os.pwrite(self._file(shard), encode(durable), 0)

    def sync(self, shard: str) -> None:
        """Make a shard's durable durable."""
        os.fsync(self._file(shard))

    def remove(self, shard: str) -> None:
        """Forget a shard's durable, durably; there need not be one."""
        if shard in self._files:
            os.close(self._files.pop(shard))
        self._path(shard).unlink(missing_ok=True)
        durably.sync_directory(self._directory)

    def close(self) -> None:
        """Close the files."""
        while self._files:
            os.close(self._files.popitem()[1])

    def _path(self, shard: str) -> Path:
        return self._directory / quote(shard, safe="")

    def _file(self, shard: str) -> int:
        if shard not in self._files:
            self._files[shard] = os.open(self._path(shard), os.O_RDWR | os.O_CREAT, 0o600)
        return self._files[shard]

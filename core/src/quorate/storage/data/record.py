"""What a shard's database and the pointer to it say of its place in the log.

The bytes are a promise, whose old ones stand under tests/compat.
"""

from dataclasses import dataclass
from struct import Struct, error as StructError
from typing import Final, Self
from zlib import crc32

from quorate.consensus.journal import Position

#: The one key of the family `core.applied`.
KEY: Final = b"applied"

_FORMAT: Final = 1
_FIXED: Final = Struct(">BQQQqQQ")
_POINTER: Final = Struct(">BQ?QQ")
_CHECKSUM: Final = Struct(">I")


@dataclass(frozen=True, slots=True)
class AppliedRecord:
    """The state after an applied entry, written in the same batch as the rows."""

    #: The position of the newest applied entry.
    position: Position
    #: The configuration in force there, and the index of its entry; b"" if there is none.
    configuration_index: int
    configuration: bytes
    #: Logical time.
    now_ms: int
    #: The running checksum over outcomes and writes.
    checksum: int
    #: How many times the cluster was restored from a backup.
    generation: int

    def encode(self) -> bytes:
        """Return the bytes on disk."""
        fixed = _FIXED.pack(
            _FORMAT,
            self.position.index,
            self.position.term,
            self.configuration_index,
            self.now_ms,
            self.checksum,
            self.generation,
        )
        return fixed + self.configuration

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Parse the bytes on disk; raises `ValueError`."""
        try:
            form, index, term, configured, now_ms, checksum, generation = _FIXED.unpack_from(
                content
            )
        except StructError:
            raise ValueError(f"an applied record of {len(content)} bytes is too short") from None
        if form != _FORMAT:
            raise ValueError(f"an applied record of format {form} was written by a newer version")
        return cls(
            Position(index, term), configured, content[_FIXED.size :], now_ms, checksum, generation
        )


#: The record of a shard without applied entries.
EMPTY: Final = AppliedRecord(Position(0, 0), 0, b"", 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Pointer:
    """The file that names the current database, and the snapshot that it began with, if any."""

    number: int
    installed: Position | None

    def encode(self) -> bytes:
        """Return the content of the file."""
        at = self.installed or Position(0, 0)
        body = _POINTER.pack(_FORMAT, self.number, self.installed is not None, at.index, at.term)
        return _CHECKSUM.pack(crc32(body)) + body

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Parse the content of the file; raises `ValueError`."""
        body = content[_CHECKSUM.size :]
        if len(body) != _POINTER.size or content[: _CHECKSUM.size] != _CHECKSUM.pack(crc32(body)):
            raise ValueError("its checksum differs")
        form, number, by_install, index, term = _POINTER.unpack(body)
        if form != _FORMAT:
            raise ValueError(f"format {form} was written by a newer version")
        return cls(number, Position(index, term) if by_install else None)

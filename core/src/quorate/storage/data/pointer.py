"""The file that names the current one of a shard's databases.

Its bytes are a promise, whose old ones stand under tests/compat.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final, Self
from zlib import crc32

from quorate.consensus.journal import Position

_FORMAT: Final = 1
_BODY: Final = Struct(">BQ?QQ")
_CHECKSUM: Final = Struct(">I")


@dataclass(frozen=True, slots=True)
class Pointer:
    """The current database, and the snapshot that it began with, if any."""

    number: int
    installed: Position | None

    def encode(self) -> bytes:
        """Return the content of the file."""
        at = self.installed or Position(0, 0)
        body = _BODY.pack(_FORMAT, self.number, self.installed is not None, at.index, at.term)
        return _CHECKSUM.pack(crc32(body)) + body

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Parse the content of the file; raises `ValueError`."""
        body = content[_CHECKSUM.size :]
        if len(body) != _BODY.size or content[: _CHECKSUM.size] != _CHECKSUM.pack(crc32(body)):
            raise ValueError("its checksum differs")
        form, number, by_install, index, term = _BODY.unpack(body)
        if form != _FORMAT:
            raise ValueError(f"format {form} was written by a newer version")
        return cls(number, Position(index, term) if by_install else None)

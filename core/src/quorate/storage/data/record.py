"""The log position of a shard's database, written in the same batch as the rows.

The bytes are a promise, whose old ones stand under tests/compat.
"""

from dataclasses import dataclass
from struct import Struct, error as StructError
from typing import Final, Self

from quorate.consensus.journal import Position

#: The one key of the family `core.applied`.
KEY: Final = b"applied"

_FORMAT: Final = 1
_FIXED: Final = Struct(">BQQQqQQ")


@dataclass(frozen=True, slots=True)
class AppliedRecord:
    """The state after an applied entry."""

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
            Position(index, term),
            configured,
            content[_FIXED.size :],
            now_ms,
            checksum,
            generation,
        )


#: The record of a shard without applied entries.
EMPTY: Final = AppliedRecord(Position(0, 0), 0, b"", 0, 0, 0)

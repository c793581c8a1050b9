"""The node that an operator handed the leadership of a shard to, stored in the shard."""

from struct import Struct
from typing import Final, NamedTuple, Self

#: In the family `core.slots`.
KEY: Final = b"leader"

_AT: Final = Struct(">q")


class Placement(NamedTuple):
    """The leader that an operator chose, and when, in the logical time of the shard."""

    node: str
    at_ms: int

    def encode(self) -> bytes:
        """Return the bytes of the row."""
        return _AT.pack(self.at_ms) + self.node.encode()

    @classmethod
    def decode(cls, row: bytes | None) -> Self | None:
        """Parse the row; None if no operator chose a leader."""
        if row is None:
            return None
        return cls(row[_AT.size :].decode(), *_AT.unpack_from(row))

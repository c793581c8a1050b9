"""The node that an operator handed the leadership of a shard to, as the shard's own rows say."""

from struct import Struct
from typing import Final, NamedTuple, Self

#: In the family `core.slots`, which has what a shard knows of itself.
KEY: Final = b"leader"

_AT: Final = Struct(">q")


class Placement(NamedTuple):
    """Who was to lead, and when that was said, in the logical time of the shard."""

    node: str
    at_ms: int

    def encode(self) -> bytes:
        """Return the bytes of the row."""
        return _AT.pack(self.at_ms) + self.node.encode()

    @classmethod
    def decode(cls, row: bytes | None) -> Self | None:
        """Read the row; None: no operator has said anything."""
        if row is None:
            return None
        return cls(row[_AT.size :].decode(), *_AT.unpack_from(row))

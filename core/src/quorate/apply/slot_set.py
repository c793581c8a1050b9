"""The slots of a shard, stored in its own rows."""

from dataclasses import dataclass
from functools import cached_property
from struct import Struct
from typing import Final, Self

from quorate.plugin.slots import BITMAP_BYTES, slots_in

#: In the family `core.slots`.
KEY: Final = b"slots"

_VERSION: Final = Struct(">Q")


@dataclass(frozen=True)
class SlotSet:
    """Slot `s` is the bit `1 << (s & 7)` of byte `s >> 3` of the bitmap; version 0 owns nothing."""

    version: int = 0
    bitmap: bytes = bytes(BITMAP_BYTES)

    @cached_property
    def owned(self) -> frozenset[int]:
        """The slots."""
        return frozenset(slots_in(self.bitmap))

    def owns(self, slot: int) -> bool:
        """Whether the shard owns a slot."""
        return slot in self.owned

    def encode(self) -> bytes:
        """Return the row's value."""
        return _VERSION.pack(self.version) + self.bitmap

    @classmethod
    def decode(cls, value: bytes | None) -> Self:
        """Parse the row's value; a shard without one owns nothing."""
        if value is None:
            return cls()
        return cls(int(_VERSION.unpack_from(value)[0]), value[_VERSION.size :])

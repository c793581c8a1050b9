"""The copies of other groups' families in a shard, and their positions."""

from struct import Struct
from typing import Final, NamedTuple, Self

from quorate.apply.layers import Rows
from quorate.storage.families import MIRRORS

_POSITION: Final = Struct(">QQ")


class MirrorPosition(NamedTuple):
    """The position of a copy: the generation and revision of its source."""

    generation: int
    revision: int

    def encode(self) -> bytes:
        """Return the row's value."""
        return _POSITION.pack(*self)

    @classmethod
    def of(cls, rows: Rows, family: str) -> Self | None:
        """Return the position of the copy of a family; None before its start."""
        stored = rows.get(MIRRORS, family.encode())
        return None if stored is None else cls(*_POSITION.unpack(stored))

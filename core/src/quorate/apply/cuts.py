"""The cut of a shard, where it gave slots to new shards, and the rows that it has yet to forget."""

from struct import Struct
from typing import Final, NamedTuple, Self

from quorate.apply.layers import Rows
from quorate.storage.families import SLOTS
from quorate.v1.control_pb2 import CutShard

#: In the family `core.slots`: the last cut, the newest split that was taken back, and how far the
#: rows of foreign slots are deleted; without the last there are none.
CUT: Final = b"cut"
ABANDONED: Final = b"abandoned"
FOREIGN: Final = b"foreign"

_NUMBER: Final = Struct(">Q")


class Forgotten(NamedTuple):
    """The last row that was looked at, of a family, in the order of `SlotOwnership.families`."""

    family: str = ""
    key: bytes = b""

    def encode(self) -> bytes:
        """Return the row's value."""
        return self.family.encode() + b"\x00" + self.key

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Parse the row's value."""
        family, _, key = value.partition(b"\x00")
        return cls(family.decode(), key)


def last_cut(rows: Rows) -> CutShard | None:
    """Return the last cut of a shard; None if it never was."""
    row = rows.get(SLOTS, CUT)
    return None if row is None else CutShard.FromString(row)


def abandoned(rows: Rows) -> int:
    """Return the number of the newest split that was taken back."""
    row = rows.get(SLOTS, ABANDONED)
    return 0 if row is None else int(_NUMBER.unpack(row)[0])


def abandoned_row(split: int) -> bytes:
    """Return the row that says that a split was taken back."""
    return _NUMBER.pack(split)


def has_foreign(rows: Rows) -> bool:
    """Whether the shard may have rows of slots that it does not own."""
    return rows.get(SLOTS, FOREIGN) is not None

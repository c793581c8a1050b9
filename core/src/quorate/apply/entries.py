"""The commands of a shard, and the revisions that name them."""

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

#: A revision is the index of the entry, and in the low bits the command's position in it.
POSITION_BITS: Final = 20
#: The position behind every command of an entry.
LAST_POSITION: Final = (1 << POSITION_BITS) - 1
#: The most commands that an entry holds.
MAX_COMMANDS: Final = 1 << POSITION_BITS


class Stamp(NamedTuple):
    """Names one operation of an exactly-once session."""

    session: int
    sequence: int
    lowest_unanswered: int


class Copies(Enum):
    """What is known, when a command is evaluated, of the shard's copies of mirrored families."""

    #: They may lack what was answered before the command came.
    DOUBTED = 0
    #: They hold all that was answered before it came.
    FRESH = 1
    #: They may lack something, and it could not be found out in time.
    UNKNOWN = 2


class LoggedCommand(NamedTuple):
    """A command on its way to a shard, as far as the shard needs to know it."""

    #: The full name of its message.
    type: str
    payload: bytes
    #: The slots of all keys that it touches.
    slots: Sequence[int] = ()
    stamp: Stamp | None = None
    #: It belongs to the shard and to no slot.
    slotless: bool = False
    copies: Copies = Copies.FRESH


def revision_of(index: int, position: int) -> int:
    """Return the revision of the command at a position of the entry at an index."""
    return index << POSITION_BITS | position


def index_of(revision: int) -> int:
    """Return the index of the entry whose command has this revision."""
    return revision >> POSITION_BITS


def whole(index: int) -> int:
    """Return the revision behind every command of the entry at an index."""
    return index << POSITION_BITS | LAST_POSITION

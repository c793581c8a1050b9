"""Commands of a shard and their revisions."""

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from google.protobuf.message import Message

from quorate.plugin import Fence
from quorate.plugin.declarations import ReadBatch

#: A revision is the index of the entry and, in the low bits, the command's position in it.
POSITION_BITS: Final = 20
#: The position after every command of an entry.
LAST_POSITION: Final = (1 << POSITION_BITS) - 1
#: Maximum number of commands of an entry.
MAX_COMMANDS: Final = 1 << POSITION_BITS


class Stamp(NamedTuple):
    """The id of an operation of an exactly-once session."""

    session: int
    sequence: int
    lowest_unanswered: int


class Copies(Enum):
    """How fresh the shard's copies of mirrored families are when a command is evaluated."""

    #: They may lack writes that were answered before the command arrived.
    DOUBTED = 0
    #: They have all writes that were answered before it arrived.
    FRESH = 1
    #: Whether they lack something was not known in time.
    UNKNOWN = 2


class LoggedCommand(NamedTuple):
    """A command as it is proposed to a shard."""

    #: The full name of its message.
    type: str
    payload: bytes
    #: The slots of all keys that it touches.
    slots: Sequence[int] = ()
    stamp: Stamp | None = None
    #: It is for the shard, and touches no key; its slots, if any, are those of its caller's key.
    slotless: bool = False
    copies: Copies = Copies.FRESH
    fence: Fence | None = None
    #: Who sends it; "": a node for itself, or somebody who has proved no name.
    caller: str = ""
    #: Whether its rights were checked by the node that it came to, at a port of a plugin.
    admitted: bool = False
    #: The id of the call that it came with; "": the node's own.
    request: str = ""
    #: The name of the span in which it was sent; "": it is not traced.
    span: str = ""
    #: What was read of the payload already, on this node.
    read: ReadBatch | None = None


def of_shard(message: Message) -> LoggedCommand:
    """Return a command of core's own that is for a shard, and touches no key."""
    return LoggedCommand(
        message.DESCRIPTOR.full_name, message.SerializeToString(deterministic=True), slotless=True
    )


def revision_of(index: int, position: int) -> int:
    """Return the revision of the command at a position of the entry at an index."""
    return index << POSITION_BITS | position


def index_of(revision: int) -> int:
    """Return the index of the entry whose command has this revision."""
    return revision >> POSITION_BITS


def whole(index: int) -> int:
    """Return the revision after every command of the entry at an index."""
    return index << POSITION_BITS | LAST_POSITION

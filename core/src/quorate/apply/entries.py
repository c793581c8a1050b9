"""What the log holds: the commands of an entry, and the moment at which they were proposed.

The bytes are a promise, whose old ones stand under tests/compat. An entry is a head and then one
frame a command, so that whoever joins commands into entries encodes each of them once.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from quorate.v1 import entry_pb2

#: A revision is the index of the entry, and in the low bits the command's position in it.
POSITION_BITS: Final = 20
#: The position behind every command of an entry.
LAST_POSITION: Final = (1 << POSITION_BITS) - 1
#: The most commands that an entry holds.
MAX_COMMANDS: Final = 1 << POSITION_BITS

# What stands in front of these fields.
_TYPE_TAG: Final = b"\x0a"
_PAYLOAD_TAG: Final = b"\x12"
_COMMAND_TAG: Final = b"\x22"


class Stamp(NamedTuple):
    """Names one operation of an exactly-once session."""

    session: int
    sequence: int
    lowest_unanswered: int


class LoggedCommand(NamedTuple):
    """A command as the log holds it."""

    #: The full name of its message.
    type: str
    payload: bytes
    #: The slots of all keys that it touches.
    slots: Sequence[int] = ()
    stamp: Stamp | None = None
    #: It belongs to the shard and to no slot.
    slotless: bool = False


class EntryBatch(NamedTuple):
    """The commands that were proposed together."""

    #: Logical time, as the leader saw it.
    proposed_at_ms: int
    #: An index that the leader had applied, and its running checksum there; 0: none.
    checked_index: int
    checksum: int
    commands: Sequence[LoggedCommand]


class EntryError(Exception):
    """The payload of an entry is not that of commands which this version knows to read."""


def revision_of(index: int, position: int) -> int:
    """Return the revision of the command at a position of the entry at an index."""
    return index << POSITION_BITS | position


def index_of(revision: int) -> int:
    """Return the index of the entry whose command has this revision."""
    return revision >> POSITION_BITS


def whole(index: int) -> int:
    """Return the revision behind every command of the entry at an index."""
    return index << POSITION_BITS | LAST_POSITION


def command_bytes(command: LoggedCommand) -> bytes:
    """Return the frame of a command: what it adds to an entry.

    These are the bytes of an `EntryBatch` that holds the command alone. Messages are not made for
    them: that would take most of the time of a small command on its way into the log.
    """
    name, payload, slots, stamp, slotless = command
    if stamp is None and not slotless and len(slots) < 2:
        rest = _in_slot(slots[0]) if slots else b""
    else:
        rest = _rest(slots, stamp, slotless)
    head = _type(name)
    if payload:
        head += _PAYLOAD_TAG + _varint(len(payload))
    size = len(head) + len(payload) + len(rest)
    return b"".join((_COMMAND_TAG, _varint(size), head, payload, rest))


def join(
    proposed_at_ms: int, frames: Iterable[bytes], *, checked_index: int = 0, checksum: int = 0
) -> bytes:
    """Return the payload of an entry that holds these frames in their order."""
    head = entry_pb2.EntryBatch(
        proposed_at_ms=proposed_at_ms, checked_index=checked_index, checksum=checksum
    )
    return b"".join((head.SerializeToString(), *frames))


def encode(batch: EntryBatch) -> bytes:
    """Return the payload of an entry."""
    return join(
        batch.proposed_at_ms,
        map(command_bytes, batch.commands),
        checked_index=batch.checked_index,
        checksum=batch.checksum,
    )


def decode(payload: bytes) -> EntryBatch:
    """Read the payload of an entry; raises `EntryError` for anything else."""
    try:
        batch = entry_pb2.EntryBatch.FromString(payload)
    except DecodeError:
        raise EntryError(f"its {len(payload)} bytes are no commands that can be read") from None
    return EntryBatch(
        batch.proposed_at_ms,
        batch.checked_index,
        batch.checksum,
        [
            LoggedCommand(
                command.type,
                command.payload,
                command.slots,
                _stamp(command.stamp) if command.HasField("stamp") else None,
                command.slotless,
            )
            for command in batch.commands
        ],
    )


def _rest(slots: Sequence[int], stamp: Stamp | None, slotless: bool) -> bytes:
    logged = entry_pb2.LoggedCommand(slots=slots, slotless=slotless)
    if stamp is not None:
        session, sequence, lowest_unanswered = stamp
        logged.stamp.session = session
        logged.stamp.sequence = sequence
        logged.stamp.lowest_unanswered = lowest_unanswered
    return logged.SerializeToString()


@lru_cache(maxsize=1_024)
def _in_slot(slot: int) -> bytes:
    return _rest((slot,), None, False)


@lru_cache(maxsize=1_024)
def _type(name: str) -> bytes:
    encoded = name.encode()
    return _TYPE_TAG + _varint(len(encoded)) + encoded if encoded else b""


@lru_cache(maxsize=4_096)
def _varint(number: int) -> bytes:
    low = bytearray()
    while number > 0x7F:
        low.append(number & 0x7F | 0x80)
        number >>= 7
    low.append(number)
    return bytes(low)


def _stamp(stamp: entry_pb2.Stamp) -> Stamp:
    return Stamp(stamp.session, stamp.sequence, stamp.lowest_unanswered)

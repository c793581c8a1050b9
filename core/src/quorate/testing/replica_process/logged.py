"""Commands as the log holds them: everything of the domain has the constant shard key."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import Message

from quorate.apply.entries import EntryBatch, LoggedCommand, Stamp, encode
from quorate.plugin import CONSTANT_KEY
from quorate.plugin.slots import slot_of

_SLOTS: Final = (slot_of(CONSTANT_KEY),)


def logged(command: Message, stamp: Stamp | None = None) -> LoggedCommand:
    """Return a command of the domain as it is logged."""
    return LoggedCommand(
        command.DESCRIPTOR.full_name, command.SerializeToString(deterministic=True), _SLOTS, stamp
    )


def entry_of(commands: Sequence[LoggedCommand]) -> bytes:
    """Return commands as a process is asked to propose them."""
    return encode(EntryBatch(0, 0, 0, commands))


def core(command: Message) -> LoggedCommand:
    """Return a command of core as it is logged."""
    return LoggedCommand(
        command.DESCRIPTOR.full_name,
        command.SerializeToString(deterministic=True),
        slotless=True,
    )

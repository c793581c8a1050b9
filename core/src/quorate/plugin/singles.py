"""A single call is a batch of one: an item is sent as the command of which it is an item."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from quorate.plugin.outcomes import Invalid, Rejected
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    # A client does not import all declarations.
    from quorate.plugin.declarations import Command

#: By the full name of an item: the command that holds such items, and its field.
Singles = Mapping[str, tuple[type[Message], str]]

#: The field named in faults of a command as a whole.
COMMAND: Final = "command"

_FIRST_ITEM: Final = re.compile(r"^\w+\[0\](\.|$)")


def singles_of(commands: Iterable[Command[Any]]) -> Singles:
    """Map items to their batch commands, but no commands themselves, nor items of several."""
    own = {command.message.DESCRIPTOR.full_name for command in commands}
    found: dict[str, list[tuple[type[Message], str]]] = {}
    for command in commands:
        if command.items is None:
            continue
        for field in command.message.DESCRIPTOR.fields:
            # A single message is no list of items.
            if field.message_type is not None and is_repeated(field):
                found.setdefault(field.message_type.full_name, []).append(
                    (command.message, field.name)
                )
    return {name: each[0] for name, each in found.items() if len(each) == 1 and name not in own}


def batch_of(singles: Singles, message: Message) -> Message | None:
    """Return the batch of one of an item; None for a message that is not an item."""
    found = singles.get(message.DESCRIPTOR.full_name)
    return None if found is None else found[0](**{found[1]: [message]})


def only_reply(reply: BatchReply) -> bytes:
    """Return the answer to the one item of a batch; raises its refusal."""
    for refusal in reply.refusals:
        raise Rejected(refusal.code, refusal.message)
    return reply.replies[0] if reply.replies else b""


def field_of_item(field: str) -> str:
    """Return a field of a batch of one as the item has it."""
    return _FIRST_ITEM.sub("", field) or COMMAND


def of_item(invalid: Invalid) -> Invalid:
    """Return the fault of a batch of one as the fault of its item."""
    return Invalid(field_of_item(invalid.field), invalid.reason)


def has_field(kind: Any, path: str) -> bool:
    """Return whether a path like `id.tenant` leads to a field of a message, by its descriptor."""
    return FieldMask(paths=[path]).IsValidForDescriptor(kind)


def is_repeated(field: Any) -> bool:
    """Return whether a field holds many values; older releases of protobuf call that a label."""
    found: bool | None = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED) if found is None else found

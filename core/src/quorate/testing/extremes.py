"""Commands with one number at an end of what its field can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from quorate.apply.entries import LoggedCommand
from quorate.plugin import Command, Invalid
from quorate.testing.shard import command_of

_INFINITY: Final = float("inf")
_ENDS: Final[Mapping[int, tuple[float, ...]]] = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
    FieldDescriptor.CPPTYPE_FLOAT: (-_INFINITY, _INFINITY, float("nan")),
    FieldDescriptor.CPPTYPE_DOUBLE: (-_INFINITY, _INFINITY, float("nan")),
}


def extremes(command: Command[Any], payload: bytes) -> Iterator[tuple[str, LoggedCommand]]:
    """Yield what `validate` lets pass of a command with an extreme number, and which one that is.

    One number is changed at a time, wherever in the message it is.
    """
    for number, message in _at_the_ends(command.message.FromString(payload)):
        try:
            if command.validate is not None:
                command.validate(message)
        except Invalid:
            continue
        yield number, command_of(message)


def _at_the_ends(message: Message) -> Iterator[tuple[str, Message]]:
    for field in message.DESCRIPTOR.fields:
        if isinstance(getattr(message, field.name), int | float):
            for end in _ENDS.get(field.cpp_type, ()):
                changed = deepcopy(message)
                setattr(changed, field.name, end)
                yield f"{field.name} = {end}", changed
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        repeated = hasattr(value, "append")
        for position, part in enumerate(value if repeated else [value]):
            where = f"{field.name}[{position}]" if repeated else field.name
            for number, of_part in _at_the_ends(part):
                changed = deepcopy(message)
                held = getattr(changed, field.name)
                (held[position] if repeated else held).CopyFrom(of_part)
                yield f"{where}.{number}", changed

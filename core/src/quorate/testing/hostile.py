"""Commands of hostile clients, derived from valid commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from quorate.apply.entries import LoggedCommand
from quorate.plugin import Command, Invalid
from quorate.testing.shard import command_of

#: A field number of zero: no message begins like that.
_NO_MESSAGE: Final = b"\x00\xff"
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
    """Yield variants of a command with one extreme number that `validate` accepts, with its name.

    One number is changed at a time, at any depth of the message.
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


def poisoned(command: Command[Any]) -> Iterator[tuple[str, LoggedCommand]]:
    """Yield malformed variants of a command that may reach its handler, each with a description."""
    name = command.message.DESCRIPTOR.full_name
    yield "bytes that are no message", LoggedCommand(name, _NO_MESSAGE)
    yield "an empty message", LoggedCommand(name, b"")
    for example in command.examples:
        if command.items is None:
            continue
        items = [*command.items.get(example)]
        if not items:
            continue
        empty = _empty(items[0])
        if empty is not None:
            broken = command.items.make(example, [*items, empty, *items])
            yield "an empty item between others", command_of(broken)


def _empty(item: object) -> Any:
    """Return an empty item of the same type; None if the type has no empty item."""
    if isinstance(item, Message):
        return type(item)()
    return type(item)() if isinstance(item, bytes | str) else None

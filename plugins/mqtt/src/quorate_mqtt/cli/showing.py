"""Messages as rows of a table, and the words that stand for the values of enums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from typing import Final, cast

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.message import Message
from quorate.plugin import Console

_UNSPECIFIED: Final = 0


def show(console: Console, messages: Iterable[Message]) -> None:
    """Print messages, one a row."""
    console.print([dict(_columns(message)) for message in messages])


def words_of(enum: EnumDescriptor) -> dict[str, str]:
    """Return the names of an enum's values by the words that stand for them on the command line."""
    return {
        _word(enum, number): value.name
        for number, value in enum.values_by_number.items()
        if number != _UNSPECIFIED
    }


def _columns(message: Message) -> Iterator[tuple[str, object]]:
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if isinstance(value, Message):
            yield from _columns(value)
        elif isinstance(value, MutableSequence):
            yield field.name, list(value)
        elif field.enum_type is not None:
            yield field.name, _word(cast("EnumDescriptor", field.enum_type), value)
        else:
            yield field.name, value


def _word(enum: EnumDescriptor, number: int) -> str:
    """Return what a value is called behind the words that all values begin with."""
    value = enum.values_by_number.get(number)
    if value is None:
        return str(number)
    unspecified = enum.values_by_number[_UNSPECIFIED].name
    prefix = unspecified.removesuffix("UNSPECIFIED")
    return value.name.removeprefix(prefix).lower().replace("_", "-")

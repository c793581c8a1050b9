"""Commands that no honest client sends, made of those that it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import Message

from quorate.apply.entries import LoggedCommand
from quorate.plugin import Command
from quorate.testing.shard import command_of

#: A field number of zero: no message begins like that.
_NO_MESSAGE: Final = b"\x00\xff"


def poisoned(command: Command[Any]) -> Iterator[tuple[str, LoggedCommand]]:
    """Yield what may reach the handler of a command, each with a word for it."""
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
    """Return an item like this one with nothing in it; None where there is no such thing."""
    if isinstance(item, Message):
        return type(item)()
    return type(item)() if isinstance(item, bytes | str) else None

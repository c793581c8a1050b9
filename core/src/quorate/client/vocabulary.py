"""The commands that the installed plugins declare, with their routes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, get_type_hints

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from quorate.client.errors import InvalidError, RejectedError
from quorate.plugin import singles
from quorate.plugin.batches import weighed_parts
from quorate.plugin.outcomes import Rejected
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    # Plugins are looked for when a command is sent.
    from quorate.plugin.declarations import Command
    from quorate.plugin.declared import Declared

R = TypeVar("R", bound=Message)
T = TypeVar("T", bound=Message | str | bytes)

Vocabulary: TypeAlias = "Mapping[type[Message], Command[Any]]"

#: Maximum number of items, and of their bytes, in one command of a larger batch.
_AT_ONCE: Final = 1_000
_BYTES_AT_ONCE: Final = 1 << 20


def installed_commands() -> Vocabulary:
    """Return the public commands of every installed plugin that can be used, by their message."""
    return _commands()


class InstalledCommands(Mapping[type[Message], "Command[Any]"]):
    """`installed_commands`, for a process that begins often and sends few of them.

    A plugin is imported when a command of its package is asked for: meanwhile no loop goes on.
    """

    def __getitem__(self, message: type[Message]) -> Command[Any]:
        found = _commands(_owners(message.__module__)).get(message)
        return _commands()[message] if found is None else found

    def __iter__(self) -> Iterator[type[Message]]:
        return iter(_commands())

    def __len__(self) -> int:
        return len(_commands())


def command_of(vocabulary: Vocabulary, message: Message) -> Command[Any]:
    """Return the declaration of a command; raises `InvalidError` for any other message."""
    command = vocabulary.get(type(message))
    if command is None:
        raise InvalidError("command", f"{_why_none(message)}, or use call() for a service's method")
    return command


def parts_of(items: Iterable[T]) -> Iterator[Sequence[T]]:
    """Yield items in parts that one command holds."""
    return weighed_parts(items, _weigh, (_AT_ONCE, _BYTES_AT_ONCE))


def _weigh(item: Message | str | bytes) -> tuple[int, int]:
    return 1, item.ByteSize() if isinstance(item, Message) else len(item)


def only_reply(reply: BatchReply, kind: type[R]) -> R:
    """Return the answer to the one item of a batch; raises its refusal."""
    try:
        return kind.FromString(singles.only_reply(reply))
    except Rejected as refusal:
        raise RejectedError(refusal.code, refusal.message) from None


def item_error(error: InvalidError) -> InvalidError:
    """Return an error of a batch of one as the error of its item."""
    return InvalidError(singles.field_of_item(error.field), error.reason)


def check_reply(command: Command[Any], reply: type[Message]) -> None:
    """Raise `InvalidError` if the command is answered with another message, as far as is known."""
    near = _owners(command.message.__module__)
    expected = BatchReply if command.items is not None else _replies(near).get(command.message)
    if expected is not None and reply is not expected:
        raise InvalidError(
            "reply",
            f"{command.message.DESCRIPTOR.full_name} is answered with "
            f"{expected.DESCRIPTOR.full_name}, not with {reply.DESCRIPTOR.full_name}",
        )


@cache
def _owners(module: str) -> frozenset[str]:
    from quorate.plugin.discovery import owners_of

    return owners_of(module)


@cache
def _declared(names: frozenset[str] | None = None) -> Sequence[Declared]:
    """Return the declarations of the plugins of these names; None: of all plugins."""
    from quorate.plugin.declared import declare
    from quorate.plugin.discovery import installed

    return [declare(plugin) for plugin in installed(names)]


@cache
def _commands(names: frozenset[str] | None = None) -> Vocabulary:
    return {
        command.message: command
        for plugin in _declared(names)
        for command in plugin.commands
        if command.public
    }


@cache
def _replies(names: frozenset[str]) -> Mapping[type[Message], type[Message]]:
    """Return the reply types of handlers, from their annotations, by command message."""
    replies: dict[type[Message], type[Message]] = {}
    for plugin in _declared(names):
        for command in plugin.commands:
            try:
                answered = get_type_hints(command.apply).get("return")
            except (NameError, TypeError):
                # A callable without annotations, or with some that only type checkers can read.
                continue
            if answered is type(None):
                replies[command.message] = Empty
            elif isinstance(answered, type) and answered is not Message:
                replies[command.message] = answered
    return replies


def _why_none(message: Message) -> str:
    name, package = message.DESCRIPTOR.full_name, message.DESCRIPTOR.file.package
    messages = {each.message: plugin for plugin in _declared() for each in plugin.commands}
    owner = messages.get(type(message))
    if owner is not None:
        return (
            f"plugin {owner.plugin.name} keeps {name} for its own services and controllers; "
            "execute one of its public commands"
        )
    if any(each.DESCRIPTOR.file.package == package for each in messages):
        return f"{name} is not a command of the installed plugins; execute one of theirs"
    return f"no plugin installed here declares {name}; install the one that does"

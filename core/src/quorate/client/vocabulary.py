"""The commands that the installed plugins declare: what a client needs to route them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from google.protobuf.message import Message

from quorate.client.errors import InvalidError
from quorate.plugin import Command
from quorate.plugin.declared import declare
from quorate.plugin.discovery import installed

Vocabulary = Mapping[type[Message], Command[Any]]


@cache
def installed_commands() -> Vocabulary:
    """Return the public commands of every installed plugin that can be used, by their message."""
    return {
        command.message: command
        for plugin in installed()
        for command in declare(plugin).commands
        if command.public
    }


def command_of(vocabulary: Vocabulary, message: Message) -> Command[Any]:
    """Return what is declared of a command; raises `InvalidError` for what is none."""
    command = vocabulary.get(type(message))
    if command is None:
        raise InvalidError(
            "command",
            f"no installed plugin declares {message.DESCRIPTOR.full_name} as a public command; "
            "install its plugin here, or use call() for a method of its service",
        )
    return command

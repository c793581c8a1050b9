"""Runs commands of the command line for pages, and keeps their output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import click

from quorate.cli.installed import commands_of
from quorate.cli.main import HOST_COMMANDS
from quorate.cli.terminal import Terminal

if TYPE_CHECKING:
    from quorate.client import AsyncClient, Client
    from quorate.plugin.catalog import Catalog

T = TypeVar("T")

#: The placeholder of a value in a word, with what stands for it when none is given.
_FIELD: Final = re.compile(r"\{(\w+)(?:=([^}]*))?\}")
#: The option that takes the last row of a page, which the next one goes on after.
AFTER: Final = "after"


class Printed(Terminal):
    """A terminal for a command on a page: it lends a client and keeps the output."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._asked: Final = client
        self.rows: Final[list[Mapping[str, object]]] = []
        self.sentences: Final[list[str]] = []

    def client(self) -> Client:
        """Return the client of the page's reader."""
        return self._asked

    def ask(self, work: Callable[[AsyncClient], Awaitable[T]]) -> T:
        """Return the result of `work` with that client."""

        async def asked() -> T:
            return await work(self._asked.asynchronous)

        return self._asked.thread.run(asked())

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Keep rows."""
        self.rows.extend(rows)

    def report(self, sentence: str, parts: Mapping[str, object]) -> None:
        """Keep a sentence."""
        self.sentences.append(sentence)

    def warn(self, sentence: str) -> None:
        """Keep a warning."""
        self.sentences.append(sentence)


class Commands:
    """The commands of the host and of the plugins of a node."""

    def __init__(self, catalog: Catalog) -> None:
        self._loads: Final[dict[str, Callable[[], click.Command]]] = {
            **{
                each.name: each.load
                for plugin in catalog.declared.values()
                for each in commands_of(plugin)
            },
            **{str(each.name): each.load for each in HOST_COMMANDS},
        }

    def load(self, name: str) -> click.Command:
        """Return a command by its first word."""
        return self._loads[name]()

    def run(self, client: Client, words: Sequence[str]) -> Printed:
        """Run a command with the rights of a client."""
        printed = Printed(client)
        name, *arguments = words
        self.load(name).main(arguments, prog_name=name, obj=printed, standalone_mode=False)
        return printed

    def help(self, words: Sequence[str]) -> str:
        """Return the help text of a command."""
        command = self.load(words[0])
        for word in words[1:]:
            if isinstance(command, click.Group):
                found = command.get_command(click.Context(command), word)
                if found is None:
                    raise KeyError(word)
                command = found
        return command.help or ""


class Words:
    """The words of a command with fields, as `ConsoleAction` has them."""

    def __init__(self, given: Sequence[str]) -> None:
        self._plain: Final = [each for each in given if not _FIELD.search(each)]
        fields = [each for each in given if _FIELD.search(each)]
        self._options: Final = {_name(each): each for each in fields if each.startswith("-")}
        self._arguments: Final = {_name(each): each for each in fields if not each.startswith("-")}
        #: The names of required and of optional values.
        self.arguments: Final = tuple(self._arguments)
        self.options: Final = tuple(self._options)
        self.names: Final = (*self.arguments, *self.options)
        #: What stands for values that are not given, which may be nothing.
        self.defaults: Final = {
            found[1]: found[2]
            for each in fields
            for found in _FIELD.finditer(each)
            if found[2] is not None
        }

    def of(self, values: Mapping[str, str]) -> list[str]:
        """Return the words with values in place of the fields; no value is taken for an option."""
        options = [
            _filled(word, values[name]) for name, word in self._options.items() if values[name]
        ]
        arguments = [_filled(word, values[name]) for name, word in self._arguments.items()]
        guard = ["--"] if any(each.startswith("-") for each in arguments) else []
        return [*self._plain, *options, *guard, *arguments]


def line_of(words: Sequence[str]) -> str:
    """Return a command as one types it."""
    return shlex.join(["quorate", *words])


def _name(word: str) -> str:
    return str(_FIELD.findall(word)[0][0])


def _filled(word: str, value: str) -> str:
    return _FIELD.sub(lambda _: value, word)

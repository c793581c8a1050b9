"""Checks that the pages of the console name commands that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import click

from quorate.plugin.declarations import CliCommand, ConsolePage
from quorate.plugin.nearness import meant

if TYPE_CHECKING:
    from quorate.plugin.declared import Declared
    from quorate.plugin.problems import PluginProblem


def misnamed(
    declared: Declared, commands: Mapping[str, tuple[Declared, CliCommand]]
) -> Iterator[PluginProblem]:
    """Yield a problem for each command of a plugin's pages that no plugin has.

    Commands of the host itself are not looked at.
    """
    for extension in declared.extensions:
        page = extension.value
        if not isinstance(page, ConsolePage):
            continue
        for title, words in _commands_of(page):
            found = commands.get(words[0]) if words else None
            if found is None:
                continue
            word, known = _unknown(found[1].load(), words[1:])
            if word:
                yield declared.plugin.problem(
                    f"console page {page.title!r} has {title!r} of the command "
                    f"`quorate {' '.join(words)}`, and there is no {word!r}",
                    meant(word, known),
                    where=extension.where,
                )


def _commands_of(page: ConsolePage) -> Iterator[tuple[str, Sequence[str]]]:
    yield from page.tables.items()
    for verb, action in page.actions.items():
        yield verb, action.command
        yield verb, action.plan


def _unknown(command: click.Command, words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the first word that no group knows, and the words that it does know."""
    for word in takewhile(lambda each: not each.startswith(("-", "{")), words):
        if not isinstance(command, click.Group):
            break
        known = command.list_commands(click.Context(command))
        found = command.get_command(click.Context(command), word)
        if found is None:
            return word, known
        command = found
    return "", []

"""The commands of all pages and actions are there, and take what they are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
from quorate.cli.console.actions import OF_CLUSTER, backup_into
from quorate.cli.console.printed import Commands, Words, line_of
from quorate.plugin.advanced import ConsoleAction, ConsolePage
from quorate.plugin.catalog import build
from quorate.plugin.discovery import installed

PLUGINS = [each for each in installed() if each.distribution.startswith("quorate")]
CATALOG = build(PLUGINS)
PAGES = {
    name: page
    for name, page in CATALOG.extensions["cluster.console_pages"].items()
    if isinstance(page, ConsolePage)
}


def actions() -> Iterator[ConsoleAction]:
    yield from OF_CLUSTER.values()
    for page in PAGES.values():
        yield from page.actions.values()


def commands() -> Iterator[Sequence[str]]:
    for page in PAGES.values():
        yield from page.tables.values()
    for action in actions():
        yield action.command
        if action.plan:
            yield action.plan


@pytest.mark.parametrize("given", list(commands()), ids=" ".join)
def test_a_command_takes_its_words(given: Sequence[str]) -> None:
    fields = Words(given)
    words = fields.of({**dict.fromkeys(fields.names, "7"), "end": "orders/0=7"})
    command: click.Command = Commands(CATALOG).load(words[0])
    rest = words[1:]
    while isinstance(command, click.Group):
        command, rest = command.commands[rest[0]], rest[1:]

    assert command.make_context(line_of(words), rest).args == []


def test_plans_ask_for_nothing_that_actions_do_not() -> None:
    for action in actions():
        asked, planned = Words(action.command), Words(action.plan)
        assert {*planned.arguments} <= {*asked.arguments}, action.title
        assert {*planned.options} <= {*asked.options}, action.title


def test_every_command_says_what_it_does() -> None:
    helps = [Commands(CATALOG).help(action.command) for action in actions()]

    assert all(each.strip() for each in helps)
    assert {"connector", "loads", "engine"} <= PAGES.keys()


def test_a_backup_has_the_time_as_its_name(tmp_path: Path) -> None:
    words = Words(backup_into(tmp_path).command)

    assert words.of({"now": "20261125T224500Z"})[-1] == f"{tmp_path}/20261125T224500Z"

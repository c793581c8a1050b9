"""Commands have one grammar, and go on under their former names for one release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import pytest
from quorate.cli import installed
from quorate.cli.deferred import DeferredCommand, command_at
from quorate.cli.main import FORMER, HOST_COMMANDS, RootGroup, root
from quorate.cli.records import group_of
from quorate.cli.terminal import Terminal

from core.tests.cli.conftest import SOUND
from core.tests.cli.test_main import COMMANDS

if TYPE_CHECKING:
    from core.tests.cli.conftest import Install, Run

PLUGINS = installed.find()
THEIRS = {
    words: now
    for _, command in PLUGINS.cli_commands().values()
    for words, now in command.former.items()
}
#: Words that end as a plural does, and are none.
SINGULAR = {"cas", "exists", "featureflags", "ls", "metrics", "protos", "status"}
#: The objects of `bench`, which is a verb.
OBJECTS = {"reads", "writes"}


def words_of(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command that help shows."""
    found = command.load() if isinstance(command, DeferredCommand) else command
    if isinstance(found, click.Group):
        for name, each in found.commands.items():
            if not each.hidden:
                yield from words_of(each, (*path, name))
    else:
        yield path


def every() -> Iterator[tuple[str, ...]]:
    for host in HOST_COMMANDS:
        yield from words_of(host, (str(host.name),))
    for name, (_, theirs) in PLUGINS.cli_commands().items():
        yield from words_of(theirs.load(), (name,))


@pytest.fixture
def former(install: Install) -> None:
    """A plugin whose commands have had other names."""
    lines = {
        "jot": "notes show",
        "notes print": "notes show",
        "notes deep": "notes show",
        "notes as they were": "notes show",
        "notes show": "notes fail",
    }
    told = f'help="Look at notes.", former={lines!r},'
    install("notes", SOUND.replace('help="Look at notes.",', told), commands=COMMANDS)


def test_no_noun_is_a_plural_and_nothing_is_shown_but_got() -> None:
    found = list(every())

    assert len(found) > 300
    assert [path for path in found if "show" in path] == []
    plurals = {word for path in found for word in path if word.endswith("s")}
    assert plurals - SINGULAR == OBJECTS


@pytest.mark.parametrize("words", ["notes print", "jot", "notes deep", "notes as they were"])
def test_a_former_command_goes_on_and_says_its_new_name(run: Run, former: None, words: str) -> None:
    ran = run(*words.split(), "-o", "json")

    assert ran.code == 0
    assert json.loads(ran.out)[0]["name"] == "milk"
    assert ran.err == f"warning: `quorate {words}` is `quorate notes show` now\n"


def test_what_has_the_words_now_comes_first(run: Run, former: None) -> None:
    shown, looked = run("notes", "show"), run("notes", "deep", "look")

    assert "milk" in shown.out
    assert looked.code == 0
    assert "is `quorate" not in shown.err + looked.err


def test_former_names_are_hidden(run: Run, former: None) -> None:
    assert "jot" not in run("--help").out
    assert "print" not in run("notes", "--help").out


def test_a_former_command_of_the_host(run: Run) -> None:
    ran = run("config", "show")

    assert ran.out == run("config", "get").out
    assert ran.err == "warning: `quorate config show` is `quorate config get` now\n"


@pytest.mark.parametrize(("words", "now"), [*FORMER.items(), *THEIRS.items()])
def test_a_former_name_leads_to_a_command(words: str, now: str) -> None:
    assert isinstance(root, RootGroup)
    assert command_at(root, click.Context(root, obj=Terminal()), now.split()) is not None
    assert now.split() != words.split()


def test_a_group_that_a_plugin_names_in_the_plural_is_completed_in_the_singular() -> None:
    [notebook] = [each for each in PLUGINS.declared if each.plugin.name == "notebook"]
    own = click.Group("notes", {"burn": click.Command("burn")})
    into = click.Group("notebook", {"notes": own})

    group = group_of("notebook", notebook.resources, into)

    assert isinstance(group, click.Group)
    assert [*group.commands] == ["note"]
    context = click.Context(group)
    assert group.get_command(context, "notes") is group.get_command(context, "note") is own
    assert {"burn", "list", "get", "watch"} <= own.commands.keys()

"""The pages of the documentation as they are built, and the commands that they name."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import click
from quorate.cli.deferred import command_at
from quorate.cli.main import root
from quorate.cli.terminal import Terminal

DOCS: Final = Path(__file__).parents[2] / "docs"


@cache
def page(name: str) -> str:
    """Return a page, such as `reference/hooks`."""
    sys.path.insert(0, str(DOCS))
    try:
        text: str = runpy.run_path(str(DOCS / "generated.py"))["page"](name)
    finally:
        sys.path.remove(str(DOCS))
    return text


def command_of(words: list[str]) -> click.Command | None:
    """Return the command that a line calls, which its arguments may follow."""
    return command_at(root, click.Context(root, obj=Terminal()), words)


def leaves(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands below a group by their words."""
    for name, each in group.commands.items():
        if isinstance(each, click.Group):
            yield from ((f"{name} {words}", found) for words, found in leaves(each))
        else:
            yield name, each


def options_of(command: click.Command) -> set[str]:
    """Return the options of a command, but for those that every command has."""
    return {
        option
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option not in ("--endpoints", "--output", "-o")
    }


def told_below(root: str, text: str) -> Mapping[str, set[str]]:
    """Return the options that a table of a page tells of each command below `quorate ROOT`."""
    rows = re.findall(rf"^\| `quorate {root} ([a-z -]*[a-z])\b(.+)$", text, re.MULTILINE)
    return {words: set(re.findall(r"`(--?[a-z][\w-]*)", row)) for words, row in rows}

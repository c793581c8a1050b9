"""The pages of the documentation as they are built, and the commands that they name."""

from __future__ import annotations

import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Final

import click
from quorate.cli.deferred import DeferredCommand
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
    """Return the command of these words, which may have arguments behind it."""
    context = click.Context(root, obj=Terminal())
    found: click.Command | None = root
    for word in words:
        if not isinstance(found, click.Group):
            break
        found = found.get_command(context, word)
        if isinstance(found, DeferredCommand):
            found = found.load()
    return found

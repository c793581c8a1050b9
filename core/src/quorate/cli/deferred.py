"""Commands that are known by name and help, and loaded only when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from quorate.cli.terminal import Terminal

FORMS = ("table", "json")


class DeferredCommand(click.Command):
    """Stands for a command in help and completion; `load` gives the command itself."""

    def __init__(self, name: str, help: str, load: Callable[[], click.Command]) -> None:
        super().__init__(name, help=help)
        self.load = load


def terminal_of(ctx: click.Context) -> Terminal:
    """Return the terminal of the process, whatever a group below has put in its place."""
    return cast("Terminal", ctx.find_root().obj)


def adopt(command: click.Command) -> click.Command:
    """Make the command, and all below it, behave as every command here does.

    It gets the option `--output`, unless it has one of its own, and a group that is called without
    a command is a usage error, whichever release of click is installed.
    """
    if not any("--output" in parameter.opts for parameter in command.params):
        command.params.append(
            click.Option(
                ["--output"],
                type=click.Choice(FORMS),
                callback=_choose_output,
                expose_value=False,
                is_eager=True,
                help="The form of the answer and of errors; a table is the default.",
            )
        )
    if isinstance(command, click.Group):
        command.no_args_is_help = False
        for below in command.commands.values():
            adopt(below)
    return command


def _choose_output(ctx: click.Context, _: click.Parameter, form: Any) -> None:
    if form is not None:
        terminal_of(ctx).json = form == "json"

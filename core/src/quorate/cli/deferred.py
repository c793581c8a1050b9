"""Commands that are known by name and help, and loaded only when they are called."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import click

if TYPE_CHECKING:
    from quorate.cli.terminal import Terminal

FORMS = ("table", "wide", "name", "json", "ndjson", "yaml")

#: The largest number that every field for large numbers holds.
_LARGEST: Final = (1 << 63) - 1


class DeferredCommand(click.Command):
    """Stands for a command in help and completion; `load` gives the command itself."""

    def __init__(
        self, name: str, help: str, load: Callable[[], click.Command], *, asks: bool = False
    ) -> None:
        super().__init__(name, help=help)
        self.load = load
        #: Whether it asks a cluster, and lets the user say which.
        self.asks = asks


def in_any_number(name: str, known: Container[str]) -> str:
    """Return the known one of the singular and the plural of a noun; else the noun as it is."""
    endings = (("", "s"), ("s", ""), ("es", ""), ("ies", "y"))
    others = [name.removesuffix(old) + new for old, new in endings if name.endswith(old)]
    return next((each for each in (name, *others) if each in known), name)


class NounGroup(click.Group):
    """Its groups are called by their nouns in the singular or in the plural; one is shown."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a noun in either number."""
        return super().get_command(ctx, in_any_number(cmd_name, self.commands))


def command_at(
    group: click.Group, ctx: click.Context, words: Iterable[str]
) -> click.Command | None:
    """Return the command, or the group, below `group` that is called by words.

    It is loaded. Words that follow those of a command are its arguments.
    """
    found: click.Command | None = group
    for word in words:
        if not isinstance(found, click.Group):
            break
        found = found.get_command(ctx, word)
        if isinstance(found, DeferredCommand):
            found = found.load()
    return found


class AskingCommand(click.Command):
    """Asks a cluster, and lets the user say which, though its group does not."""

    asks = True


def terminal_of(ctx: click.Context) -> Terminal:
    """Return the terminal of the process, even if a nested group has replaced `ctx.obj`."""
    return cast("Terminal", ctx.find_root().obj)


def adopt(command: click.Command, *, asks: bool = False) -> click.Command:
    """Make the command, and all below it, behave as every command here does.

    It gets the option `--output`, and `--endpoints` when it asks a cluster, unless it has one of
    its own; a number that no message holds, infinity and NaN among them, is a usage error; and so
    is a group that is called without a command, whichever release of click is installed.
    """
    for parameter in command.params:
        if not isinstance(parameter.callback, _Bounded):
            parameter.callback = _Bounded(parameter.callback)
    _offer(
        command,
        click.Option(
            ["-o", "--output"],
            type=click.Choice(FORMS),
            callback=_choose_output,
            expose_value=False,
            is_eager=True,
            help="Output format, also of errors; default: table, in a pipe as plain columns.",
        ),
    )
    if asks:
        _offer(
            command,
            click.Option(
                ["--endpoints"],
                metavar="HOST:PORT,...",
                callback=_choose_endpoints,
                expose_value=False,
                is_eager=True,
                help="Addresses of nodes of the cluster; default: QUORATE_ENDPOINTS, else "
                "the three ports of `quorate dev`.",
            ),
        )
    if isinstance(command, click.Group):
        command.no_args_is_help = False
        for below in command.commands.values():
            adopt(
                below,
                asks=below.asks if isinstance(below, DeferredCommand | AskingCommand) else asks,
            )
    return command


@dataclass(frozen=True, slots=True)
class _Bounded:
    """The callback of a parameter, which gets no number that is out of every range."""

    then: Callable[[click.Context, click.Parameter, Any], Any] | None

    def __call__(self, ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
        for each in value if isinstance(value, tuple) else (value,):
            # NaN is not smaller than anything, and not larger.
            if isinstance(each, int | float) and not -_LARGEST <= each <= _LARGEST:
                raise click.BadParameter(f"{each} is out of range.", ctx, parameter)
        return value if self.then is None else self.then(ctx, parameter, value)


def _offer(command: click.Command, option: click.Option) -> None:
    taken = {each for parameter in command.params for each in parameter.opts}
    if option.opts[-1] not in taken:
        option.opts = [each for each in option.opts if each not in taken]
        command.params.append(option)


def _choose_output(ctx: click.Context, _: click.Parameter, form: Any) -> None:
    if form is not None:
        terminal_of(ctx).show_as(form)


def _choose_endpoints(ctx: click.Context, _: click.Parameter, endpoints: Any) -> None:
    if endpoints is not None:
        terminal_of(ctx).endpoints = endpoints

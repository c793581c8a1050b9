"""The console, the options and the demo of the commands that a plugin adds to `quorate`."""

from __future__ import annotations

import sys
from collections.abc import (
    AsyncGenerator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableSequence,
    Sequence,
)
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from google.protobuf.message import Message

from quorate.plugin.singles import is_repeated

if TYPE_CHECKING:
    from google.protobuf.descriptor import EnumDescriptor, EnumValueDescriptor

    from quorate.client import AsyncClient, Client

C = TypeVar("C", bound=Callable[..., None])
R = TypeVar("R")


class Console(Protocol):
    """The `obj` of the click context: how a command reaches the cluster and prints its results."""

    def client(self) -> Client:
        """Return a client of the cluster that the user selects with `--endpoints`.

        It is the same one for the whole command, and closed with it. Its errors may be left to the
        command line, which shows them to the user.
        """

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Write rows to standard output, as a table or as a JSON array, as the user asked.

        Bytes are shown as text, or in base64 where they are not text; in JSON as an object,
        `{"base64": "/w=="}`, which cannot be mistaken for text.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoScene:
    """What `quorate demo` has made before the plugins have their turn."""

    #: They exist; everything in them goes when they are deleted.
    tenants: Sequence[str]
    #: Epochs of registered brokers by their names; their heartbeats last as long as the demo.
    brokers: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """A plugin's part in `quorate demo`: the type of the extension point `cluster.demos`."""

    #: Imports and returns the part: a generator that first makes rows and yields what it has made,
    #: as `12 topics`, and from then on writes a little and yields again, each time it is asked to.
    #: It runs on any number of clusters at a time, and again on a cluster where it has run; it
    #: never ends by itself. What it holds, such as a lock, it lets go of when it is closed.
    load: Callable[[], Callable[[AsyncClient, DemoScene], AsyncGenerator[str, None]]]


def limit_option(command: C) -> C:
    """Give a command the option `--limit`, for `first_rows`."""
    import click

    return click.option(
        "--limit",
        type=click.IntRange(1),
        default=1_000,
        show_default=True,
        help="Maximum number of rows.",
    )(command)


def stale_option(command: C) -> C:
    """Give a command the option `--stale`."""
    import click

    help = "Read from any replica, possibly stale, also without a majority."
    return click.option("--stale", is_flag=True, help=help)(command)


def dry_run_option(command: C) -> C:
    """Give a command the option `--dry-run`, with which it only shows what it would do: `plan`."""
    import click

    class DryRun(click.Option):
        """Is also taken by its former name, `--plan`, for one release."""

        def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
            shown, self.opts = self.opts, [*self.opts, "--plan"]
            super().add_to_parser(parser, ctx)
            self.opts = shown

    help = "Only show what would be done."
    return click.option("--dry-run", "plan", cls=DryRun, is_flag=True, help=help)(command)


def consent_options(command: C) -> C:
    """Give an irreversible command the options `--dry-run` and `--yes`, for `consent`."""
    import click

    return dry_run_option(click.option("--yes", is_flag=True, help="Do not ask.")(command))


def consent(
    console: Console,
    question: str,
    affected: Iterable[Mapping[str, object]],
    *,
    plan: bool,
    yes: bool,
) -> bool:
    """Return whether to go on with an irreversible change.

    With `--dry-run` it shows the affected rows, and the command does nothing; `--yes` goes on.
    Without both it shows them and asks at a terminal, and raises `click.ClickException` elsewhere.
    """
    import click

    if yes and not plan:
        return True
    if plan:
        console.print(affected)
        return False
    for row in affected:
        told = (f"{name}={value}" for name, value in row.items() if value not in (None, "", []))
        click.echo("  ".join(told), err=True)
    if sys.stdin.isatty() and click.confirm(question, err=True):
        return True
    raise click.ClickException("nothing was done: see with --dry-run, and confirm with --yes")


def first_rows(rows: Iterator[R], limit: int) -> Iterator[R]:
    """Yield the first rows of a list, and warn the user when there are more."""
    import click

    yield from islice(rows, limit)
    if next(rows, None) is not None:
        sentence = f"there are more than {limit}; ask for more with --limit"
        # A page of the console keeps it; a console of a test may know no warnings.
        context = click.get_current_context(silent=True)
        warn = getattr(context and context.obj, "warn", None)
        if warn is None:
            click.echo(f"warning: {sentence}", err=True)
        else:
            warn(sentence)


def time_text(ms: int) -> str:
    """Return a time for people; nothing for 0, which stands for never."""
    if not ms:
        return ""
    try:
        return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError):
        # Python has no moment after the year 9999.
        return f"{ms} ms since 1970"


def words_of(enum: EnumDescriptor) -> dict[str, int]:
    """Return the values of an enum by the words that stand for them on the command line."""
    return {word_of(enum, number): number for number in enum.values_by_number if number}


def word_of(enum: EnumDescriptor, number: int) -> str:
    """Return the word for a value of an enum; the number of an unknown value."""
    value: EnumValueDescriptor | None = enum.values_by_number.get(number)
    if value is None:
        return str(number)
    prefix: str = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return value.name.removeprefix(prefix).lower().replace("_", "-")


def columns_of(message: Message) -> Iterator[tuple[str, object]]:
    """Yield the fields of a message as columns, and those of messages within it.

    A `fixed64` is a drawn id: it becomes text, since many readers of JSON round numbers from 2^53.
    """
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.message_type is not None and is_repeated(field):
            if field.message_type.GetOptions().map_entry:
                yield field.name, dict(sorted(value.items()))
            else:
                yield field.name, [dict(columns_of(each)) for each in value]
        elif isinstance(value, Message):
            yield from columns_of(value)
        elif isinstance(value, MutableSequence):
            yield field.name, list(value)
        elif field.enum_type is not None:
            yield field.name, word_of(cast("EnumDescriptor", field.enum_type), value)
        elif field.type == field.TYPE_FIXED64 and field.has_presence:
            yield field.name, str(value) if message.HasField(field.name) else None
        elif field.type == field.TYPE_FIXED64:
            yield field.name, str(value)
        else:
            yield field.name, value

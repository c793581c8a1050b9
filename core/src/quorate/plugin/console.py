"""What the commands that a plugin adds to `quorate` hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from quorate.client import Client

R = TypeVar("R")


class Console(Protocol):
    """The `obj` of the click context: how a command of the command line asks and answers."""

    def client(self) -> Client:
        """Return a client of the cluster that the user means with `--endpoints`.

        It is the same one for the whole command, and closed with it. What it raises may be left to
        the command line, which shows it to the user.
        """

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Write rows to standard output, as a table or as a JSON array, as the user asked.

        Bytes are shown as text, or in base64 where they are none.
        """


def first_rows(rows: Iterator[R], limit: int) -> Iterator[R]:
    """Yield the first rows of a list, and warn the user when there are more."""
    import click

    yield from islice(rows, limit)
    if next(rows, None) is not None:
        click.echo(f"warning: there are more than {limit}; ask for more with --limit", err=True)


def time_text(ms: int) -> str:
    """Return a time for people; nothing for 0, which stands for never."""
    if not ms:
        return ""
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds")

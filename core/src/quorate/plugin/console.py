"""What the commands that a plugin adds to `quorate` hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from quorate.client import Client


class Console(Protocol):
    """The `obj` of the click context: how a command of the command line asks and answers."""

    def client(self) -> Client:
        """Return a client of the cluster that the user means with `--endpoints`.

        It is the same one for the whole command, and closed with it. What it raises may be left to
        the command line, which tells it to the user.
        """

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Write rows to standard output, as a table or as a JSON array, as the user asked.

        Bytes are shown as text, or in base64 where they are none.
        """

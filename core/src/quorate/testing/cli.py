"""Runs commands of `quorate` in a test, mainly those of plugins, and captures their output."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, cast

import click
from click.testing import CliRunner

from quorate.cli.failures import Failure
from quorate.cli.known import KnownPlugins, told
from quorate.cli.main import main
from quorate.cli.terminal import Terminal
from quorate.testing.memory_client import MemoryClient, SyncMemoryClient
from quorate.testing.node import MemoryNode

if TYPE_CHECKING:
    from quorate.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The exit code and the output of a command."""

    #: The exit code of the process: 0 for success; docs/reference/cli.md lists the others.
    exit_code: int
    #: The rows that it printed with `Console.print`.
    rows: list[Mapping[str, object]]
    #: All that a terminal would show.
    output: str
    #: The error of a command that failed; empty if it succeeded.
    error: str


class Cli:
    """Runs `quorate` in this process against a node in memory, or through a client.

        with Cli(node) as cli:
            assert cli.run("greeting", "list", "oslo").rows == [...]

    Options, failures and exit codes are the same as for a user.
    """

    def __init__(self, asked: MemoryNode | MemoryClient | Client) -> None:
        self._own: SyncMemoryClient | None = None
        if isinstance(asked, MemoryNode):
            asked = MemoryClient(asked)
        if isinstance(asked, MemoryClient):
            self._own = SyncMemoryClient(asked)
        self._client: Final = cast("Client", self._own or asked)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client made for a node in memory; a client passed by the caller stays open."""
        if self._own is not None:
            self._own.close()

    @property
    def client(self) -> Client:
        """The client of the commands, which a test may use as well."""
        return self._client

    def run(self, *arguments: str, input: str | None = None) -> Ran:
        """Run `quorate` with these arguments; `input` answers its prompts."""
        terminal = _Recording(self._client)
        code: list[int] = []

        @click.command(add_help_option=False)
        def quorate() -> None:
            code.append(main(arguments, terminal))

        result = CliRunner().invoke(quorate, (), input=input)
        if not code:
            raise AssertionError(
                f"quorate {' '.join(arguments)} did not finish: {result.exception!r}"
            )
        return Ran(
            exit_code=code[0], rows=terminal.rows, output=result.output, error=terminal.error
        )


class _Recording(Terminal):
    """A terminal that provides the client of a test, and captures rows and errors.

    It asks the plugins each time: a test may have put others in their place, and what is
    remembered is for users.
    """

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._given: Final = client
        self.rows: Final[list[Mapping[str, object]]] = []
        self.error = ""

    @functools.cached_property
    def known(self) -> KnownPlugins:
        return told(self.plugins)

    def client(self) -> Client:
        return self._given

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        shown = list(rows)
        self.rows.extend(shown)
        super().print(shown)

    def fail(self, failure: Failure) -> None:
        self.error = str(failure)
        super().fail(failure)

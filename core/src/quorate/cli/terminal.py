"""The terminal: in which form answers, warnings and failures reach the user."""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from quorate.cli.encoding import json_line, json_text, yaml_text
from quorate.cli.failures import ExitCode, Failure, failure, of_configuration, usage
from quorate.cli.tables import Keyed, name_of, show, shown, width_of_terminal

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from quorate.cli.installed import InstalledPlugins
    from quorate.cli.known import KnownPlugins
    from quorate.client import AsyncClient, Client, Tls
    from quorate.config import Settings

M = TypeVar("M", bound="Message")
T = TypeVar("T")

ADMIN: Final = "/quorate.v1.AdminService"
#: Read in the working directory when neither option nor environment names a file.
DEFAULT_CONFIG = Path("quorate.toml")
#: How long a node may take to accept a connection.
_LISTEN_S: Final = 1.0
#: Timeout of a call that a user waits for; an election takes far less.
_PATIENCE_S: Final = 10.0


class Terminal:
    """The `obj` of every command: the user's choices of cluster, format and files.

    Towards plugins it is a `quorate.plugin.console.Console`.
    """

    def __init__(self) -> None:
        #: The form of answers; `json` says whether a program reads them.
        self.form = "table"
        self.json = False
        #: JSON has a line for each row.
        self.lines = False
        self.debug = False
        self.config_file: Path | None = None
        #: The values of `--tls-ca`, `--tls-cert` and `--tls-key`.
        self.tls_files: tuple[str | None, str | None, str | None] = (None, None, None)
        #: The value of `--token-file`.
        self.token_file: Path | None = None
        #: The value of `--endpoints`; None: the client's default.
        self.endpoints: str | None = None
        self._warned: Final[set[str]] = set()
        self._client: Client | None = None

    @functools.cached_property
    def plugins(self) -> InstalledPlugins:
        """The installed plugins; they are imported when this is first asked for."""
        from quorate.cli import installed

        return installed.find()

    @functools.cached_property
    def known(self) -> KnownPlugins:
        """The names of the plugins' commands, without the plugins where they are remembered."""
        from quorate.cli.known import known

        return known(lambda: self.plugins)

    def client(self) -> Client:
        """Return a client of the cluster that the user means; it is closed with the command."""
        if self._client is None:
            from quorate.client import Client
            from quorate.client.vocabulary import InstalledCommands

            self._client = Client(
                self.reached(),
                tls=self.tls(),
                token=self.token_file,
                vocabulary=InstalledCommands(),
            )
            click.get_current_context().call_on_close(self._client.close)
        return self._client

    def tls(self) -> Tls | None:
        """Return how connections are encrypted, as options and environment say; None: not."""
        from quorate.client import Tls

        ca, cert, key = self.tls_files
        if ca is not None:
            return Tls(ca=ca, cert=cert, key=key)
        if cert is not None or key is not None:
            raise usage(
                "--tls-cert and --tls-key are given without --tls-ca",
                "name the file of the authority that has signed the nodes' certificates",
            )
        return Tls.of_environment(os.environ)

    def reached(self) -> str:
        """Return where the cluster is asked; fail when nothing listens there."""
        from quorate.client.topology import endpoints_of

        endpoints = endpoints_of(self.endpoints)
        # A call would wait for its deadline.
        if not any(map(_listens, endpoints)):
            raise failure(
                f"no node answers at {', '.join(endpoints)}",
                "start a cluster with `quorate dev`, or name the nodes of one that runs with "
                "--endpoints or QUORATE_ENDPOINTS",
                ExitCode.UNAVAILABLE,
            )
        return ",".join(endpoints)

    def ask(self, work: Callable[[AsyncClient], Awaitable[T]]) -> T:
        """Return the result of `work` with a client of the cluster, which is closed afterwards."""
        import asyncio

        from quorate.client import connect
        from quorate.client.vocabulary import InstalledCommands

        endpoints = self.reached()

        async def asked() -> T:
            async with connect(
                endpoints,
                timeout_s=_PATIENCE_S,
                tls=self.tls(),
                token=self.token_file,
                vocabulary=InstalledCommands(),
            ) as client:
                return await work(client)

        try:
            return asyncio.run(asked())
        except asyncio.CancelledError:
            # After a group of tasks that has failed `asyncio.run` does not know Ctrl-C any more.
            raise KeyboardInterrupt from None

    def admin(self, method: str, request: Message, response: type[M]) -> M:
        """Return the answer of a method of the administration."""
        return self.ask(lambda client: client.call(f"{ADMIN}/{method}", request, response))

    def follow(self, work: Callable[[AsyncClient], Awaitable[None]]) -> None:
        """Run `work` until Ctrl-C, which ends it without an error."""
        with suppress(KeyboardInterrupt):
            self.ask(work)

    def settings(self) -> Settings:
        """Return the effective configuration, or fail with all that is wrong with it."""
        from quorate.config import ConfigError, load

        try:
            return load(self.chosen_config(), self.plugins.section_models(), os.environ)
        except ConfigError as error:
            raise of_configuration(error) from error

    def chosen_config(self) -> Path | None:
        """Return the effective configuration file: the named one, or the default if it exists."""
        if self.config_file is None and DEFAULT_CONFIG.exists():
            return DEFAULT_CONFIG
        return self.config_file

    def show_as(self, form: str) -> None:
        """Choose the form of answers, one of `FORMS`."""
        self.form = form
        self.json, self.lines = form in ("json", "ndjson", "yaml"), form == "ndjson"

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Write rows as a table, as names, as an array, or as JSON with a line for each."""
        if self.lines:
            for row in rows:
                self.report("", row)
            return
        found = list(rows)
        if self.json:
            self.print_json(found)
            return
        key, noun = (rows.key, rows.noun) if isinstance(rows, Keyed) else ((), "")
        if self.form == "name":
            for row in found:
                click.echo(name_of(row, key))
        elif found:
            show(shown(found, key, width_of_terminal(), wide=self.form == "wide"))
        else:
            click.echo(f"no {noun or 'rows'} found", err=True)

    def report(self, sentence: str, parts: Mapping[str, object]) -> None:
        """Write one event of a command that goes on: a sentence, or JSON on a line of its own."""
        click.echo(json_line(parts) if self.json else sentence)

    def print_json(self, value: object) -> None:
        """Write a value as JSON, or as YAML where that was asked for."""
        click.echo(yaml_text(value) if self.form == "yaml" else json_text(value))

    def warn(self, sentence: str) -> None:
        """Warn the user."""
        click.echo(f"warning: {sentence}", err=True)

    def warn_of_broken(self) -> None:
        """Name the broken plugins, each once."""
        broken = sorted(self.known.broken - self._warned)
        self._warned.update(broken)
        for name in broken:
            self.warn(
                f"plugin {name} is broken and left out; `quorate plugin check {name}` says why"
            )

    def fail(self, failure: Failure) -> None:
        """Show why the command failed; in debug mode with a traceback."""
        if self.debug:
            import traceback

            click.echo("".join(traceback.format_exception(failure)), err=True, nl=False)
        if self.json:
            errors = [problem.parts for problem in failure.problems]
            body = {"exit_code": int(failure.exit_code), "errors": errors}
            click.echo(json_text(body), err=True)
        else:
            for problem in failure.problems:
                click.echo(f"error: {problem.sentence}", err=True)


def _listens(address: str) -> bool:
    import socket

    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _LISTEN_S).close()
    except OSError:
        return False
    return True


@contextmanager
def progress(title: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show progress in calls, or in bytes of an unknown total; yield a function that adds to it."""
    from rich import progress as rich
    from rich.console import Console

    counted = (rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeElapsedColumn())
    unknown = (rich.SpinnerColumn(), rich.DownloadColumn(), rich.TransferSpeedColumn())
    console = Console(stderr=True)
    with rich.Progress(
        rich.TextColumn("{task.description}"),
        *(unknown if total is None else counted),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=total)
        yield lambda count: bar.advance(task, count)


def bytes_of(text: str, name: str, in_hex: bool) -> bytes:
    """Return an argument as bytes: its UTF-8, or its decoded hex digits."""
    if not in_hex:
        return text.encode(errors="surrogateescape")
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise usage(
            f"{name} {text!r} is not written in hex digits",
            "write two of 0-9 and a-f for each byte, or omit --hex",
        ) from None

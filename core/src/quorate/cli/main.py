"""The entry point of `quorate`: its options, its commands, and the end of every one of them.

Nothing heavy is imported here: `quorate --version` and a usage error answer at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from quorate.cli.deferred import (
    DeferredCommand,
    adopt,
    command_at,
    in_any_number,
    terminal_of,
)
from quorate.cli.failures import ExitCode, Failure, failure, of_client, of_plugins, usage
from quorate.cli.terminal import DEFAULT_CONFIG, Terminal

#: How much of an argument an error repeats.
_SHOWN: Final = 200
#: Commands that write what others may read: source files, and certificates beside their keys. What
#: any other writes is for its user alone, whatever the umask is.
_SHARED: Final = frozenset({"cert", "plugin", "protos"})
#: Takes every right from the group and from others.
_PRIVATE: Final = 0o077


def _own(module: str) -> Callable[[], click.Command]:
    def load() -> click.Command:
        command: click.Command = importlib.import_module(f"quorate.cli.{module}").command
        return command

    return load


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "fish", "zsh")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash, add this line to ~/.bashrc: eval "$(quorate completion bash)"
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "quorate", "_QUORATE_COMPLETE").source())


#: The host's own commands; a plugin's come beside them.
HOST_COMMANDS: Final = (
    DeferredCommand("audit", "Follow calls of clients and operators.", _own("audit"), asks=True),
    DeferredCommand("backup", "Copy all shards.", _own("backup"), asks=True),
    DeferredCommand("bench", "Measure a cluster.", _own("bench"), asks=True),
    DeferredCommand("cert", "Make certificates for trials.", _own("cert")),
    DeferredCommand("completion", "Print the completion script of a shell.", lambda: completion),
    DeferredCommand("config", "Show and check the configuration.", _own("config_commands")),
    DeferredCommand("controller", "Pause and resume controllers.", _own("controller"), asks=True),
    DeferredCommand("debug", "Collect diagnostics.", _own("debug"), asks=True),
    DeferredCommand("demo", "Fill a cluster to look at it.", _own("demo.command"), asks=True),
    DeferredCommand("dev", "Run a whole cluster on this machine.", _own("dev.command")),
    DeferredCommand("doctor", "Find problems and suggest fixes.", _own("doctor"), asks=True),
    DeferredCommand(
        "explain",
        "Explain the state of a key or the fate of a request.",
        _own("explain"),
        asks=True,
    ),
    DeferredCommand("group", "Give a group more or fewer shards.", _own("group"), asks=True),
    DeferredCommand("kv", "Read and write pairs.", _own("kv"), asks=True),
    DeferredCommand("member", "Add and remove nodes; move leaders.", _own("member"), asks=True),
    DeferredCommand("metrics", "Print alerts and a dashboard.", _own("metrics")),
    DeferredCommand("node", "Drain nodes.", _own("node"), asks=True),
    DeferredCommand("plan", "Estimate the machines a workload needs.", _own("plan")),
    DeferredCommand("plugin", "List, check and write plugins.", _own("plugin_commands")),
    DeferredCommand("protos", "Export the gRPC services.", _own("exporting")),
    DeferredCommand("restore", "Start a cluster from a backup.", _own("restoring"), asks=True),
    DeferredCommand("serve", "Run a node.", _own("serve")),
    DeferredCommand("shard", "Show, split and move shards.", _own("shard"), asks=True),
    DeferredCommand("status", "Show nodes, shards and alarms.", _own("status"), asks=True),
    DeferredCommand("top", "Show the activity of the cluster live.", _own("top"), asks=True),
    DeferredCommand("upgrade", "Check and finish upgrades.", _own("upgrade"), asks=True),
    DeferredCommand("watch", "Follow the rows of a family.", _own("watch"), asks=True),
)

#: Former command lines of the host, each with the present one, for one release.
FORMER: Final = {
    "cert client": "cert create --client",
    "cert node": "cert create",
    "config schema": "config get --schema",
    "config show": "config get",
    "metrics alerts": "metrics export alerts",
    "metrics dashboard": "metrics export dashboard",
    "shard debug": "shard get",
    "shard of": "shard find",
}


class RootGroup(click.Group):
    """The host's commands and those of every sound plugin; none is imported before it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the host's commands and of the plugins'."""
        self._warn_of_broken(ctx)
        return sorted([*self.commands, *terminal_of(ctx).known.commands])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, or a deferred command that loads it when it is called."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        known = terminal_of(ctx).known.commands
        named = in_any_number(cmd_name, {*self.commands, *known})
        if named in self.commands:
            return self.commands[named]
        found = known.get(named)
        if found is None:
            return None
        load = partial(_load_from_plugin, found.plugin, named)
        return DeferredCommand(named, found.help, load, asks=True)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called, by its former words as well, and load it."""
        args = self._today(ctx, args)
        if args[0] not in self.commands and not ctx.resilient_parsing:
            self._refuse_broken(ctx, args[0])
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(_meant(args[0], self.list_commands(ctx)), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, DeferredCommand):
            command = adopt(command.load(), asks=command.asks)
        return name, command, rest

    def _today(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the words of a command line, the present ones in the place of former ones."""
        # Those of plugins take longer to find.
        former = FORMER if args[0] in self.commands else terminal_of(ctx).known.former
        longest = max((words.count(" ") + 1 for words in former), default=0)
        for count in range(min(len(args), longest), 0, -1):
            words = " ".join(args[:count])
            if words in former and isinstance(
                command_at(self, ctx, args[: count + 1]), click.Group | None
            ):
                if not ctx.resilient_parsing:
                    terminal_of(ctx).warn(f"`quorate {words}` is `quorate {former[words]}` now")
                return [*former[words].split(), *args[count:]]
        return args

    def _refuse_broken(self, ctx: click.Context, name: str) -> None:
        """Fail when a broken plugin would have had the command that is called."""
        terminal = terminal_of(ctx)
        if terminal.known.broken and name not in terminal.known.commands:
            owners = {
                plugin.plugin.name
                for plugin in terminal.plugins.declared
                if name.replace("-", "_") == plugin.plugin.name
                or name in (command.name for command in plugin.cli_commands)
            }
            broken = [each for each in terminal.plugins.problems if each.plugin in owners]
            if broken:
                raise of_plugins(broken)
        self._warn_of_broken(ctx)

    def _warn_of_broken(self, ctx: click.Context) -> None:
        if not ctx.resilient_parsing:
            terminal_of(ctx).warn_of_broken()


def _meant(name: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return f"No such command {name[:_SHOWN]!r}" + (f"; did you mean {near[0]}" if near else "")


def _load_from_plugin(plugin: str, name: str) -> click.Command:
    from quorate.cli import installed

    owner, load = installed.command_of(plugin, name)
    try:
        command: object = load()
    except Exception as error:
        raise failure(
            f"{owner}: loading its command raised {type(error).__name__}: {error}",
            "repair or uninstall the plugin",
            ExitCode.PLUGIN,
        ) from error
    if not isinstance(command, click.Command):
        raise failure(
            f"{owner}: its command is a {type(command).__name__}, which is not a click command",
            "return a click command or group from CliCommand.load",
            ExitCode.PLUGIN,
        )
    return command


@click.group(cls=RootGroup, commands={str(each.name): each for each in HOST_COMMANDS})
@click.version_option(package_name="quorate", prog_name="quorate", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    envvar="QUORATE_CONFIG",
    metavar="FILE",
    help=f"The configuration file; the default is {DEFAULT_CONFIG} in the working directory, if "
    "there is one. Environment: QUORATE_CONFIG.",
)
@click.option(
    "--tls-ca", metavar="FILE", help="Encrypt connections; the CA of the nodes' certificates."
)
@click.option("--tls-cert", metavar="FILE", help="The certificate of the caller.")
@click.option("--tls-key", metavar="FILE", help="The key of that certificate.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the bearer token to authenticate with. "
    "Environment: QUORATE_TOKEN_FILE, QUORATE_TOKEN.",
)
@click.pass_context
def root(
    ctx: click.Context,
    debug: bool,
    config_file: Path | None,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    token_file: Path | None,
) -> None:
    """Run and ask Quorate, a metadata service for message brokers."""
    terminal = terminal_of(ctx)
    terminal.tls_files = (tls_ca, tls_cert, tls_key)
    terminal.token_file = token_file
    terminal.debug = debug
    terminal.config_file = config_file
    if ctx.invoked_subcommand not in _SHARED:
        ctx.call_on_close(partial(os.umask, os.umask(_PRIVATE)))


@root.result_callback()
def _end(_: object, **_options: object) -> None:
    """Discard the return value of a command, which is not an exit code."""


adopt(root, asks=True)


def main(args: Sequence[str] | None = None, terminal: Terminal | None = None) -> int:
    """Run one command and return its exit code; every failure ends here as a message.

    A test gives a terminal of its own.
    """
    # The log lines of gRPC's library about closed connections are not for users.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    given = list(sys.argv[1:] if args is None else args)
    terminal = Terminal() if terminal is None else terminal
    try:
        exit_code = root.main(
            given or ["--help"], prog_name="quorate", standalone_mode=False, obj=terminal
        )
    except Exception as error:  # noqa: BLE001 - a user gets a message, whatever was raised
        terminal.json = terminal.json or _asks_for_json(given)
        failed = _as_failure(error)
        terminal.fail(failed)
        return failed.exit_code
    return int(exit_code or ExitCode.OK)


def _as_failure(error: Exception) -> Failure:
    while isinstance(error, ExceptionGroup):
        # Of tasks side by side the first that failed has ended the others.
        error = error.exceptions[0]
    if isinstance(error, Failure):
        return error
    failed = _failure_of(error)
    failed.__cause__ = error
    return failed


def _failure_of(error: Exception) -> Failure:
    if isinstance(error, click.Abort):
        return failure("interrupted", "run it again if that was a mistake", ExitCode.INTERRUPTED)
    if isinstance(error, click.UsageError):
        path = "quorate" if error.ctx is None else error.ctx.command_path
        what = error.format_message().rstrip(".")
        return usage(what, f"see `{path} --help`")
    if isinstance(error, click.ClickException):
        return failure(error.format_message())
    if "quorate.client.errors" in sys.modules:
        from quorate.client.errors import QuorateError

        if isinstance(error, QuorateError):
            return of_client(error)
    if isinstance(error, UnicodeEncodeError):
        what = f"{error.object[:_SHOWN]!r} is not valid UTF-8"
        return usage(what, "encode it in UTF-8")
    if isinstance(error, OSError) and isinstance(error.filename, str):
        what = f"{error.filename[-_SHOWN:]}: {error.strerror}"
        return failure(what, "fix that, or name another path")
    return failure(
        f"{type(error).__name__}: {error}",
        "this is a bug; run it again with --debug and report the output",
    )


def _asks_for_json(args: Sequence[str]) -> bool:
    """Return whether JSON was asked for on a command line that could not be read to its end."""
    forms, flags = ("json", "ndjson", "yaml"), ("-o", "--output")
    given: set[str | tuple[str, str]] = {(flag, form) for flag in flags for form in forms}
    given |= {f"{flag}{form}" for flag in ("-o", "--output=") for form in forms}
    return not given.isdisjoint((*args, *pairwise(args)))

"""`quorate serve`: a node, or its workers."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import click

from quorate.cli.deferred import terminal_of
from quorate.cli.failures import (
    ExitCode,
    Failure,
    failure,
    not_installed,
    of_configuration,
    of_plugins,
    problem,
)
from quorate.cli.options import option
from quorate.cli.parent import end_with_parent
from quorate.cli.terminal import Terminal
from quorate.observe import logs
from quorate.observe.logs import Form, Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quorate.config import Settings
    from quorate.config.workers import Worker
    from quorate.plugin.catalog import Catalog

_log = logging.getLogger(__name__)

#: gRPC has no setting for the oldest TLS: without a suite of 1.2 that certificates can be used with
#: it takes 1.3 alone. It reads the variable when it is imported.
_SUITES: Final = ("GRPC_SSL_CIPHER_SUITES", "ECDHE-PSK-CHACHA20-POLY1305")

#: Exit codes with which a worker ends for good, and why it does.
_FOR_GOOD: Final[Mapping[int, str]] = {
    ExitCode.REMOVED: "was removed from the cluster",
    ExitCode.OUTDATED: "runs a release that is too old for the cluster",
}


def _choose_config(ctx: click.Context, _: click.Parameter, file: Path | None) -> None:
    if file is not None:
        terminal_of(ctx).config_file = file


config_option = option(
    "--config config_file",
    "The configuration file of the node, as `quorate --config` takes it.",
    click.Path(path_type=Path),
    metavar="FILE",
    callback=_choose_config,
    expose_value=False,
)


@click.command("serve")
@config_option
@option("--log-format", "Format of a log line.", click.Choice(get_args(Form)), "text")
@option("--log-level", "Lowest level to log.", click.Choice(get_args(Level)), "info")
@click.option("--worker", "number", type=int, hidden=True)
@click.pass_obj
def command(terminal: Terminal, log_format: Form, log_level: Level, number: int | None) -> None:
    """Run a node until SIGTERM or Ctrl-C; with [node] workers, one process per worker.

    It logs each step to standard error, the last one when it is ready.
    """
    os.environ.setdefault(*_SUITES)
    settings = terminal.settings()
    workers = workers_in(terminal, settings)
    if number is not None:
        if not 1 <= number <= len(workers):
            raise click.UsageError(f"there is no worker {number} of {len(workers)}")
        end_with_parent("quorate serve")
        worker = workers[number - 1]
        _serve(terminal, worker.settings, log_format, log_level, worker.client_port)
        return
    if settings.timing.caution is not None:
        terminal.warn(settings.timing.caution)
    if workers:
        _supervise(terminal, settings, workers, log_format, log_level)
    else:
        _serve(terminal, settings, log_format, log_level)


def workers_in(terminal: Terminal, settings: Settings) -> Sequence[Worker]:
    """Return the workers of a machine; none: its node is one process."""
    from quorate.config import ConfigError
    from quorate.config.workers import workers_of

    try:
        return workers_of(settings, terminal.chosen_config())
    except ConfigError as error:
        raise of_configuration(error) from error


def _serve(
    terminal: Terminal,
    settings: Settings,
    log_format: Form,
    log_level: Level,
    client_port: int | None = None,
) -> None:
    catalog = catalog_of(terminal, frozenset(settings.plugins.enabled))
    try:
        from quorate.node.process import NodeEndedError, NodeRemovedError, NodeTooOldError, run
    except ModuleNotFoundError as error:
        raise not_installed(error, "a node") from error
    demand_startable(settings, catalog, again=True)
    logs.configure(log_format, log_level, settings.node.name, secrets=settings.secrets())
    from quorate.config.exposed import exposed

    for setting, path in exposed(settings, terminal.chosen_config()):
        _log.warning("every user of this machine can read %s (%s): chmod o-rwx", path, setting)
    from quorate.cli.console.html import ROOT
    from quorate.cli.console.site import ConsoleSite

    try:
        with closing(ConsoleSite.of(catalog, settings)) as console:
            run(settings, catalog, {ROOT: console}, client_port)
    except NodeRemovedError as error:
        raise failure(str(error), exit_code=ExitCode.REMOVED) from error
    except NodeTooOldError as error:
        raise failure(str(error), exit_code=ExitCode.OUTDATED) from error
    except NodeEndedError as error:
        raise failure(str(error)) from error


def _supervise(
    terminal: Terminal,
    settings: Settings,
    workers: Sequence[Worker],
    log_format: Form,
    log_level: Level,
) -> None:
    """Run the workers of a machine, each in a process of its own."""
    catalog = catalog_of(terminal, frozenset(settings.plugins.enabled))
    try:
        from quorate.node.supervisor import REFUSED, Supervisor, WorkersEndedError
    except ModuleNotFoundError as error:
        raise not_installed(error, "a node") from error
    # The errors that every worker would report.
    demand_startable(workers[0].settings, catalog, again=True)
    file = terminal.chosen_config()
    named = () if file is None else ("--config", str(file))
    logging = ("--log-format", log_format, "--log-level", log_level)

    def command_of(number: int) -> Sequence[str]:
        worker = ("--worker", str(number))
        return [sys.executable, "-m", "quorate.cli", "serve", *named, *logging, *worker]

    async def supervised() -> None:
        await Supervisor(settings, workers, command_of, _FOR_GOOD).run()

    logs.configure(log_format, log_level, settings.node.name, secrets=settings.secrets())
    try:
        asyncio.run(supervised())
    except WorkersEndedError as error:
        exit_code = ExitCode.FAILED if error.code is None else ExitCode(error.code)
        raise failure(str(error), exit_code=exit_code) from error
    except REFUSED as error:
        raise failure(str(error)) from error


def demand_startable(settings: Settings, catalog: Catalog, *, again: bool = False) -> None:
    """Fail with everything in a configuration that a start of the node would refuse.

    With `again` the exit code lets a supervisor try again what may pass: files can come late.
    """
    from quorate.node.preflight import may_pass, refusals

    found = list(refusals(settings, catalog))
    if found:
        passes = again and any(map(may_pass, found))
        exit_code = ExitCode.FAILED if passes else ExitCode.CONFIGURATION
        raise Failure(exit_code, [problem(str(error)) for error in found])


def catalog_of(terminal: Terminal, enabled: frozenset[str]) -> Catalog:
    """Return the catalog of the enabled plugins, or fail with all of their problems."""
    from quorate.plugin.catalog import build
    from quorate.plugin.problems import PluginErrors, PluginProblem

    plugins = [
        each.plugin
        for each in terminal.plugins.declared
        if each.plugin.built_in or each.plugin.name in enabled
    ]
    try:
        return build(plugins)
    except PluginErrors as error:
        raise of_plugins(
            [each for each in error.exceptions if isinstance(each, PluginProblem)]
        ) from error

"""`quorate serve`: one node in this process."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from quorate.cli.deferred import terminal_of
from quorate.cli.failures import ExitCode, Failure, Problem, failure, of_plugins
from quorate.cli.terminal import Terminal
from quorate.observe import logs
from quorate.observe.logs import Form, Level

if TYPE_CHECKING:
    from quorate.plugin.catalog import Catalog


@click.command("serve")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The configuration file, as `quorate --config` takes it.",
)
@click.option(
    "--log-format",
    "log_format",
    type=click.Choice(get_args(Form)),
    default="text",
    show_default=True,
    help="Format of a log line.",
)
@click.option(
    "--log-level",
    "log_level",
    type=click.Choice(get_args(Level)),
    default="info",
    show_default=True,
    help="Lowest level to log.",
)
@click.pass_context
def command(
    ctx: click.Context, config_file: Path | None, log_format: Form, log_level: Level
) -> None:
    """Run a node until SIGTERM or Ctrl-C.

    It logs each step to standard error, the last one when it is ready.
    """
    terminal = terminal_of(ctx)
    if config_file is not None:
        terminal.config_file = config_file
    settings = terminal.settings()
    if settings.timing.caution is not None:
        terminal.warn(settings.timing.caution)
    catalog = _catalog(terminal, frozenset(settings.plugins.enabled))
    try:
        from quorate.node.process import NodeEndedError, NodeRemovedError, run
    except ModuleNotFoundError as error:
        raise failure(
            f"a node needs {error.name}, which is not installed", "pip install 'quorate[server]'"
        ) from error
    logs.configure(log_format, log_level, settings.node.name)
    try:
        run(settings, catalog)
    except NodeEndedError as error:
        sentence = str(error)
        problem = Problem(sentence, {"what": sentence, "fix": ""})
        removed = isinstance(error, NodeRemovedError)
        raise Failure(ExitCode.REMOVED if removed else ExitCode.FAILED, [problem]) from error


def _catalog(terminal: Terminal, enabled: frozenset[str]) -> "Catalog":
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

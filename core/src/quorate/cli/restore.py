"""`quorate restore`: a backup becomes the data of a node that does not run."""

from pathlib import Path

import click

from quorate.cli.deferred import terminal_of
from quorate.cli.failures import ExitCode, Failure, Problem, failure


@click.command("restore")
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The configuration file of the node, as `quorate --config` takes it.",
)
@click.pass_context
def command(ctx: click.Context, directory: Path, config_file: Path | None) -> None:
    """Fill the empty node.dir of a node with the backup in DIR; no node may run there.

    The node is then a cluster of its own, which begins with `quorate serve`; other nodes are added
    to it.
    """
    terminal = terminal_of(ctx)
    if config_file is not None:
        terminal.config_file = config_file
    settings = terminal.settings()
    try:
        from quorate.groups.snapshots.parts import BackupError
        from quorate.node.restore import restore
    except ModuleNotFoundError as error:
        raise failure(
            f"a restore needs {error.name}, which is not installed", "pip install 'quorate[server]'"
        ) from error
    try:
        restored = restore(directory, settings)
    except BackupError as error:
        sentence = str(error)
        problem = Problem(sentence, {"what": sentence, "fix": ""})
        raise Failure(ExitCode.FAILED, [problem]) from error
    shards = sorted(str(shard) for shard in restored.shards)
    terminal.report(
        f"{settings.node.name} has {', '.join(shards)} in {settings.node.dir}; start it with "
        "`quorate serve`",
        {"node": settings.node.name, "dir": str(settings.node.dir), "shards": shards},
    )

"""`quorate protos`: the services of core and plugins for brokers in other languages."""

from pathlib import Path

import click

from quorate.cli.deferred import terminal_of
from quorate.cli.failures import ExitCode, Failure, problem


@click.group("protos")
def command() -> None:
    """Hand out the .proto files of the services."""


@command.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite files that differ.")
@click.pass_context
def export(ctx: click.Context, folder: Path, force: bool) -> None:
    """Copy the .proto files of core and of every sound plugin into DIR, with all they import.

    DIR is then an import path for the protobuf compiler of any language. What compilers bring
    themselves, google/protobuf/*.proto, is left out.
    """
    from quorate.cli.exporting import sources_of

    terminal = terminal_of(ctx)
    terminal.warn_of_broken()
    plugins = terminal.plugins
    sources = sources_of(
        [each for each in plugins.declared if each.plugin.name not in plugins.broken]
    )
    stale = {
        name: content
        for name, content in sources.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content
    }
    differing = [folder / name for name in stale if (folder / name).exists()]
    if differing and not force:
        raise Failure(
            ExitCode.FAILED,
            [
                problem(f"{path} is there and differs", "give --force to overwrite it")
                for path in differing
            ],
        )
    for name, content in stale.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    terminal.print(
        {"file": name, "state": "written" if name in stale else "up to date"} for name in sources
    )

"""`quorate dev`: a cluster on this machine, and what is done to its nodes meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from quorate.cli.dev.control import Request, ask
from quorate.cli.dev.development import Development
from quorate.cli.dev.nodes import (
    DEFAULT_DIRECTORY,
    DEFAULT_NODES,
    DEFAULT_PORT,
    MOST_NODES,
    claimed,
    demand_free_ports,
    prepare,
)
from quorate.cli.options import DIRECTORY, flag, option
from quorate.cli.terminal import Terminal


@click.group("dev", invoke_without_command=True)
@option(
    "--nodes",
    f"Number of nodes; default: those in the directory, else {DEFAULT_NODES}.",
    click.IntRange(1, MOST_NODES),
)
@option(
    "--dir directory",
    "Directory for the nodes' files, logs and data.",
    DIRECTORY,
    DEFAULT_DIRECTORY,
)
@option(
    "--port",
    f"gRPC port of the first node; default: that in the directory, else {DEFAULT_PORT}. The "
    "next node has the next port, and HTTP is 100 above.",
    click.IntRange(1, 65_535),
)
@flag("--tls", "Encrypt with generated certificates.")
@click.pass_context
def command(
    ctx: click.Context, nodes: int | None, directory: Path, port: int | None, tls: bool
) -> None:
    """Run a whole cluster on this machine, with every sound plugin, until Ctrl-C.

    Its data stays in the directory, and the next call goes on with it. The commands below kill,
    stop and start its nodes from another terminal.
    """
    if ctx.invoked_subcommand is not None:
        return
    terminal: Terminal = ctx.obj
    terminal.warn_of_broken()
    plugins = terminal.plugins
    enabled = [each.plugin.name for each in plugins.sound if not each.plugin.built_in]
    with claimed(directory):
        cluster = prepare(
            directory,
            nodes=nodes,
            port=port,
            enabled=enabled,
            models=plugins.section_models(),
            tls=tls,
        )
        demand_free_ports(cluster)
        counted = "1 node" if len(cluster) == 1 else f"{len(cluster)} nodes"
        terminal.report(
            f"{counted} in {directory.absolute()}, with the plugins "
            f"{', '.join(enabled) or 'of the core alone'}",
            {"event": "starting", "dir": str(directory.absolute()), "plugins": enabled},
        )
        asyncio.run(Development(directory, cluster, terminal).run())


def _about_a_node(verb: str, help: str) -> click.Command:
    @click.command(verb, help=help)
    @click.argument("node")
    @option(
        "--dir directory", "Directory of the cluster; default: that of `quorate dev`.", DIRECTORY
    )
    @click.pass_context
    def done(ctx: click.Context, node: str, directory: Path | None) -> None:
        assert ctx.parent is not None
        terminal: Terminal = ctx.obj
        said = ask(directory or ctx.parent.params["directory"], Request(verb, node))
        terminal.report(said, {"done": verb, "node": node, "what": said})

    return done


command.add_command(_about_a_node("kill", "End the process of a node at once, as a crash does."))
command.add_command(_about_a_node("stop", "End the process of a node in order."))
command.add_command(_about_a_node("start", "Start a node that has ended, and wait for it."))

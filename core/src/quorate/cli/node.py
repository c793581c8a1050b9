"""`quorate node`: the nodes as places for replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from quorate.cli.completing import from_cluster, nodes
from quorate.cli.encoding import fields_of
from quorate.cli.reshaping import follow, no_wait, placement, shown_move
from quorate.cli.terminal import ADMIN, Terminal
from quorate.plugin.console import dry_run_option
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient


@click.group("node")
def command() -> None:
    """List nodes with their replicas; drain nodes."""


@command.command("list")
@click.pass_obj
def list_nodes(terminal: Terminal) -> None:
    """List the nodes with their machines, zones, replicas and leaders.

    Only replicas of groups with a number of replicas are counted.
    """
    found = terminal.ask(placement)
    terminal.print(
        {
            **fields_of(node, "node machine zone replicas leads"),
            "zone": node.zone or None,
            "state": _state(node),
        }
        for node in found.nodes
    )


@command.command("drain")
@click.argument("name", shell_complete=from_cluster(nodes))
@dry_run_option
@no_wait
@click.pass_obj
def drain(terminal: Terminal, name: str, plan: bool, no_wait: bool) -> None:
    """Move the replicas of the node NAME to other nodes, and keep it free of them.

    The command waits until the node is drained; if it is interrupted, the drain continues.
    Metadata/0 and the shards of groups without a number of replicas stay: `quorate member remove`
    removes the node from those.
    """

    def left(found: pb.PlacementResponse) -> int:
        return sum(each.replicas for each in found.nodes if each.node == name)

    async def drained(client: AsyncClient) -> None:
        request = pb.DrainNodeRequest(node=name, check_only=plan)
        answer = await client.call(f"{ADMIN}/DrainNode", request, pb.DrainNodeResponse)
        count = answer.replicas
        moves = [shown_move(each) for each in answer.moves]
        if plan:
            terminal.print(moves)
            return
        if not no_wait:
            await follow(client, terminal, left, f"replicas on {name}")
        state = "is being drained" if no_wait else "is drained"
        text = f"{name} {state} of {count} replica{'' if count == 1 else 's'}"
        terminal.report(text, {"node": name, "drained": not no_wait, "replicas": count})

    terminal.ask(drained)


@command.command("undrain")
@click.argument("name", shell_complete=from_cluster(nodes))
@click.pass_obj
def undrain(terminal: Terminal, name: str) -> None:
    """Accept replicas on the node NAME again."""
    request = pb.DrainNodeRequest(node=name, undo=True)
    terminal.admin("DrainNode", request, pb.DrainNodeResponse)
    terminal.report(f"{name} accepts replicas again", {"node": name, "drained": False})


def _state(node: pb.PlacedNode) -> str:
    if not node.answers:
        return "does not answer"
    if node.drains:
        return "drains" if node.replicas else "drained"
    return "takes replicas"

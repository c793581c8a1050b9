"""`quorate controller`: what runs in the background, and whether it may."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click
from google.protobuf.message import Message

from quorate.cli.asking import ADMIN, ask
from quorate.cli.deferred import terminal_of
from quorate.cli.exit_codes import ExitCode
from quorate.cli.failures import Failure, problem
from quorate.cli.statuses import Statuses
from quorate.client.errors import UnavailableError
from quorate.v1.admin_pb2 import (
    NodeStatusResponse,
    PauseControllerRequest,
    PauseControllerResponse,
    ResumeControllerRequest,
    ResumeControllerResponse,
)

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_PATIENCE_S: Final = 5.0


@click.group("controller")
def command() -> None:
    """List controllers; keep them from running, and let them run again."""


@command.command("list")
@click.pass_context
def list_controllers(ctx: click.Context) -> None:
    """List the controllers that run on leaders, and those that are paused, node by node."""
    terminal_of(ctx).print(ask(ctx, _rows))


@command.command("pause")
@click.argument("name")
@click.pass_context
def pause(ctx: click.Context, name: str) -> None:
    """Keep the controller NAME from running, on every node until it is started anew."""
    request = PauseControllerRequest(name=name)
    _on_every_node(ctx, "PauseController", request, PauseControllerResponse)
    terminal_of(ctx).report(f"{name} is paused", {"controller": name, "paused": True})


@command.command("resume")
@click.argument("name")
@click.pass_context
def resume(ctx: click.Context, name: str) -> None:
    """Let the controller NAME run again, on every node."""
    request = ResumeControllerRequest(name=name)
    _on_every_node(ctx, "ResumeController", request, ResumeControllerResponse)
    terminal_of(ctx).report(f"{name} may run", {"controller": name, "paused": False})


async def _rows(client: AsyncClient) -> list[Mapping[str, object]]:
    topology = await client.topology()
    async with Statuses() as statuses:
        found = await statuses.of({node.node: node.address for node in topology.nodes})
    rows: list[Mapping[str, object]] = []
    for node, status in found.items():
        if not isinstance(status, NodeStatusResponse):
            rows.append({"node": node, "state": f"does not answer: {status.reason}"})
            continue
        rows += [
            {
                "node": node,
                "controller": each.name,
                "shard": each.shard,
                "state": each.state,
                "runs": each.runs,
                "failures": each.failures,
                "error": each.error,
            }
            for each in status.controllers
        ]
        running = {each.name for each in status.controllers}
        rows += [
            {"node": node, "controller": name, "state": "paused"}
            for name in status.paused
            if name not in running
        ]
    return rows


def _on_every_node(
    ctx: click.Context, method: str, request: Message, response: type[Message]
) -> None:
    """Ask every node; fail with those that cannot be reached, after all others were asked."""
    missed = ask(ctx, lambda client: _missed(client, method, request, response))
    if missed:
        raise Failure(
            ExitCode.UNAVAILABLE,
            [
                problem(f"{node} was not reached: {error}", "run this again when that node is up")
                for node, error in missed.items()
            ],
        )


async def _missed(
    client: AsyncClient, method: str, request: Message, response: type[Message]
) -> Mapping[str, UnavailableError]:
    """Ask every node, and return why it could not be asked for each where that is so."""
    missed: dict[str, UnavailableError] = {}

    async def send(node: str) -> None:
        try:
            await client.at(node).call(
                f"{ADMIN}/{method}", request, response, timeout_s=_PATIENCE_S
            )
        except UnavailableError as error:
            missed[node] = error

    topology = await client.topology()
    await asyncio.gather(*(send(each.node) for each in topology.nodes))
    return missed

"""`quorate controller`: lists, pauses and resumes background work."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click
from google.protobuf.message import Message

from quorate.cli.failures import ExitCode, Failure, Problem, problem
from quorate.cli.statuses import Silent, controller_rows, look, paused_rows
from quorate.cli.terminal import ADMIN, Terminal
from quorate.client.errors import UnavailableError
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_PATIENCE_S: Final = 5.0


@click.group("controller")
def command() -> None:
    """List, pause and resume controllers."""


@command.command("list")
@click.pass_obj
def list_controllers(terminal: Terminal) -> None:
    """List the controllers that run on leaders, and the paused ones, node by node."""
    terminal.print(terminal.ask(_rows))


@command.command("pause")
@click.argument("name")
@click.pass_obj
def pause(terminal: Terminal, name: str) -> None:
    """Pause the controller NAME on every node; a restarted node runs it again."""
    request = pb.PauseControllerRequest(name=name)
    _on_every_node(terminal, "PauseController", request, pb.PauseControllerResponse)
    terminal.report(f"{name} is paused", {"controller": name, "paused": True})


@command.command("resume")
@click.argument("name")
@click.pass_obj
def resume(terminal: Terminal, name: str) -> None:
    """Resume the controller NAME on every node."""
    request = pb.ResumeControllerRequest(name=name)
    _on_every_node(terminal, "ResumeController", request, pb.ResumeControllerResponse)
    terminal.report(f"{name} is resumed", {"controller": name, "paused": False})


async def _rows(client: AsyncClient) -> list[Mapping[str, object]]:
    _, statuses = await look(client)
    rows: list[Mapping[str, object]] = []
    for node, status in statuses.items():
        if isinstance(status, Silent):
            rows.append({"node": node, "state": str(status)})
            continue
        rows += controller_rows({node: status})
        rows += paused_rows({node: status})
    return rows


def _on_every_node(
    terminal: Terminal, method: str, request: Message, response: type[Message]
) -> None:
    """Call every node; after all calls, fail with the unreachable nodes."""
    missed: list[Problem] = []

    async def send(client: AsyncClient, node: str) -> None:
        try:
            await client.at(node).call(
                f"{ADMIN}/{method}", request, response, timeout_s=_PATIENCE_S
            )
        except UnavailableError as error:
            again = "run this again when that node is up"
            missed.append(problem(f"could not reach {node}: {error}", again))

    async def send_all(client: AsyncClient) -> None:
        topology = await client.topology()
        await asyncio.gather(*(send(client, each.node) for each in topology.nodes))

    terminal.ask(send_all)
    if missed:
        raise Failure(ExitCode.UNAVAILABLE, missed)

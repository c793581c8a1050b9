"""`quorate audit`: who does what, as the nodes record it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import click

from quorate.cli.terminal import Terminal
from quorate.v1 import audit_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_FOLLOW: Final = "/quorate.v1.AuditService/Follow"


@click.command("audit")
@click.option("--domain", "domains", multiple=True, help="A plugin, or admin; default: all.")
@click.option("--node", "nodes", multiple=True, help="A node; default: all that are members.")
@click.pass_obj
def command(terminal: Terminal, domains: tuple[str, ...], nodes: tuple[str, ...]) -> None:
    """Show what clients and operators do, one record per line, until Ctrl-C.

    Each node shows the calls that come to it from now on; what was before is in its audit.file.
    """

    async def follow(client: AsyncClient) -> None:
        named = nodes or [each.node for each in (await client.topology()).nodes]
        async with asyncio.TaskGroup() as following:
            for node in named:
                following.create_task(_follow(terminal, client, node, domains))

    terminal.follow(follow)


async def _follow(
    terminal: Terminal, client: AsyncClient, node: str, domains: tuple[str, ...]
) -> None:
    request = pb.FollowAudit(domains=domains)
    async for part in client.at(node).stream(_FOLLOW, request, pb.AuditRecords, timeout_s=None):
        for record in map(json.loads, part.records):
            terminal.report(_sentence(record), record)


def _sentence(record: dict[str, Any]) -> str:
    keys = record.get("keys") or [record.get("request", {})]
    shown = json.dumps(keys[0] if len(keys) == 1 else keys, ensure_ascii=True)
    ended = record.get("reason") or record["outcome"]
    if refused := record.get("refused"):
        ended += f", {len(refused)} of {len(keys)} refused"
    who = record["identity"] or "somebody"
    done = f"{who} at {record['address']}: {record['action']} {shown}: {ended}"
    done = f"{who} at {record['address']}: {record['action']} {shown}: {ended}"
    return f"{record['time']} {record['node']}: {done}"

"""`quorate audit`: the calls of clients and operators, as the nodes record them."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from quorate.cli.options import flag, option
from quorate.cli.terminal import Terminal, bytes_of
from quorate.client.watching import ALIASES
from quorate.plugin import keys
from quorate.v1 import audit_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_FOLLOW: Final = "/quorate.v1.AuditService/Follow"
WRITER: Final = "/quorate.v1.AuditService/Writer"


@click.group("audit", invoke_without_command=True)
@option("--domain domains", "A plugin, or admin; default: all.", multiple=True)
@option("--node nodes", "A node; default: all members.", multiple=True)
@click.pass_context
def command(ctx: click.Context, domains: tuple[str, ...], nodes: tuple[str, ...]) -> None:
    """Show the calls of clients and operators, one record per line, until Ctrl-C.

    Each node sends the calls that it receives from now on; earlier calls are in its audit.file.
    """
    if ctx.invoked_subcommand is not None:
        return
    terminal: Terminal = ctx.obj

    async def follow(client: AsyncClient) -> None:
        named = nodes or [each.node for each in (await client.topology()).nodes]
        async with asyncio.TaskGroup() as following:
            for node in named:
                following.create_task(_follow(terminal, client, node, domains))

    terminal.follow(follow)


@command.command("writer")
@click.argument("family")
@click.argument("key")
@flag("--hex in_hex", "Read the key as hex digits.")
@click.pass_obj
def writer(terminal: Terminal, family: str, key: str, in_hex: bool) -> None:
    """Show the last writer of the row of FAMILY with KEY, where audit.writers is on.

    The key is given as `quorate watch` shows it: text, or a JSON array of its parts.
    """
    request = pb.FindWriter(family=family_of(family), key=key_of(key, in_hex))
    found = terminal.ask(lambda client: client.call(WRITER, request, pb.RowWriter, read=True))
    at = datetime.fromtimestamp(found.written_at_ms / 1_000, UTC)
    terminal.print(
        [
            {
                "known": found.known,
                "identity": found.identity,
                "written at": at.isoformat(timespec="milliseconds") if found.known else "",
                "shard": found.shard,
                "revision": found.revision,
            }
        ]
    )


def family_of(name: str) -> str:
    """Return the family of a name, which may be an alias such as `kv`."""
    return ALIASES[name].family if name in ALIASES else name


def key_of(text: str, in_hex: bool) -> bytes:
    """Return a key that is given as `quorate watch` shows it, or in hex digits."""
    if not in_hex and text.startswith("["):
        with suppress(ValueError):
            return keys.pack(*json.loads(text))
    return bytes_of(text, "KEY", in_hex)


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
    return f"{record['time']} {record['node']}: {done}"

"""`quorate shard`: the shards of a cluster, and one of them in every detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
from google.protobuf.message import Message

from quorate.cli.asking import ask
from quorate.cli.cluster_view import name_of
from quorate.cli.deferred import terminal_of
from quorate.cli.exit_codes import ExitCode
from quorate.cli.failures import failure
from quorate.cli.statuses import Silent, Status, Statuses
from quorate.v1.admin_pb2 import ShardPlace, TopologyResponse

if TYPE_CHECKING:
    from quorate.client import AsyncClient


@click.group("shard")
def command() -> None:
    """List shards, and look into one."""


@command.command("list")
@click.pass_context
def list_shards(ctx: click.Context) -> None:
    """List the shards with their slots, nodes and leaders, as one node knows them."""
    topology = ask(ctx, lambda client: client.topology())
    terminal_of(ctx).print(
        {
            "shard": name_of(place),
            "slots": sum(each.bit_count() for each in place.slots),
            "nodes": list(place.nodes),
            "leader": place.leader or None,
            "term": place.term,
        }
        for place in topology.shards
    )


@command.command("debug")
@click.argument("shard")
@click.pass_context
def debug(ctx: click.Context, shard: str) -> None:
    """Show what every node says of its replica of SHARD, such as metadata/0."""
    topology, statuses = ask(ctx, _asked)
    places = {name_of(place): place for place in topology.shards}
    if shard not in places:
        raise failure(
            ExitCode.FAILED,
            f"there is no shard {shard}",
            f"name one of {', '.join(places) or 'none yet'}",
        )
    rows = _rows(places[shard], statuses)
    terminal = terminal_of(ctx)
    if terminal.json:
        terminal.print(rows)
    else:
        terminal.print(_turned(rows))


async def _asked(client: AsyncClient) -> tuple[TopologyResponse, Mapping[str, Status]]:
    topology = await client.topology()
    async with Statuses() as statuses:
        return topology, await statuses.of({each.node: each.address for each in topology.nodes})


def _rows(place: ShardPlace, statuses: Mapping[str, Status]) -> list[Mapping[str, object]]:
    """Return a row for each replica that the shard should have."""
    rows: list[Mapping[str, object]] = []
    for node in place.nodes:
        status = statuses.get(node, Silent("its address is not known"))
        if isinstance(status, Silent):
            rows.append({"node": node, "problem": f"does not answer: {status.reason}"})
            continue
        reports = [each for each in status.shards if each.shard == name_of(place)]
        broken = [each.error for each in status.broken if each.shard == name_of(place)]
        if reports:
            rows.append({"node": node, **_shown(reports[0])})
        else:
            rows.append({"node": node, "problem": next(iter(broken), "has no replica yet")})
    return rows


def _shown(message: Message) -> Mapping[str, object]:
    """Return every field of a message but the shard's name, which is the same for all."""
    return {
        field.name: _value(getattr(message, field.name))
        for field in message.DESCRIPTOR.fields
        if field.name != "shard"
    }


def _value(value: object) -> object:
    if isinstance(value, str | int):
        return value
    return [_shown(each) for each in value] if isinstance(value, Sequence) else str(value)


def _turned(rows: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return a row for each field with a column for each node, which fits a terminal better."""
    fields = dict.fromkeys(field for row in rows for field in row if field != "node")
    return [
        {"field": field, **{str(row["node"]): row.get(field) for row in rows}} for field in fields
    ]

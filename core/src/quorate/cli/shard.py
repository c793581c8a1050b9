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
from quorate.cli.recovering import recover
from quorate.cli.replicas import replicas_of
from quorate.cli.statuses import Silent, Status, Statuses
from quorate.v1.admin_pb2 import ShardPlace, TopologyResponse

if TYPE_CHECKING:
    from quorate.client import AsyncClient


@click.group("shard")
def command() -> None:
    """List shards, look into one, and bring one back that lost its majority."""


command.add_command(recover)


@command.command("list")
@click.pass_context
def list_shards(ctx: click.Context) -> None:
    """List the shards with their slots, nodes and leaders, as one node knows them.

    Every node is asked why its replicas do not go on, if they do not.
    """
    topology, statuses = ask(ctx, _asked)
    terminal_of(ctx).print(
        {
            "shard": name_of(place),
            "slots": sum(each.bit_count() for each in place.slots),
            "nodes": list(place.nodes),
            "leader": place.leader or None,
            "term": place.term,
            "problems": [
                f"{replica.node}: {replica.problem}"
                for replica in replicas_of(place, statuses)
                if replica.problem
            ],
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


@command.command("of")
@click.argument("group")
@click.argument("parts", nargs=-1, metavar="[PART]...")
@click.option("--raw", is_flag=True, help="The one PART is the shard key itself, as UTF-8.")
@click.option("--hex", "in_hex", is_flag=True, help="The one PART is the shard key in hex digits.")
@click.pass_context
def of(ctx: click.Context, group: str, parts: tuple[str, ...], raw: bool, in_hex: bool) -> None:
    """Show which shard of GROUP holds a key.

    The PARTs are what the plugin packs into its shard key, such as a tenant and a name; none stand
    for the constant shard key of a domain whose rows are needed together.
    """
    from quorate.plugin.slots import slot_of

    shard_key = _shard_key(parts, raw=raw, in_hex=in_hex)

    async def asked(client: AsyncClient) -> tuple[str, TopologyResponse]:
        return await client.shard_of(group, shard_key), await client.topology()

    shard, topology = ask(ctx, asked)
    [place] = [each for each in topology.shards if name_of(each) == shard]
    terminal_of(ctx).print(
        [
            {
                "shard": shard,
                "slot": slot_of(shard_key),
                "leader": place.leader or None,
                "nodes": list(place.nodes),
            }
        ]
    )


def _shard_key(parts: Sequence[str], *, raw: bool, in_hex: bool) -> bytes:
    from quorate.plugin import CONSTANT_KEY, keys

    if not (raw or in_hex):
        return keys.pack(*parts) if parts else CONSTANT_KEY
    if raw == in_hex or len(parts) != 1:
        raise click.UsageError("Give --raw or --hex one PART: the whole shard key.")
    if raw:
        return parts[0].encode()
    try:
        return bytes.fromhex(parts[0])
    except ValueError:
        raise click.UsageError(f"{parts[0]!r} is not in hex digits.") from None


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

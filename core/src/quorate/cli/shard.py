"""`quorate shard`: the shards of a cluster, and one of them in every detail."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click
from google.protobuf.message import Message

from quorate.cli.completing import from_cluster, groups, nodes, shards
from quorate.cli.failures import failure, usage
from quorate.cli.options import flag, option
from quorate.cli.reshaping import (
    begin_merge,
    begin_split,
    follow,
    follow_merge,
    follow_splits,
    no_wait,
    placement,
    shown_move,
    shown_parts,
)
from quorate.cli.statuses import (
    Replica,
    Silent,
    Status,
    Statuses,
    leads,
    look,
    name_of,
    place_of,
    replicas_of,
)
from quorate.cli.terminal import ADMIN, Terminal
from quorate.plugin.console import columns_of, dry_run_option
from quorate.plugin.slots import SLOTS
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: How long it is waited for a recovered shard to be led again.
_LED_S: Final = 30.0
_LOOK_S: Final = 0.2


@click.group("shard")
def command() -> None:
    """List, move, split, merge, inspect and recover shards."""


@command.command("list")
@flag("--plan", "Only show the shards that will be split automatically.")
@click.pass_obj
def list_shards(terminal: Terminal, plan: bool) -> None:
    """List the shards with their slots, nodes and leaders, as one node knows them.

    Every node reports why its replicas are stuck, if they are.
    """
    topology, statuses = terminal.ask(look)
    if plan:
        terminal.print(
            {"shard": name_of(place), "leader": replica.node, "has": replica.report.excess}
            for place in topology.shards
            for replica in replicas_of(place, statuses)
            if replica.report is not None and replica.report.excess
        )
        return
    terminal.print(
        {
            "shard": name_of(place),
            "slots": sum(each.bit_count() for each in place.slots),
            "nodes": list(place.nodes),
            "leader": place.leader or None,
            "term": place.term,
            "splits_into": [f"{place.group}/{number}" for number in place.splits_into],
            "merges_into": f"{place.group}/{place.merges_into}" if place.merges_into else None,
            "unmerged": place.unmerged or None,
            "problems": [
                f"{replica.node}: {replica.problem}"
                for replica in replicas_of(place, statuses)
                if replica.problem
            ],
        }
        for place in topology.shards
    )


@command.command("move")
@click.argument("shard", shell_complete=from_cluster(shards))
@click.argument("source", shell_complete=from_cluster(nodes))
@click.argument("target", shell_complete=from_cluster(nodes))
@dry_run_option
@no_wait
@click.pass_obj
def move(
    terminal: Terminal, shard: str, source: str, target: str, plan: bool, no_wait: bool
) -> None:
    """Move the replica of SHARD, such as offset/0, from the node SOURCE to the node TARGET.

    The command waits for the end; if it is interrupted, the move continues. Other moves then even
    out the replicas, unless the controller core.placement is paused.
    """
    request = pb.MoveReplicaRequest(shard=shard, source=source, target=target, check_only=plan)

    def left(found: pb.PlacementResponse) -> int:
        return sum(each.shard == shard for each in found.moving)

    async def moved(client: AsyncClient) -> None:
        await client.call(f"{ADMIN}/MoveReplica", request, pb.MoveReplicaResponse)
        if not (plan or no_wait):
            await follow(client, terminal, left, f"{shard} moves")

    terminal.ask(moved)
    what = "can move" if plan else "moves" if no_wait else "has moved"
    row = {"shard": shard, "from": source, "to": target, "moved": not (plan or no_wait)}
    terminal.report(f"the replica of {shard} {what} from {source} to {target}", row)


@command.command("split")
@click.argument("shard", shell_complete=from_cluster(shards))
@option("--into", "Number of shards after the split.", click.IntRange(2, SLOTS), 2)
@dry_run_option
@flag("--cancel", "Cancel a split that has not cut the shard yet.")
@no_wait
@click.pass_obj
def split(
    terminal: Terminal, shard: str, into: int, plan: bool, cancel: bool, no_wait: bool
) -> None:
    """Split SHARD, such as mqtt/0, into several, each with a part of its slots.

    Writes wait for less than a second where slots move, and none fails. The new shards begin on the
    nodes of the old one. The command waits for the end; if it is interrupted, the work continues.
    """
    if cancel:
        request = pb.CancelSplitRequest(shard=shard)
        _cancel(terminal, "split", request, pb.CancelSplitResponse, plan=plan)
        return

    async def done(client: AsyncClient) -> pb.SplitShardResponse:
        answer = await begin_split(client, shard, into, plan=plan)
        if not (plan or no_wait):
            await follow_splits(client, terminal, shard.partition("/")[0])
        return answer

    terminal.print(list(shown_parts(terminal.ask(done))))


@command.command("merge")
@click.argument("shard", shell_complete=from_cluster(shards))
@click.argument("other", required=False, shell_complete=from_cluster(shards))
@dry_run_option
@flag("--cancel", "Cancel a merge that has not ended yet.")
@click.pass_obj
def merge(terminal: Terminal, shard: str, other: str | None, plan: bool, cancel: bool) -> None:
    """Merge SHARD and OTHER, such as mqtt/1 and mqtt/2, into a new shard on the same nodes.

    Writes to both wait for about a second, and none fails; watches of both list again. The
    smaller one must be small. The command waits for the end; if it is interrupted, the work
    continues.
    """
    if cancel:
        request = pb.CancelMergeRequest(shard=shard)
        _cancel(terminal, "merged", request, pb.CancelMergeResponse, plan=plan)
        return
    if other is None:
        raise usage("a merge takes two shards", "name the other one, too")

    async def done(client: AsyncClient) -> pb.MergeShardsResponse:
        answer = await begin_merge(client, shard, other, plan=plan)
        if not plan:
            await follow_merge(client, shard, answer.shard)
        return answer

    answer = terminal.ask(done)
    terminal.print([{"shard": answer.shard, "slots": answer.slots, "of": f"{shard} {other}"}])


def _cancel(
    terminal: Terminal,
    done: str,
    request: pb.CancelSplitRequest | pb.CancelMergeRequest,
    response: type[Message],
    *,
    plan: bool,
) -> None:
    if plan:
        raise click.UsageError("Give --cancel or --dry-run, not both.")
    terminal.admin(request.DESCRIPTOR.name.removesuffix("Request"), request, response)
    terminal.report(f"{request.shard} is unchanged", {"shard": request.shard, done: False})


@command.command("balance")
@dry_run_option
@click.pass_obj
def balance(terminal: Terminal, plan: bool) -> None:
    """Wait until every shard has enough replicas, evenly spread.

    Replicas move automatically, a few at a time. A warning names each obstacle.
    """
    found = terminal.ask(placement)
    for each in found.problems:
        terminal.warn(each)
    if plan:
        terminal.print(
            [
                *({**shown_move(each), "state": "moves"} for each in found.moving),
                *({**shown_move(each), "state": "planned"} for each in found.planned),
            ]
        )
        return
    terminal.ask(
        lambda client: follow(
            client,
            terminal,
            lambda found: len(found.moving) + len(found.planned),
            "replicas to move",
        )
    )
    terminal.report("no replica has to move", {"balanced": True})


@command.command("get")
@click.argument("shard", shell_complete=from_cluster(shards))
@click.pass_obj
def get(terminal: Terminal, shard: str) -> None:
    """Show the state of every replica of SHARD, such as metadata/0."""
    topology, statuses = terminal.ask(look)
    rows: list[dict[str, object]] = []
    for each in replicas_of(place_of(topology, shard), statuses):
        shown = columns_of(each.report) if each.report else [("problem", each.problem)]
        # The name of the shard is the same for all.
        rows.append({"node": each.node, **{name: of for name, of in shown if name != "shard"}})
    if not terminal.json:
        # A row for each field with a column for each node fits a terminal better.
        fields = dict.fromkeys(field for row in rows for field in row if field != "node")
        rows = [
            {"field": field, **{str(row["node"]): row.get(field) for row in rows}}
            for field in fields
        ]
    terminal.print(rows)


@command.command("find")
@click.argument("group", shell_complete=from_cluster(groups))
@click.argument("parts", nargs=-1, metavar="[PART]...")
@flag("--raw", "Take PART as the shard key itself, as UTF-8.")
@flag("--hex in_hex", "Take PART as the shard key in hex digits.")
@click.pass_obj
def find(terminal: Terminal, group: str, parts: tuple[str, ...], raw: bool, in_hex: bool) -> None:
    """Show which shard of GROUP holds a key.

    The PARTs are the parts of the plugin's shard key, such as a tenant and a name; without any, it
    is the constant shard key of a domain that keeps its rows together.
    """
    from quorate.plugin.slots import slot_of

    shard_key = _shard_key(parts, raw=raw, in_hex=in_hex)

    async def asked(client: AsyncClient) -> tuple[str, pb.TopologyResponse]:
        return await client.shard_of(group, shard_key), await client.topology()

    shard, topology = terminal.ask(asked)
    place = place_of(topology, shard)
    terminal.print(
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
    from quorate.plugin import keys
    from quorate.plugin.advanced import CONSTANT_KEY

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


@command.command("recover")
@click.argument("shard", shell_complete=from_cluster(shards))
@option("--from node", "Recover the shard from NODE's replica.", metavar="NODE")
@flag("--drop", "Start the shard empty: the data of every node is discarded.")
@option("--confirm", "Repeat the shard to accept the loss.", metavar="SHARD")
@dry_run_option
@click.pass_obj
def recover(
    terminal: Terminal, shard: str, node: str | None, drop: bool, confirm: str | None, plan: bool
) -> None:
    """Recover SHARD, such as mqtt/0, after the loss of its majority.

    It restarts with the data of one replica, or empty, and the replicas on its other nodes copy
    that. Every write that this replica lacks is lost. On a terminal the command shows the loss and
    asks for confirmation; elsewhere --confirm is needed. A shard that serves is refused.
    """
    if (node is None) is not drop:
        raise usage(
            "no source for the shard is given",
            "name a node with --from NODE, or discard the shard's data with --drop",
        )
    if confirm not in (None, shard):
        raise usage(f"--confirm names {confirm}, not {shard}", "name the same shard twice")
    topology, statuses = terminal.ask(look)
    replicas = replicas_of(place_of(topology, shard), statuses)
    source = _source(replicas, node)
    lost = _lost(shard, source, replicas, drop=drop)
    if plan:
        row = {"shard": shard, "from": source.node, "index": source.applied, "empty": drop}
        terminal.report(lost, {**row, "lost": lost})
        return
    terminal.warn(lost)
    if confirm is None:
        asked = sys.stdin.isatty()
        if not asked or click.prompt(f"Type {shard} to continue", err=True) != shard:
            raise failure("nothing was changed", f"repeat it with --confirm {shard}")
    request = pb.RecoverShardRequest(
        shard=shard,
        node=source.node,
        empty=drop,
        index=max((each.applied or 0 for each in replicas), default=0),
        generation=max(map(_generation, statuses.values()), default=0),
    )
    leader, epoch = terminal.ask(lambda client: _recover(client, request))
    terminal.report(
        f"{shard} is back, led by {leader}; `quorate status` shows when the others have caught up",
        {"shard": shard, "leader": leader, "epoch": epoch},
    )


def _source(replicas: Sequence[Replica], node: str | None) -> Replica:
    """Return the replica that the shard begins with; any that can be reached if none is named."""
    matching = [each for each in replicas if each.node == node or node is None]
    if not matching:
        raise failure(
            f"{node} has no replica of it",
            f"name one of {', '.join(each.node for each in replicas)}",
        )
    return max(matching, key=lambda each: each.applied or -1)


def _lost(shard: str, source: Replica, replicas: Sequence[Replica], *, drop: bool) -> str:
    if drop:
        everything = "everything ever written to it is lost"
        return f"every row of {shard} is discarded on all nodes; {everything}"
    ahead = [
        f"{each.node} goes up to {each.applied}"
        for each in replicas
        if (each.applied or 0) > (source.applied or 0)
    ]
    unknown = [each.node for each in replicas if each.applied is None]
    sentences = [
        f"{shard} is recovered from {source.node}, up to index {source.applied or 'unknown'}",
        "everything written after that is lost, acknowledged or not",
    ]
    if ahead:
        sentences.append(f"other replicas have more: {', '.join(ahead)}")
    if unknown:
        sentences.append(f"unknown: how much {', '.join(unknown)} has")
    return "; ".join(sentences)


def _generation(status: Status) -> int:
    if isinstance(status, Silent):
        return 0
    known = [each.generation for each in status.shards]
    return max((*known, *(each.generation for each in status.broken)), default=0)


async def _recover(client: AsyncClient, request: pb.RecoverShardRequest) -> tuple[str, int]:
    """Recover a shard; return the leader of its new history, and that history's epoch."""
    answer = await client.call(f"{ADMIN}/RecoverShard", request, pb.RecoverShardResponse)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _LED_S
    topology = await client.topology()
    async with Statuses(client.tls, client.token) as statuses:
        while loop.time() < deadline:
            for node, status in (await statuses.of_members(topology)).items():
                if not isinstance(status, Silent) and any(
                    each.shard == request.shard and each.epoch >= answer.epoch and leads(each)
                    for each in status.shards
                ):
                    return node, answer.epoch
            await asyncio.sleep(_LOOK_S)
    raise failure(
        f"{request.shard} has not recovered within {_LED_S:g} s",
        f"check that {request.node} runs, and its row in `quorate status`; if its data cannot "
        "be read, recover from another node",
    )

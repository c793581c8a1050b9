"""`quorate shard recover`: a shard that lost its majority begins anew."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from quorate.cli.asking import ADMIN, ask
from quorate.cli.cluster_view import name_of
from quorate.cli.deferred import terminal_of
from quorate.cli.exit_codes import ExitCode
from quorate.cli.failures import failure
from quorate.cli.replicas import Replica, replicas_of
from quorate.cli.statuses import Silent, Status, Statuses
from quorate.v1.admin_pb2 import RecoverShardRequest, RecoverShardResponse, ShardPlace

if TYPE_CHECKING:
    from quorate.cli.terminal import Terminal
    from quorate.client import AsyncClient

#: How long it is waited for the shard to be led again.
_LED_S: Final = 30.0
_LOOK_S: Final = 0.2


@click.command("recover")
@click.argument("shard")
@click.option("--from", "node", metavar="NODE", help="Recover the shard from NODE's replica.")
@click.option(
    "--drop", is_flag=True, help="Start the shard empty: the data of every node is discarded."
)
@click.option("--confirm", metavar="SHARD", help="Repeat the shard to accept the loss.")
@click.pass_context
def recover(
    ctx: click.Context, shard: str, node: str | None, drop: bool, confirm: str | None
) -> None:
    """Bring back SHARD, such as mqtt/0, which has lost its majority.

    It begins anew with the data of one replica, or without rows, and the replicas of its other
    nodes copy that. Whatever the one replica did not have is lost. On a terminal it says what, and
    asks; elsewhere --confirm is needed. A shard that serves is refused.
    """
    if (node is None) is not drop:
        raise failure(
            ExitCode.USAGE,
            "no source for the shard is given",
            "name a node with --from NODE, or discard the shard's data with --drop",
        )
    terminal = terminal_of(ctx)
    if confirm not in (None, shard):
        raise failure(
            ExitCode.USAGE, f"--confirm names {confirm}, not {shard}", "name the same shard twice"
        )
    place, statuses = ask(ctx, lambda client: _looked_at(client, shard))
    replicas = replicas_of(place, statuses)
    source = _source(replicas, node)
    terminal.warn(_lost(shard, source, replicas, drop=drop))
    if confirm is None:
        _confirmed(shard)
    request = RecoverShardRequest(
        shard=shard,
        node=source.node,
        empty=drop,
        index=max((each.applied or 0 for each in replicas), default=0),
        generation=max(_generations(statuses), default=0),
    )
    ask(ctx, lambda client: _recover(client, terminal, request))


async def _looked_at(client: AsyncClient, shard: str) -> tuple[ShardPlace, Mapping[str, Status]]:
    topology = await client.topology()
    places = {name_of(place): place for place in topology.shards}
    if shard not in places:
        raise failure(
            ExitCode.FAILED,
            f"there is no shard {shard}",
            f"name one of {', '.join(places) or 'none yet'}",
        )
    async with Statuses() as statuses:
        found = await statuses.of({each.node: each.address for each in topology.nodes})
    return places[shard], found


def _source(replicas: Sequence[Replica], node: str | None) -> Replica:
    """Return the replica that the shard begins with; any that can be reached if none is named."""
    fitting = [each for each in replicas if each.node == node or node is None]
    if not fitting:
        raise failure(
            ExitCode.FAILED,
            f"{node} has no replica of it",
            f"name one of {', '.join(each.node for each in replicas)}",
        )
    return max(fitting, key=lambda each: each.applied or -1)


def _lost(shard: str, source: Replica, replicas: Sequence[Replica], *, drop: bool) -> str:
    if drop:
        return (
            f"every row of {shard} is discarded on all nodes; everything ever written to it is lost"
        )
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


def _confirmed(shard: str) -> None:
    asked = sys.stdin.isatty()
    if not asked or click.prompt(f"Type {shard} to continue", err=True) != shard:
        raise failure(ExitCode.FAILED, "nothing was changed", f"repeat it with --confirm {shard}")


def _generations(statuses: Mapping[str, Status]) -> list[int]:
    said = [each for each in statuses.values() if not isinstance(each, Silent)]
    return [
        *(replica.generation for status in said for replica in status.shards),
        *(replica.generation for status in said for replica in status.broken),
    ]


async def _recover(client: AsyncClient, terminal: Terminal, request: RecoverShardRequest) -> None:
    answer = await client.call(f"{ADMIN}/RecoverShard", request, RecoverShardResponse)
    leader = await _led(client, request.shard, answer.epoch)
    if leader is None:
        raise failure(
            ExitCode.FAILED,
            f"{request.shard} has not come back within {_LED_S:g} s",
            f"see that {request.node} runs, and what `quorate status` says of it; if its data"
            " cannot be read, recover from another node",
        )
    terminal.report(
        f"{request.shard} is back, led by {leader}; `quorate status` shows when the others have"
        " caught up",
        {"shard": request.shard, "leader": leader, "epoch": answer.epoch},
    )


async def _led(client: AsyncClient, shard: str, epoch: int) -> str | None:
    """Return who leads a shard in its new history; None: nobody does in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _LED_S
    topology = await client.topology()
    async with Statuses() as statuses:
        while loop.time() < deadline:
            found = await statuses.of({each.node: each.address for each in topology.nodes})
            for node, status in found.items():
                if not isinstance(status, Silent) and any(
                    each.shard == shard
                    and each.epoch >= epoch
                    and each.role == "leader"
                    and not each.stopped
                    for each in status.shards
                ):
                    return node
            await asyncio.sleep(_LOOK_S)
    return None

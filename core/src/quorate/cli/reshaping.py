"""Splits and merges of shards and moves of replicas, as commands begin and follow them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from quorate.cli.failures import failure, usage
from quorate.cli.options import flag
from quorate.cli.terminal import ADMIN, Terminal
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_LOOK_S: Final = 0.2
#: How often in a row a node says that a merge was taken back before it is believed.
_LOOKS: Final = 5
#: How long nothing may happen while a shard is being split.
_STILL_S: Final = 60.0
_MOVES_LOOK_S: Final = 0.5
#: How long nothing may move while something is left to move.
_MOVES_STILL_S: Final = 120.0


no_wait = flag("--no-wait", "Return at once; the work continues by itself.")


async def places_of(client: AsyncClient, group: str) -> list[pb.ShardPlace]:
    """Return the shards of a group; fails if there is no such group."""
    topology = await client.topology()
    found = [place for place in topology.shards if place.group == group]
    if not found:
        known = ", ".join(sorted({place.group for place in topology.shards}))
        raise usage(f"there is no group {group}", f"name one of {known}")
    return found


async def begin_split(
    client: AsyncClient, shard: str, into: int, *, plan: bool
) -> pb.SplitShardResponse:
    """Begin to split a shard, or only check whether it is possible; return its parts."""
    request = pb.SplitShardRequest(shard=shard, into=into, check_only=plan)
    return await client.call(f"{ADMIN}/SplitShard", request, pb.SplitShardResponse)


async def follow_splits(client: AsyncClient, terminal: Terminal, group: str) -> None:
    """Wait until no shard of a group is being split."""
    loop = asyncio.get_running_loop()
    known, until = -1, loop.time() + _STILL_S
    while left := sum(bool(each.splits_into) for each in await places_of(client, group)):
        if left != known:
            known, until = left, loop.time() + _STILL_S
            terminal.report(f"shards of {group} being split: {left}", {"left": left})
        elif loop.time() > until:
            raise failure(
                f"{left} shards of {group} are being split, without progress",
                "see `quorate status`: their leaders continue as soon as they can; `quorate shard"
                " split SHARD --cancel` cancels a split that has not cut its shard yet",
            )
        await asyncio.sleep(_LOOK_S)


async def begin_merge(
    client: AsyncClient, one: str, other: str, *, plan: bool
) -> pb.MergeShardsResponse:
    """Begin to merge two shards, or only check whether it is possible; return the new one."""
    request = pb.MergeShardsRequest(shard=one, other=other, check_only=plan)
    # A node that has both knows how large they are.
    leaders = [
        each.leader
        for each in await places_of(client, one.partition("/")[0])
        if f"{each.group}/{each.number}" == one and each.leader
    ]
    asked = client.at(leaders[0]) if leaders else client
    return await asked.call(f"{ADMIN}/MergeShards", request, pb.MergeShardsResponse)


async def follow_merge(client: AsyncClient, one: str, merged: str) -> list[pb.ShardPlace]:
    """Wait until a shard is merged, and return those of its group; fails if it is taken back."""
    loop = asyncio.get_running_loop()
    group, _, number = merged.partition("/")
    until, unmerged = loop.time() + _STILL_S, 0
    while True:
        found = await places_of(client, group)
        places = {f"{each.group}/{each.number}": each for each in found}
        new, old = places.get(merged), places.get(one)
        if new is not None and old is None:
            return found
        # A node that lags may speak of an earlier merge.
        back = old is not None and old.unmerged and old.merges_into != int(number)
        unmerged = unmerged + 1 if back else 0
        if old is not None and unmerged >= _LOOKS:
            raise failure(
                f"{one} was not merged: {old.unmerged}",
                "both shards are as they were; merge them when that is over",
            )
        if loop.time() > until:
            raise failure(
                f"{one} is being merged into {merged}, without progress",
                "see `quorate status`: its leader continues as soon as it can; `quorate shard merge"
                f" {one} --cancel` cancels the merge",
            )
        await asyncio.sleep(_LOOK_S)


def shown_parts(answer: pb.SplitShardResponse) -> Iterator[Mapping[str, object]]:
    """Yield the parts of a shard as rows."""
    parent = answer.parts[0].shard
    for part in answer.parts:
        yield {"shard": part.shard, "slots": part.slots, "split_off": parent != part.shard}


async def placement(client: AsyncClient) -> pb.PlacementResponse:
    """Return where replicas are, as a node knows it."""
    return await client.call(f"{ADMIN}/Placement", pb.PlacementRequest(), pb.PlacementResponse)


def shown_move(move: pb.PlannedMove) -> Mapping[str, object]:
    """Return a move as a row."""
    return {"shard": move.shard, "from": move.source or None, "to": move.target or None}


async def follow(
    client: AsyncClient,
    terminal: Terminal,
    left: Callable[[pb.PlacementResponse], int],
    what: str,
) -> None:
    """Report how many are left until none is; fail when nothing moves any more."""
    loop = asyncio.get_running_loop()
    known, until = -1, loop.time() + _MOVES_STILL_S
    while count := left(found := await placement(client)):
        if count != known:
            known, until = count, loop.time() + _MOVES_STILL_S
            terminal.report(f"{what}: {count}", {"left": count})
        elif loop.time() > until:
            reasons = "; ".join(found.problems) or "no replica has moved for a while"
            raise failure(
                f"{what}: {count}, and nothing moves ({reasons})",
                "see `quorate shard balance --dry-run` and `quorate status`; it continues as soon"
                " as it can",
            )
        await asyncio.sleep(_MOVES_LOOK_S)

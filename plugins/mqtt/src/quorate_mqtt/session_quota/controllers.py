"""The controller on the leader of the first shard: it counts the shards, and moves quotas."""

import zlib
from collections.abc import Sequence
from itertools import count, groupby
from typing import Final

from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.resource import TENANTS
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1 import quotas_pb2 as pb
from quorate_mqtt.v1.quotas_pb2 import SessionCount


def divide(counts: Sequence[SessionCount]) -> tuple[dict[int, int], dict[int, int]]:
    """Divide the free part of a limit evenly, if a shard has less than half of its even part.

    All counts are of one tenant and one limit, one of each shard. Returns new quotas, by the index
    of their counts: first the falling ones, then the rising ones.
    """
    limit = counts[0].limit
    sessions = [count.sessions for count in counts]
    free = limit - sum(sessions)
    if free <= 0:
        # No shard may have more sessions than it has now.
        wanted = sessions
    else:
        even, more = divmod(free, len(counts))
        wanted = [held + even + (index < more) for index, held in enumerate(sessions)]
    quotas = [count.quota for count in counts]
    scarce = any(
        2 * (quota - held) < part - held
        for quota, held, part in zip(quotas, sessions, wanted, strict=True)
    )
    if not scarce and sum(quotas) <= limit:
        return {}, {}
    pairs = list(enumerate(zip(quotas, wanted, strict=True)))
    return (
        {index: part for index, (quota, part) in pairs if part < quota},
        {index: part for index, (quota, part) in pairs if part > quota},
    )


#: Slots of a group; each has a probe, a shard key that routes to it.
SLOTS: Final = 1_024


async def move_quotas(node: NodeApi, shard: ShardRef) -> None:
    """Count the shards in a new term, and raise the quotas of shards that run out of room.

    Quotas of other shards fall before one rises, so that their sum never exceeds the limit;
    shards reject proposals of an older leader once they know the term of this one.
    """
    places = await _places(node)
    while not _are_placed(places, shard.term):
        known = sum(place.slots for place in places) == SLOTS and places[0].term == shard.term
        numbering = pb.PlaceShards(
            term=shard.term, shards=len(places) if known else 0, probes=PROBES
        )
        await node.propose(numbering, BatchReply, if_leader=shard)
        places = await _places(node)
    if len(places) == 1:
        return
    counts = [each async for each in node.query(pb.ListSessionCounts(), pb.SessionCount)]
    for _, held in groupby(counts, key=lambda count: count.tenant):
        of_tenant = list(held)
        # A shard whose copy of the tenant lags is waited for.
        if len(of_tenant) == len(places) and len({each.limit for each in of_tenant}) == 1:
            await _move(node, shard, of_tenant)


async def _move(node: NodeApi, shard: ShardRef, counts: list[pb.SessionCount]) -> None:
    falls, rises = divide(counts)
    quotas = [count.quota for count in counts]
    falling = await _propose(node, shard, counts, falls)
    for index, quota in falling.items():
        quotas[index] = quota
    left = counts[0].limit - sum(quotas)
    rising = {}
    for index, wanted in rises.items():
        more = min(wanted - quotas[index], left)
        if more > 0:
            rising[index] = quotas[index] + more
            left -= more
    await _propose(node, shard, counts, rising)


async def _propose(
    node: NodeApi, shard: ShardRef, counts: list[pb.SessionCount], quotas: dict[int, int]
) -> dict[int, int]:
    """Propose quotas; returns the resulting quotas of the moves that were not refused."""
    if not quotas:
        return {}
    moves = [
        pb.QuotaMove(
            probe=counts[index].probe,
            tenant=counts[index].tenant,
            limit=counts[index].limit,
            quota=quota,
        )
        for index, quota in quotas.items()
    ]
    reply = await node.propose(
        pb.MoveQuotas(term=shard.term, moves=moves), BatchReply, if_leader=shard
    )
    refused = {refusal.item for refusal in reply.refusals}
    return {
        index: pb.QuotaMoved.FromString(reply.replies[item]).quota
        for item, index in enumerate(quotas)
        if item not in refused
    }


async def _places(node: NodeApi) -> list[pb.ShardPlace]:
    return [place async for place in node.query(pb.ListShardPlaces(), pb.ShardPlace)]


def _are_placed(places: list[pb.ShardPlace], term: int) -> bool:
    return sum(place.slots for place in places) == SLOTS and all(
        place.term == term and place.shards == len(places) for place in places
    )


def _probes() -> tuple[bytes, ...]:
    """Return a shard key for each slot."""
    found: dict[int, bytes] = {}
    for number in count():
        probe = b"probe %d" % number
        found.setdefault(zlib.crc32(probe) % SLOTS, probe)
        if len(found) == SLOTS:
            break
    return tuple(found[slot] for slot in range(SLOTS))


PROBES: Final = _probes()

QUOTA_BALANCE: Final = Controller(
    name="mqtt.quota_balance",
    group=GROUP,
    run_once=move_quotas,
    interval_s=1.0,
    wake_on=(TENANTS,),
)

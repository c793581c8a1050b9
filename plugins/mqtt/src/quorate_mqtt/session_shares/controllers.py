"""What runs on the leader of the first shard: it counts the shards, and moves shares."""

import zlib
from collections.abc import Sequence
from itertools import count, groupby
from typing import Final, NamedTuple

from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.resource import TENANTS
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1 import shares_pb2 as pb
from quorate_mqtt.v1.shares_pb2 import SessionTally


class Division(NamedTuple):
    """New shares, by the place of their tallies: first those that fall, then those that rise."""

    falling: dict[int, int]
    rising: dict[int, int]


def divide(tallies: Sequence[SessionTally]) -> Division:
    """Divide what is free of a limit evenly, if a shard has less than half of its even part.

    All tallies are of one tenant and one limit, one of each shard.
    """
    limit = tallies[0].limit
    sessions = [tally.sessions for tally in tallies]
    free = limit - sum(sessions)
    if free <= 0:
        # What a shard has is the most that it may have.
        wanted = sessions
    else:
        even, more = divmod(free, len(tallies))
        wanted = [held + even + (place < more) for place, held in enumerate(sessions)]
    shares = [tally.share for tally in tallies]
    scarce = any(
        2 * (share - held) < part - held
        for share, held, part in zip(shares, sessions, wanted, strict=True)
    )
    if not scarce and sum(shares) <= limit:
        return Division({}, {})
    pairs = list(enumerate(zip(shares, wanted, strict=True)))
    return Division(
        {place: part for place, (share, part) in pairs if part < share},
        {place: part for place, (share, part) in pairs if part > share},
    )


#: Slots of a group; each has a probe, a shard key that leads to it.
SLOTS: Final = 1_024


async def move_shares(node: NodeApi, shard: ShardRef) -> None:
    """Count the shards in a new term, and give room to shards that run out of it.

    What one shard is given was taken from others before, so that the shares never exceed the
    limit; what an older leader has proposed is refused once the shards know this one's term.
    """
    seats = await _seats(node)
    while not _are_seated(seats, shard.term):
        known = sum(seat.slots for seat in seats) == SLOTS and seats[0].term == shard.term
        seating = pb.SeatShards(term=shard.term, shards=len(seats) if known else 0, probes=PROBES)
        await node.propose(seating, BatchReply, if_leader=shard)
        seats = await _seats(node)
    if len(seats) == 1:
        return
    tallies = [each async for each in node.query(pb.ListSessionTallies(), pb.SessionTally)]
    for _, held in groupby(tallies, key=lambda tally: tally.tenant):
        of_tenant = list(held)
        # A shard whose copy of the tenant lags is waited for.
        if len(of_tenant) == len(seats) and len({each.limit for each in of_tenant}) == 1:
            await _move(node, shard, of_tenant)


async def _move(node: NodeApi, shard: ShardRef, tallies: list[pb.SessionTally]) -> None:
    division = divide(tallies)
    shares = [tally.share for tally in tallies]
    falling = await _propose(node, shard, tallies, division.falling)
    for place, share in falling.items():
        shares[place] = share
    left = tallies[0].limit - sum(shares)
    rising = {}
    for place, wanted in division.rising.items():
        more = min(wanted - shares[place], left)
        if more > 0:
            rising[place] = shares[place] + more
            left -= more
    await _propose(node, shard, tallies, rising)


async def _propose(
    node: NodeApi, shard: ShardRef, tallies: list[pb.SessionTally], shares: dict[int, int]
) -> dict[int, int]:
    """Have shares changed; returns what those have come to that were not refused."""
    if not shares:
        return {}
    moves = [
        pb.ShareMove(
            probe=tallies[place].probe,
            tenant=tallies[place].tenant,
            limit=tallies[place].limit,
            share=share,
        )
        for place, share in shares.items()
    ]
    reply = await node.propose(
        pb.MoveShares(term=shard.term, moves=moves), BatchReply, if_leader=shard
    )
    refused = {refusal.item for refusal in reply.refusals}
    return {
        place: pb.ShareMoved.FromString(reply.replies[item]).share
        for item, place in enumerate(shares)
        if item not in refused
    }


async def _seats(node: NodeApi) -> list[pb.Seat]:
    return [seat async for seat in node.query(pb.ListSeats(), pb.Seat)]


def _are_seated(seats: list[pb.Seat], term: int) -> bool:
    return sum(seat.slots for seat in seats) == SLOTS and all(
        seat.term == term and seat.shards == len(seats) for seat in seats
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

SHARE_MOVING: Final = Controller(
    name="mqtt.share_moving",
    group=GROUP,
    run_once=move_shares,
    interval_s=1.0,
    wake_on=(TENANTS,),
)

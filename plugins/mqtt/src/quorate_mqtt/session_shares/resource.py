"""What the division of limits declares, and the reads that its controller decides by."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Command, DataRoute, Items, Query, Reader, keys, read_range
from quorate.plugin.resource import TENANTS, limit_of
from quorate.v1.tenant_pb2 import Tenant

from quorate_mqtt.session_shares import apply
from quorate_mqtt.session_shares.controllers import PROBES
from quorate_mqtt.session_shares.room import LIMIT, seat_of, sessions_of, share_of
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1 import shares_pb2 as pb


def list_seats(reader: Reader, _: pb.ListSeats) -> Iterator[pb.Seat]:
    """Yield the seat of this shard, if it has one."""
    seat = seat_of(reader)
    if seat.slots:
        yield seat


def seat_order(seat: pb.Seat) -> bytes:
    """Return the key by which the seats of several shards are merged."""
    return keys.pack(seat.shard)


def list_session_tallies(reader: Reader, _: pb.ListSessionTallies) -> Iterator[pb.SessionTally]:
    """Yield what this shard has, and may have, of each tenant with a limit."""
    seat = seat_of(reader)
    for row in read_range(reader, TENANTS, *keys.prefix()):
        tenant = Tenant.FromString(row.value)
        limit = limit_of(tenant, LIMIT)
        if limit is not None:
            yield pb.SessionTally(
                tenant=tenant.name,
                shard=seat.shard,
                probe=seat.probe,
                sessions=sessions_of(reader, tenant.name),
                limit=limit,
                share=share_of(reader, tenant.name, limit, seat),
            )


def tally_order(tally: pb.SessionTally) -> bytes:
    """Return the key by which the tallies of several shards are merged."""
    return keys.pack(tally.tenant, tally.shard)


COMMANDS: Final = (
    Command(
        message=pb.SeatShards,
        group=GROUP,
        items=Items(
            get=lambda command: command.probes,
            shard_key=lambda probe: probe,
            make=lambda command, probes: pb.SeatShards(
                term=command.term, shards=command.shards, probes=probes
            ),
            key=lambda probe: probe,
        ),
        examples=(pb.SeatShards(term=1, shards=1, probes=PROBES[:3]),),
    ),
    Command(
        message=pb.MoveShares,
        group=GROUP,
        items=Items(
            get=lambda command: command.moves,
            shard_key=lambda move: move.probe,
            make=lambda command, moves: pb.MoveShares(term=command.term, moves=moves),
        ),
        examples=(
            pb.MoveShares(
                term=1,
                moves=[pb.ShareMove(probe=PROBES[0], tenant="acme", limit=100, share=60)],
            ),
        ),
    ),
)
ROUTES: Final = (
    DataRoute(message=pb.SeatShards, apply=apply.seat_shards),
    DataRoute(message=pb.MoveShares, apply=apply.move_shares),
)
QUERIES: Final = (
    Query(message=pb.ListSeats, group=GROUP, run=list_seats, order=seat_order),
    Query(
        message=pb.ListSessionTallies,
        group=GROUP,
        run=list_session_tallies,
        order=tally_order,
        reads=(TENANTS,),
    ),
)

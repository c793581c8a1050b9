"""What the division of limits declares."""

from typing import Final

from quorate.plugin import Command, DataRoute, Items, Query
from quorate.plugin.resource import TENANTS

from quorate_mqtt.session_shares import apply, queries
from quorate_mqtt.session_shares.controllers import PROBES
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1 import shares_pb2 as pb

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
    Query(message=pb.ListSeats, group=GROUP, run=queries.list_seats, order=queries.seat_order),
    Query(
        message=pb.ListSessionTallies,
        group=GROUP,
        run=queries.list_session_tallies,
        order=queries.tally_order,
        reads=(TENANTS,),
    ),
)

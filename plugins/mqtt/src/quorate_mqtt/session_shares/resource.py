"""What the division of limits declares."""

from typing import Final

from quorate.plugin import Command, DataRoute, Items, Query

from quorate_mqtt.resource import Resource
from quorate_mqtt.session_shares import apply, controllers, queries
from quorate_mqtt.session_shares.families import FAMILIES
from quorate_mqtt.shards import GROUP
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.v1.shares_pb2 import (
    ListSeats,
    ListSessionTallies,
    MoveShares,
    SeatShards,
    ShareMove,
)

_PROBES: Final = controllers.PROBES[:3]

RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(
        Command(
            message=SeatShards,
            group=GROUP,
            items=Items(
                get=lambda command: command.probes,
                shard_key=lambda probe: probe,
                make=lambda command, probes: SeatShards(
                    term=command.term, shards=command.shards, probes=probes
                ),
                key=lambda probe: probe,
            ),
            examples=(SeatShards(term=1, shards=1, probes=_PROBES),),
        ),
        Command(
            message=MoveShares,
            group=GROUP,
            items=Items(
                get=lambda command: command.moves,
                shard_key=lambda move: move.probe,
                make=lambda command, moves: MoveShares(term=command.term, moves=moves),
            ),
            examples=(
                MoveShares(
                    term=1,
                    moves=[ShareMove(probe=_PROBES[0], tenant="acme", limit=100, share=60)],
                ),
            ),
        ),
    ),
    routes=(
        DataRoute(message=SeatShards, apply=apply.seat_shards),
        DataRoute(message=MoveShares, apply=apply.move_shares),
    ),
    queries=(
        Query(message=ListSeats, group=GROUP, run=queries.list_seats, order=queries.seat_order),
        Query(
            message=ListSessionTallies,
            group=GROUP,
            run=queries.list_session_tallies,
            order=queries.tally_order,
            reads=(TENANTS,),
        ),
    ),
    controllers=(controllers.SHARE_MOVING,),
)

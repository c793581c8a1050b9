"""The controller on the leader that moves the keys of lost brokers."""

from typing import Final

from quorate.builtin.cluster.coordinators.queries import MOST_MOVES
from quorate.builtin.cluster.families import BROKERS, GROUP
from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.v1 import coordinator_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply


async def move(node: NodeApi, shard: ShardRef) -> None:
    """Move keys of lost brokers, and waiting keys, until none is left to move."""
    while True:
        query = pb.FindCoordinatorMoves(limit=MOST_MOVES)
        found = [each.assignment async for each in node.query(query, pb.CoordinatorMove)]
        if not found:
            return
        await node.propose(pb.MoveCoordinators(assignments=found), BatchReply, if_leader=shard)


MOVING: Final = Controller(
    name="cluster.coordinator_moving",
    group=GROUP,
    run_once=move,
    # It is woken when brokers come and go: this is for a run that failed.
    interval_s=10.0,
    wake_on=(BROKERS,),
)

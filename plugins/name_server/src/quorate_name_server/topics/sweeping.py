"""The controller that deletes the topics of removed brokers; no look-up returns them."""

from typing import Final

from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.families import BROKERS, GROUP
from quorate_name_server.v1 import commands_pb2 as pb, queries_pb2 as asked


async def sweep(node: NodeApi, shard: ShardRef) -> None:
    """Sweep until no removed broker has topics left."""
    while True:
        found = [each.name async for each in node.query(asked.FindDeparted(), asked.Departed)]
        if not found:
            return
        await node.propose(pb.SweepTopics(names=found), BatchReply, if_leader=shard)


SWEEPING: Final = Controller(
    name="name_server.sweeping", group=GROUP, run_once=sweep, interval_s=10.0, wake_on=(BROKERS,)
)

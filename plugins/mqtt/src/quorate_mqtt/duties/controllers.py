"""What runs on the leader: it looks for brokers that are gone, and hands over what they did."""

from typing import Final

from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.brokers import BROKERS
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.duties_pb2 import Duty, FindDuties, HandOverDuties

#: Duties that are handed over in one command.
BATCH: Final = 500


async def hand_over(node: NodeApi, shard: ShardRef) -> None:
    """Hand over the duties of brokers that are gone, until none is left."""
    while True:
        found = [duty async for duty in node.query(FindDuties(limit=BATCH), Duty)]
        if not found:
            return
        for first in range(0, len(found), BATCH):
            command = HandOverDuties(duties=found[first : first + BATCH])
            await node.propose(command, BatchReply, if_leader=shard)


#: The copies of the brokers' rows follow the rows: what a run cannot see yet, a later one does.
HAND_OVER: Final = Controller(
    name="mqtt.handing_over",
    group=GROUP,
    run_once=hand_over,
    interval_s=1.0,
    wake_on=(BROKERS,),
)

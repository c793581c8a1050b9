"""How controllers have what they found carried out."""

from google.protobuf.message import Message
from quorate.plugin import NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply


async def carry_out(node: NodeApi, shard: ShardRef, command: Message) -> int:
    """Propose a batch, and return how many of its items were carried out.

    An item is refused when its row has changed since it was read: the next round sees it anew.
    """
    reply = await node.propose(command, BatchReply, if_leader=shard)
    return reply.items - len(reply.refusals)

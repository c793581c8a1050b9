"""Who leads the shards of a node: moved when an operator asks for it, or to spread leaders."""

import asyncio
from typing import Final

from quorate.consensus.refusals import TransferRefusedError
from quorate.control.spreading import Leadership, leadership_of
from quorate.groups.node_shards import NodeShards
from quorate.groups.refusals import NoLeaderError
from quorate.groups.shard.transfer import transfer
from quorate.plugin import Invalid
from quorate.plugin.shard_id import ShardId


class Leading:
    """Says who leads what, and gives away what this node leads."""

    def __init__(self, shards: NodeShards, loop: asyncio.AbstractEventLoop) -> None:
        self._shards: Final = shards
        self._loop: Final = loop

    async def transfer(self, shard: ShardId, node: str, timeout_s: float) -> None:
        """Hand over a shard; raises `Invalid`, `UnknownShardError` and what `transfer` raises."""
        if shard.group not in self._shards.declared:
            raise Invalid("shard", f"there is no group {shard.group}")
        shards = self._shards.slot_map.shards(shard.group)
        if shard not in shards:
            raise Invalid("shard", f"group {shard.group} has the shards 0 to {len(shards) - 1}")
        replica = self._shards.get(shard)
        if replica is None:
            raise NoLeaderError(shard)
        await transfer(replica, node, self._loop, timeout_s)

    def leaderships(self) -> list[Leadership]:
        """Say who leads each shard that has a replica here."""
        return [leadership_of(shard) for shard in self._shards.all() if shard.stopped is None]

    def give_away(self, shard: ShardId, node: str) -> None:
        """Begin to hand over a shard; raises what the replica refuses with."""
        replica = self._shards.get(shard)
        if replica is None:
            raise TransferRefusedError("its replica here has stopped")
        replica.transfer(node)

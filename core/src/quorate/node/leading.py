"""Who leads the shards of a node: moved when an operator asks for it, or to spread leaders."""

import asyncio
from collections.abc import Awaitable
from typing import Final, Protocol

from google.protobuf.message import Message

from quorate.consensus.refusals import TransferRefusedError
from quorate.control.leader_balance import Leadership, leadership_of
from quorate.groups.node_shards import NodeShards
from quorate.groups.refusals import NoLeaderError
from quorate.groups.shard.transfer import check_ready, transfer
from quorate.plugin import Invalid
from quorate.plugin.shard_id import ShardId
from quorate.v1.control_pb2 import PlaceLeader


class Propose(Protocol):
    """`Groups.propose_control`."""

    def __call__(
        self, shard: ShardId, message: Message, *, timeout_s: float | None = None
    ) -> Awaitable[object]:
        """Replicate one of core's own commands on a shard."""


class Leading:
    """Says who leads what, and gives away what this node leads."""

    def __init__(
        self, shards: NodeShards, propose: Propose, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._shards: Final = shards
        self._propose: Final = propose
        self._loop: Final = loop

    async def transfer(self, shard: ShardId, node: str, timeout_s: float) -> None:
        """Hand over a shard, to be left with that node for a while.

        Raises `Invalid`, `UnknownShardError`, and what proposing and `transfer` raise.
        """
        if shard.group not in self._shards.declared:
            raise Invalid("shard", f"there is no group {shard.group}")
        shards = self._shards.slot_map.shards(shard.group)
        if shard not in shards:
            raise Invalid("shard", f"group {shard.group} has the shards 0 to {len(shards) - 1}")
        replica = self._shards.get(shard)
        if replica is None:
            raise NoLeaderError(shard)
        until = self._loop.time() + timeout_s
        configuration = replica.configuration
        voters = configuration.voters if configuration is not None else ()
        if replica.leads and any(peer.node == node for peer in voters):
            check_ready(replica, node)
            # Before the transfer, so that the next leader reads from its own rows that it stays.
            await self._propose(shard, PlaceLeader(node=node), timeout_s=timeout_s)
        await transfer(replica, node, self._loop, until - self._loop.time())

    def leaderships(self) -> list[Leadership]:
        """Say who leads each shard that has a replica here."""
        return [leadership_of(shard) for shard in self._shards.all() if shard.stopped is None]

    def give_away(self, shard: ShardId, node: str) -> None:
        """Begin to hand over a shard; raises what the replica refuses with."""
        replica = self._shards.get(shard)
        if replica is None:
            raise TransferRefusedError("its replica here has stopped")
        replica.transfer(node)

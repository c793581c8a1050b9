"""The work of a node for the shards that it leads: timers, controllers and transfers."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from google.protobuf.message import Message

from quorate.consensus.refusals import TransferRefusedError
from quorate.control.growth import Growth
from quorate.control.leader_balance import LeaderBalance, Leadership, leadership_of, ready_of
from quorate.control.placement import Placement
from quorate.control.runner import Changes, Runner, Withdraw
from quorate.control.timers import Timers
from quorate.node import tuning
from quorate.node.ground import Ground
from quorate.plugin import Invalid, NodeApi, ShardRef
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NoLeaderError
from quorate.shards.router import Router
from quorate.shards.shard.leader_transfer import check_ready, give_away, transfer
from quorate.shards.shard.shard import Shard
from quorate.topology.replicas.census import Census
from quorate.topology.replicas.node_shards import NodeShards
from quorate.topology.reshaping import Reshaping
from quorate.v1.control_pb2 import PlaceLeader


class LeaderTasks:
    """Runs timers, controllers and the balance of leaders, and transfers leaderships."""

    def __init__(
        self,
        ground: Ground,
        shards: NodeShards,
        router: Router,
        api: NodeApi,
        changes: Changes,
        withdraw: Withdraw,
        census: Census,
    ) -> None:
        catalog, loop = ground.catalog, ground.loop
        self._shards: Final = shards
        self._router: Final = router
        self._census: Final = census
        self._loop: Final = loop
        self.placement: Final = Placement(shards, census, router.propose_control)
        self.splitting: Final = Reshaping(shards, router)
        self.growth: Final = Growth(
            shards,
            catalog,
            tuning.split_bounds(ground.settings),
            lambda shard, most: self.splitting.split(shard, 2, most_shards=most),
            loop,
        )
        # Without a number of replicas there is nothing to place.
        placing = [self.placement.controller] if shards.places else []

        async def propose(command: Message, fence: ShardRef) -> None:
            await router.propose(command, if_leader=fence)

        self.timers: Final = Timers(catalog.timers.values(), shards.leading, propose, loop=loop)
        self.runner: Final = Runner(
            [*catalog.controllers.values(), *placing, *self.growth.controllers],
            shards.leading,
            lambda _: api,
            changes,
            loop=loop,
            withdraw=withdraw,
            first=lambda group: shards.slot_map.first(group),
        )
        self._balance: Final = LeaderBalance(
            shards.me.node, self.leaderships, self.give_away, ready=self._ready, loop=loop
        )

    def start(self) -> None:
        """Start timers, controllers and the balance."""
        self.timers.start()
        self.runner.start()
        self._balance.start()

    async def stop(self) -> None:
        """Stop them in the opposite order, and cancel their runs."""
        await self._balance.stop()
        await self.runner.stop()
        await self.timers.stop()

    async def transfer(self, shard: ShardId, node: str, timeout_s: float) -> None:
        """Transfer a shard's leadership to a node, and keep it there for a while.

        Raises `Invalid`, `UnknownShardError`, and what proposing and `transfer` raise.
        """
        if shard.group not in self._shards.declared:
            raise Invalid("shard", f"there is no group {shard.group}")
        shards = self._shards.slot_map.shards(shard.group)
        if shard not in shards:
            known = ", ".join(str(each.number) for each in shards)
            raise Invalid("shard", f"group {shard.group} has the shards {known}")
        replica = self._shards.get(shard)
        if replica is None:
            raise NoLeaderError(shard)
        until = self._loop.time() + timeout_s
        configuration = replica.configuration
        voters = configuration.voters if configuration is not None else ()
        if replica.leads and any(peer.node == node for peer in voters):
            check_ready(replica, node)
            if node in self._census.full:
                raise TransferRefusedError(f"the disk of {node} is nearly full: free space there")
            # Before the transfer, so that the next leader reads from its own rows that it stays.
            await self._router.propose_control(shard, PlaceLeader(node=node), timeout_s=timeout_s)
        await transfer(replica, node, self._loop, until - self._loop.time())

    def leaderships(self) -> Iterator[Leadership]:
        """Yield the leader of each shard, from the replicas here or from reports of other nodes."""
        here = {shard.id: shard for shard in self._shards.all() if shard.stopped is None}
        for shard in here.values():
            yield leadership_of(shard)
        for name in [each for each in self._shards.slot_map.all() if each not in here]:
            if (led := self._census.leader(name)) is not None:
                yield Leadership(shard=name, leader=led[1], voters=frozenset())

    def _ready(self, shard: ShardId) -> frozenset[str]:
        replica = self._shards.get(shard)
        ready = frozenset[str]() if replica is None else ready_of(replica)
        return ready - self._census.full

    def give_away(self, shard: ShardId, node: str) -> None:
        """Begin to transfer a shard's leadership; raises the refusal of its replica."""
        replica = self._shards.get(shard)
        if replica is None:
            raise TransferRefusedError("its replica here has stopped")
        replica.transfer(node)


async def hand_over(
    shards: Iterable[Shard],
    loop: asyncio.AbstractEventLoop,
    timeout_s: float,
    unfit: Callable[[str], bool] = lambda node: False,
) -> tuple[list[Shard], list[Shard]]:
    """Transfer every led shard that another voter can lead; return the transferred and kept ones.

    Unfit nodes get only shards that no other node can lead.
    """
    deadline = loop.time() + timeout_s
    led = [shard for shard in shards if shard.stopped is None and shard.leads]
    await asyncio.gather(*(give_away(shard, loop, deadline, unfit) for shard in led))
    kept = [shard for shard in led if shard.leads]
    return [shard for shard in led if shard not in kept], kept

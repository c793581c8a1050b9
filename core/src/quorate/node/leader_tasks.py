"""What a node does for the shards that it leads: deadlines, controllers, and balancing leaders."""

import asyncio
from typing import Final

from google.protobuf.message import Message

from quorate.control.leader_balance import LeaderBalance
from quorate.control.runner import Changes, Runner, Withdraw
from quorate.control.timers import Timers
from quorate.groups.groups import Groups
from quorate.groups.node_shards import NodeShards
from quorate.node.leading import Leading
from quorate.plugin import NodeApi, ShardRef
from quorate.plugin.catalog import Catalog


class LeaderTasks:
    """Starts them together, and stops them in the opposite order."""

    def __init__(
        self,
        catalog: Catalog,
        shards: NodeShards,
        groups: Groups,
        api: NodeApi,
        changes: Changes,
        withdraw: Withdraw,
        *,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.leading: Final = Leading(shards, groups.propose_control, loop)
        self._shards: Final = shards
        self._groups: Final = groups
        self._timers: Final = Timers(
            catalog.timers.values(), shards.all, self._propose_due, loop=loop
        )
        self.runner: Final = Runner(
            catalog.controllers.values(),
            shards.all,
            lambda _: api,
            changes,
            loop=loop,
            withdraw=withdraw,
        )
        self._balance: Final = LeaderBalance(
            shards.me.node, self.leading.leaderships, self.leading.give_away, loop=loop
        )

    def start(self) -> None:
        """Start them."""
        self._timers.start()
        self.runner.start()
        self._balance.start()

    async def stop(self) -> None:
        """Cancel whatever runs."""
        await self._balance.stop()
        await self.runner.stop()
        await self._timers.stop()

    async def _propose_due(self, command: Message, fence: ShardRef) -> None:
        await self._groups.propose(command, if_leader=fence)

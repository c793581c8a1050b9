"""Asks other nodes who belongs to a shard."""

from __future__ import annotations

import asyncio
from typing import Final

import grpc.aio

from quorate.consensus.membership import Configuration
from quorate.groups.shard.removal import Membership
from quorate.plugin.shard_id import ShardId
from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.v1 import node_pb2

_ANSWER_S: Final = 2.0


class NodeMembership:
    """Asks over the channels to the nodes."""

    def __init__(self, channels: NodeChannels, loop: asyncio.AbstractEventLoop) -> None:
        self._channels: Final = channels
        self._loop: Final = loop
        self._asking: Final[set[asyncio.Task[Membership | None]]] = set()

    def ask(self, shard: ShardId, node: str) -> asyncio.Future[Membership | None]:
        """Return the membership that a node knows; None where it knows none, or is silent."""
        asking = self._loop.create_task(self._ask(shard, node))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return asking

    async def stop(self) -> None:
        """Ask no more."""
        asking = list(self._asking)
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _ask(self, shard: ShardId, node: str) -> Membership | None:
        try:
            route = await self._channels.route(node, _ANSWER_S)
            answer = await route.stub.Membership(
                node_pb2.MembershipRequest(shard=str(shard)),
                timeout=_ANSWER_S,
                metadata=route.metadata,
            )
        except (UnreachableError, grpc.aio.AioRpcError):
            return None
        try:
            # One that knows of none says so by a configuration without members.
            return Membership(answer.index, Configuration.decode(answer.configuration))
        except ValueError:
            return None

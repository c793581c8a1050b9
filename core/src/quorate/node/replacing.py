"""Replaces the lost replicas of nodes that had to give up their directories."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from quorate.consensus.messages import Peer
from quorate.healing import giving_up
from quorate.healing.repairs import Damage, Repairs
from quorate.node.directory import NodeDirectory
from quorate.node.members import Members
from quorate.node.peers import Peers
from quorate.plugin.shard_id import METADATA
from quorate.shards.refusals import REFUSALS
from quorate.shards.timing import end, pause
from quorate.topology.changes.members import member_row
from quorate.topology.replicas.node_shards import NodeShards

_log = logging.getLogger(__name__)

#: Interval between a node's requests to be added again.
_AGAIN_S: Final = 1.0


@dataclass(eq=False)
class Replacing:
    """Asks for this node to be added again after a loss; as leader, adds others again.

    A node proves its claim by the id of its former replica, which only members know.
    """

    _shards: NodeShards
    _members: Members
    _peers: Peers
    _repairs: Repairs
    _directory: NodeDirectory
    _ready: Callable[[], bool]
    _loop: asyncio.AbstractEventLoop
    _asking: asyncio.Task[None] | None = field(default=None, init=False)
    _taking: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._peers.lost = self._directory.lost.replicas
        self._peers.on_lost = self._take

    def start(self) -> None:
        """Ask to be added again, if this node has lost its replica."""
        lost = self._directory.lost
        if lost.replicas:
            state = "its directory was given up, and it waits to be taken in as a new replica"
            damage = self._repairs.found(None, lost.what, state)
            damage.found_at_ms = lost.found_at_ms
            self._asking = self._loop.create_task(self._ask(damage))

    async def stop(self) -> None:
        """Stop asking for itself and adding others."""
        await end(self._asking, self._taking)

    async def _ask(self, damage: Damage) -> None:
        while not (self._is_member() and self._ready()):
            await self._peers.introduce()
            await pause(self._loop, _AGAIN_S)
        self._peers.lost = ()
        await self._loop.run_in_executor(None, giving_up.forget, self._directory.path)
        self._repairs.healed(damage, "it was taken in as a new replica, and has all of its shards")

    def _is_member(self) -> bool:
        """Return whether this node has been added, in every shard."""
        metadata = self._shards.get(METADATA)
        if metadata is None or metadata.configuration is None:
            return False
        me = self._shards.me
        return me in metadata.configuration.peers and not member_row(metadata, me.node).change

    def _take(self, node: Peer, address: str, lost: Sequence[int]) -> None:
        metadata = self._shards.get(METADATA)
        under_way = self._taking is not None and not self._taking.done()
        if metadata is not None and metadata.leads and not under_way:
            self._taking = self._loop.create_task(self._replace(node, address, tuple(lost)))

    async def _replace(self, node: Peer, address: str, lost: Sequence[int]) -> None:
        metadata = self._shards.get(METADATA)
        configuration = None if metadata is None else metadata.configuration
        if metadata is None or configuration is None:
            return
        there = configuration.peer_of(node.node)
        if there == node and not member_row(metadata, node.node).change:
            return
        try:
            if there is not None and there.replica in lost:
                _log.warning("%s has lost its data as %s: it is replaced", node.node, there)
                async for _ in self._members.remove(node.node):
                    pass
            async for _ in self._members.add(node.node, address):
                pass
        except REFUSALS as error:
            _log.warning("%s cannot be added again yet: %s", node.node, error)
        else:
            _log.warning("%s was added again as %s", node.node, node)

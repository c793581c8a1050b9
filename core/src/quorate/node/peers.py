"""The other nodes of a node: how they are found, and the ways on which replicas reach theirs."""

import asyncio
import random
from typing import Final

from quorate.config import Settings
from quorate.consensus.formation import Introduction
from quorate.consensus.peer.network import PeerNetwork
from quorate.groups.node_shards import NodeShards
from quorate.groups.shard.shard import Shard
from quorate.groups.snapshots.queue import SnapshotQueue, SnapshotReceiver
from quorate.groups.snapshots.rpc import NetworkSnapshots
from quorate.node import tuning
from quorate.node.addresses import Addresses, addresses_of
from quorate.node.forming import Forming
from quorate.node.introductions import Introductions
from quorate.node.joining import Joining
from quorate.rpc.channels import NodeChannels
from quorate.rpc.clocks import NodeClocks
from quorate.rpc.membership import NodeMembership
from quorate.rpc.server import RpcServer


class Peers:
    """Finds the cluster, and carries what replicas, snapshots and nodes say to each other."""

    def __init__(
        self,
        settings: Settings,
        shards: NodeShards,
        forming: Forming,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        own, limits = addresses_of(settings), tuning.stream_limits(settings)
        self._others: Final = own.keys() - {shards.me.node}
        self._forming: Final = forming
        self.addresses: Final = Addresses(own)
        self._joining: Final = Joining(self._others, self.addresses)
        self._introductions: Final = Introductions(forming, self._joining, self.addresses, shards)
        self.network: Final = PeerNetwork(
            shards.me,
            settings.cluster.token.get_secret_value(),
            deliver=shards.deliver,
            remade=shards.remade,
            admit=shards.admits,
            config_index=shards.config_index,
            introduced=self._introductions.answer,
            rng=random.Random(),
            limits=limits,
        )
        self.channels: Final = NodeChannels(self.network)
        self.membership: Final = NodeMembership(self.channels, loop)
        self.clocks: Final = NodeClocks(self.channels, lambda: sorted(self.network.addresses), loop)
        self._transfers: Final = NetworkSnapshots(self.network, limits)
        self.snapshots: Final = SnapshotQueue(self._transfers, loop=loop)
        self._receiver: Final = SnapshotReceiver(shards.replica, loop=loop)

    def add_to(self, server: RpcServer) -> None:
        """Serve what other nodes send."""
        self.network.add_to_server(server.server)
        self._transfers.add_to_server(server.server, self._receiver.begin)

    # Life.

    async def find_cluster(self) -> bytes:
        """Form a cluster or find it, and return its first entry; raises `FormationRefusedError`."""
        self.addresses.share(self.network.know)
        return self.first_entry() or await self._forming.first_entry(
            self.network.introduce, self._others
        )

    def join(self, cluster: bytes) -> None:
        """Talk to the nodes of this cluster."""
        self.network.join(cluster)
        self.clocks.start()

    async def admitted(self, metadata: Shard) -> None:
        """Return once this node's replica of metadata/0 knows its members."""
        await self._joining.admitted(metadata, self._ask)

    async def stop(self) -> None:
        """Close all connections."""
        await self.snapshots.stop()
        await self.clocks.stop()
        await self.membership.stop()
        await self.channels.close()
        await self.network.stop()

    # What changes of members ask.

    def first_entry(self) -> bytes:
        """Return the first entry of this node's cluster; empty while it has none."""
        return self._forming.introduction.first_entry

    async def meet(self, node: str, address: str) -> Introduction:
        """Ask a node at an address who it is; raises `IntroductionRefusedError`."""
        return await self.network.introduce(node, self._introductions.own(), address)

    async def _ask(self, node: str) -> Introduction:
        return await self.network.introduce(node, self._forming.introduction)

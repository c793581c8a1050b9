"""Nodes whose replicas have nothing but their data, joined by real connections."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest
from google.protobuf.wrappers_pb2 import BytesValue, StringValue
from quorate.config.sections import LimitsSection, TlsSection
from quorate.consensus.formation import Introduction
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import PeerHooks, PeerNetwork
from quorate.plugin import ColumnFamily, Command, RaftGroup
from quorate.plugin.access import Open
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import Declared
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.rpc.channels import NodeChannels
from quorate.rpc.feeds import NodeFeeds
from quorate.rpc.node_service import NodeService
from quorate.rpc.server import RpcServer
from quorate.rpc.view_service import ViewService
from quorate.rpc.watch_service import WatchService
from quorate.shards.shard.shard import Shard
from quorate.shards.watching.feeds import PageLimits
from quorate.shards.watching.views import HeldViews
from quorate.shards.watching.watches import Watches, WatchSettings

from core.tests.written_replica import Replica

CLUSTER = b"the cluster"
ROWS, KEPT, PRIVATE, OTHER = "toy.rows", "toy.kept", "toy.index", "toy.others"
GROUPS = {"toy": 2, "other": 1}
NAMES = ("a", "b", "c")
LIMITS = LimitsSection()
PAGE_ROWS = 3
#: The logical time of every command.
AT_MS = 1_700_000_000_000


def replica_of(shard: ShardId) -> Replica:
    """Return a replica that has a family whose previous rows are kept."""
    return Replica(shard, (ROWS, KEPT), kept={KEPT}, at_ms=AT_MS, age_ms=7)


def _nothing(_: object, __: object) -> None:
    """Apply nothing."""


def catalog() -> Catalog:
    """Return two groups; the first has commands whose package is that of the wrappers."""
    return assemble(
        [
            Declared(
                plugin=Plugin(name="toy", distribution="toy", version="1", module=None),
                all=(
                    *tuple(RaftGroup(name=name, shards=n) for name, n in GROUPS.items()),
                    ColumnFamily(name=ROWS, group="toy", row=StringValue, shard_key=bytes),
                    ColumnFamily(
                        name=KEPT, group="toy", row=StringValue, shard_key=bytes, previous=True
                    ),
                    ColumnFamily(name=PRIVATE, group="toy"),
                    ColumnFamily(name=OTHER, group="other", row=StringValue),
                    Command(
                        message=BytesValue,
                        group="toy",
                        examples=(BytesValue(),),
                        shard_key=lambda _: b"",
                        apply=_nothing,
                    ),
                ),
            )
        ]
    )


class Node:
    """A node that is complete but for its replicas: what it has of them is in `replicas`."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.get_running_loop()
        self.name = name
        self.replicas: dict[ShardId, Replica] = {}
        self.shards = cast("dict[ShardId, Shard]", self.replicas)
        self.merged = set[ShardId]()
        #: The nodes to ask for what is not here.
        self.others: list[str] = [each for each in NAMES if each != name]
        me = Peer(name, NAMES.index(name) + 1)
        self.network = PeerNetwork(
            me,
            "token",
            PeerHooks(
                deliver=lambda *_: True,
                remade=lambda node: None,
                admit=lambda peer, index: True,
                config_index=lambda: 1,
                introduced=lambda other: Introduction(me, (), b""),
            ),
            rng=random.Random(1),
        )
        self.channels = NodeChannels(self.network, connect_s=5.0)
        self.feeds = NodeFeeds(
            self.channels,
            lambda _: self.others,
            lambda shard: self.fresh if shard in self.shards else None,
            lambda shard: shard in self.merged,
            self.loop,
        )
        self.fresh = self.of_cluster(CLUSTER)
        self.watch_service = WatchService(
            lambda: self.fresh,
            lambda group: [ShardId(group, number) for number in range(GROUPS[group])],
            catalog(),
            Open(),
        )
        self.views = HeldViews(self.loop, most=3)
        self.view_service = ViewService(self.views, self.shards.get, catalog(), lambda family: None)
        self.address = ""
        self.server = self._new_server()

    def of_cluster(self, cluster: bytes) -> Watches:
        return Watches(
            cluster,
            self.shards.get,
            self.feeds.open,
            self.feeds.read_point,
            loop=self.loop,
            settings=WatchSettings(page=PageLimits(rows=PAGE_ROWS), bookmark_s=0.05),
            timeout_s=5.0,
        )

    def _new_server(self) -> RpcServer:
        server = RpcServer(LIMITS)
        # Nothing but marks and feeds is asked here.
        rest: Any = None
        NodeService(
            self.network,
            rest,
            rest,
            rest,
            rest,
            lambda: self.fresh,
            rest,
            lambda _: None,
            rest,
        ).add_to(server)
        self.watch_service.add_to(server)
        self.view_service.add_to(server)
        return server

    async def start(self) -> None:
        port = int(self.address.rpartition(":")[2] or 0)
        self.address = f"127.0.0.1:{self.server.bind('127.0.0.1', port, TlsSection())}"
        await self.server.start()

    async def kill(self) -> None:
        """Let go of every connection at once."""
        await self.server.stop(0)

    async def revive(self) -> None:
        """Listen again where it did before."""
        self.server = self._new_server()
        await self.start()

    async def stop(self) -> None:
        await self.feeds.stop()
        await self.channels.close()
        await self.network.stop()
        await self.server.stop(0)


@pytest.fixture
async def nodes() -> AsyncIterator[dict[str, Node]]:
    """Nodes a, b and c, which know each other, and have no replicas."""
    async with AsyncExitStack() as stack:
        found = {}
        for name in NAMES:
            node = found[name] = Node(name)
            stack.push_async_callback(node.stop)
            await node.start()
        for node in found.values():
            node.network.know({name: each.address for name, each in found.items()})
            node.network.join(CLUSTER)
        yield found


@pytest.fixture
def shards() -> tuple[ShardId, ShardId]:
    return ShardId("toy", 0), ShardId("toy", 1)


@pytest.fixture
def replicas(shards: tuple[ShardId, ShardId]) -> tuple[Replica, Replica]:
    """One of each shard of the group, on no node yet."""
    return replica_of(shards[0]), replica_of(shards[1])


@pytest.fixture
def new_replica() -> Callable[[ShardId], Replica]:
    return replica_of

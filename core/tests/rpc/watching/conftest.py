"""Nodes whose replicas have nothing but their data, joined by real connections."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import BytesValue, StringValue
from quorate.config.sections import LimitsSection, TlsSection
from quorate.consensus.formation import Introduction
from quorate.consensus.journal import Position
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
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.events import LOW_KEY, EventRow, Kind, event_key
from quorate.storage.families import EVENTS
from quorate.storage.rows import REVISION, value_of

CLUSTER = b"the cluster"
ROWS, KEPT, PRIVATE, OTHER = "toy.rows", "toy.kept", "toy.index", "toy.others"
GROUPS = {"toy": 2, "other": 1}
NAMES = ("a", "b", "c")
LIMITS = LimitsSection()
PAGE_ROWS = 3
#: The logical time of every command.
AT_MS = 1_700_000_000_000

#: What a command does: (family, key, value or None).
Change = tuple[str, bytes, bytes | None]


class Replica:
    """A shard's replica into which entries are written directly."""

    def __init__(self, shard: ShardId) -> None:
        self.id = shard
        self.stopped: Exception | None = None
        self.data = ShardData.open(MemoryHome(), (ROWS, KEPT))
        self.age_ms = 7
        #: How many barriers were taken.
        self.barriers = 0
        self.barrier_error: Exception | None = None
        #: Tells which rows are its own; None: all are.
        self.owns: Callable[[bytes], bool] | None = None
        self._subscribers: dict[object, Callable[[int], None]] = {}
        self._replacing: dict[object, Callable[[], None]] = {}

    published = 0

    async def opened(self, families: Iterable[str], timeout_s: float | None = None) -> None:
        """Nothing is being published."""

    def owner(self, family: str) -> Callable[[bytes], bool] | None:
        """Tell which rows are its own."""
        return self.owns

    @property
    def own_rows(self) -> ShardData:
        """All of them."""
        return self.data

    def apply(self, *commands: Sequence[Change]) -> None:
        """Apply an entry with these commands."""
        index = self.data.applied + 1
        batch, row = Batch(), EventRow()
        held: dict[tuple[str, bytes], bytes | None] = {}
        for position, changes in enumerate(commands):
            revision = REVISION.pack(index << 20 | position)
            for family, key, value in changes:
                stored = self.data.get(family, key)
                old = held.get((family, key), stored and value_of(stored))
                held[family, key] = value
                kept = family == KEPT and old is not None
                if value is None:
                    row.begin(family, Kind.DELETED_OVER if kept else Kind.DELETED)
                    batch.delete(family, key)
                else:
                    row.begin(family, Kind.REPLACED if kept else Kind.PUT)
                    batch.put(family, key, revision + value)
                row.parts.extend((key, revision + (value or b"")))
                if kept and old is not None:
                    row.parts.append(old)
        self._commit(batch, row)

    def put(self, key: bytes, value: bytes = b"", family: str = ROWS) -> None:
        self.apply([(family, key, value)])

    def emit(self, message: Message) -> None:
        """Apply an entry with a command that emits a message."""
        row = EventRow()
        row.begin(message.DESCRIPTOR.full_name, Kind.EMITTED)
        revision = REVISION.pack(self.data.applied + 1 << 20)
        row.parts.append(revision + message.SerializeToString())
        self._commit(Batch(), row)

    def trim(self, index: int) -> None:
        """Forget the events up to an index."""
        batch = Batch()
        batch.delete_range(EVENTS, event_key(0), event_key(index + 1))
        batch.put(EVENTS, LOW_KEY, event_key(index))
        self.data.commit(batch, self.data.record)

    def restore(self) -> None:
        """Begin a new generation."""
        record = self.data.record
        self.data.commit(Batch(), replace(record, generation=record.generation + 1))

    def replaced(self) -> None:
        """Say that a snapshot takes the place of the data."""
        for tell in list(self._replacing.values()):
            tell()

    @property
    def watchers(self) -> int:
        return len(self._subscribers)

    def staleness(self) -> Any:
        return SimpleNamespace(revision=0, age_ms=self.age_ms)

    def read_barrier(self, timeout_s: float | None = None) -> asyncio.Future[int]:
        self.barriers += 1
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if self.barrier_error is None:
            future.set_result(self.data.applied)
        else:
            future.set_exception(self.barrier_error)
        return future

    def subscribe(self, callback: Callable[[int], None]) -> Callable[[], None]:
        return _registered(self._subscribers, callback)

    def on_replace(self, callback: Callable[[], None]) -> Callable[[], None]:
        return _registered(self._replacing, callback)

    def _commit(self, batch: Batch, row: EventRow) -> None:
        record = self.data.record
        index = record.position.index + 1
        if row.parts:
            batch.put(EVENTS, event_key(index), row.encode(AT_MS))
        self.data.commit(batch, replace(record, position=Position(index, 1)))
        for tell in list(self._subscribers.values()):
            tell(index)


def _registered(callbacks: dict[object, Any], callback: Any) -> Callable[[], None]:
    key = object()
    callbacks[key] = callback
    return lambda: callbacks.pop(key, None)


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
                deliver=lambda shard, message: True,
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
    return Replica(shards[0]), Replica(shards[1])


@pytest.fixture
def new_replica() -> type[Replica]:
    return Replica

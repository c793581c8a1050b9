"""The node of one process: log, data, shard, syncs, snapshots and streams, put together."""

import asyncio
import json
import os
import random
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

import grpc.aio
from google.protobuf.message import Message as ProtobufMessage

from quorate.apply.control import METADATA
from quorate.consensus.formation import cluster_id
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import AppendReply, Message, Peer
from quorate.consensus.peer.network import PeerNetwork
from quorate.consensus.peer.streams import StreamLimits, server_options
from quorate.groups.node_shards import NodeShards
from quorate.groups.refusals import NoLeaderError, NotProposedError, OutcomeUnknownError
from quorate.groups.shard.log_keeper import LogPolicy, TailJournal
from quorate.groups.shard.ports import NetworkPeers
from quorate.groups.shard.settings import ShardSettings
from quorate.groups.shard.shard import Shard
from quorate.groups.shard.space import FreeSpace, free_bytes_of
from quorate.groups.snapshots.queue import SnapshotQueue, SnapshotReceiver, SnapshotSettings
from quorate.groups.snapshots.rpc import NetworkSnapshots
from quorate.groups.watching.watches import Watches
from quorate.node.forming import Forming
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.rocks import Budget, RocksEngine
from quorate.storage.identity import replica_id
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import FileWitnesses
from quorate.testing.replica_process import domain
from quorate.testing.replica_process.home import first_entry, keep_first_entry
from quorate.testing.replica_process.logged import core, entry_of
from quorate.testing.replica_process.loop_stops import LoopStops
from quorate.testing.replica_process.nowhere import Nowhere
from quorate.testing.replica_process.settings import Settings

#: What a test asks a process by.
SERVICE: Final = "quorate.testing.ReplicaProcess"
_SUBMIT_S: Final = 2.0


class NotFormedError(Exception):
    """The node has no replica yet."""


class _UnsyncedEngine(RocksEngine):
    """Promises what it does not keep: what the disk costs shows, and whether a test sees it."""

    def flush_wal(self) -> None:
        """Do nothing."""


class Node:
    """Hosts the shards of a node; those of its domain are all in metadata/0."""

    def __init__(self, settings: Settings) -> None:
        self._settings: Final = settings
        self._loop: Final = asyncio.get_running_loop()
        self.me: Final = Peer(settings.node, replica_id(settings.directory))
        self._marks: Final = os.open(os.devnull, os.O_WRONLY) if settings.marks else None
        self._budget: Final = Budget()
        engine_type = RocksEngine if settings.fsync else _UnsyncedEngine
        self._log: Final = NodeLog(
            engine_type(settings.directory / "log", [FAMILY], self._budget),
            FileWitnesses(settings.directory / "witness"),
        )
        self._held: Final = first_entry(settings.directory)
        self._forming: Final = Forming(self.me, settings.initial_members, self._held)
        self._syncs: Final = SyncLoop(self._log, self._loop, self._synced, self._log_failed)
        self._ended: Final[asyncio.Future[None]] = self._loop.create_future()
        self._shards: Final = NodeShards(
            self.me,
            settings.addresses[settings.node],
            CATALOG,
            self._log,
            lambda shard: DiskHome(settings.directory / str(shard), self._budget),
            configured={},
            loop=self._loop,
            failed=self._end,
        )
        self.network: Final = PeerNetwork(
            self.me,
            settings.token,
            deliver=self._shards.deliver,
            remade=self._shards.remade,
            admit=self._shards.admits,
            config_index=self._shards.config_index,
            introduced=self._forming.heard,
            rng=random.Random(),
        )
        self.stops: Final = LoopStops(self._loop)
        self._peers: Final = NetworkPeers(self.network)
        self._snapshots: Final = NetworkSnapshots(self.network)
        clock = self._loop.time
        # A test ends processes and waits for them: no time is to be lost in between.
        self._queue: Final = SnapshotQueue(
            self._snapshots,
            loop=self._loop,
            clock=clock,
            settings=SnapshotSettings(retry_min_s=0.1, retry_max_s=0.5),
        )
        self._receiver: Final = SnapshotReceiver(self._shards.replica, loop=self._loop, clock=clock)

    @property
    def shard(self) -> Shard:
        """The replica; raises `NotFormedError` until the node is formed."""
        shard = self._shards.replica(METADATA)
        if shard is None:
            raise NotFormedError("this node has no cluster yet; start the other initial members")
        return shard

    def watches(self) -> Watches:
        """Return what opens watches on the replica."""
        entry = self._forming.introduction.first_entry
        cluster = cluster_id(self._settings.token, entry)
        return Watches(cluster, self._shards.get, Nowhere(), loop=self._loop, clock=self._loop.time)

    # Life.

    def server(self) -> grpc.aio.Server:
        """Return a server of this node's address with the streams on it, not started."""
        server = grpc.aio.server(options=server_options(StreamLimits()))
        server.add_insecure_port(self._settings.addresses[self._settings.node])
        self.network.add_to_server(server)
        self._snapshots.add_to_server(server, self._receiver.begin)
        return server

    async def start(self) -> None:
        """Form or join the cluster, and take part in it; raises `FormationRefusedError`."""
        settings = self._settings
        domain.deviant = settings.deviant
        self.network.know(settings.addresses)
        entry = self._held or await self._forming.first_entry(
            self.network.introduce, settings.addresses
        )
        if not self._held:
            keep_first_entry(settings.directory, entry)
        first = Configuration.decode(entry) if settings.initial_members else None
        self._shards.open(first, self._submit, self._new_shard)
        self.network.join(cluster_id(settings.token, entry))

        if settings.stops:
            self.stops.start()

    async def ended(self) -> None:
        """Wait until the node cannot go on; raises what stopped it."""
        await self._ended

    async def stop(self) -> None:
        """Let go of everything."""
        self.stops.stop()
        await self._queue.stop()
        await self.network.stop()
        await self._shards.close()
        await self._syncs.close()
        self._log.close()

    def mark(self, what: str, name: bytes) -> None:
        """Make a system call that strace shows: what comes after it leaves after it."""
        if self._marks is not None:
            os.write(self._marks, b"acknowledged %s %s" % (what.encode(), name))

    # What the shard asks.

    def send(self, shard: ShardId, messages: Sequence[Message]) -> None:
        """Put messages on their way."""
        for message in messages if self._marks is not None else ():
            if isinstance(message.body, AppendReply) and message.body.success:
                self.mark("entry", str(message.body.match).encode())
        self._peers.send(shard, messages)

    def _new_shard(self, shard: ShardId, data: ShardData, journal: TailJournal) -> Shard:
        settings = self._settings
        return Shard(
            shard,
            self.me,
            CATALOG,
            data,
            journal,
            peers=self,
            syncs=self._syncs,
            snapshots=self._queue,
            loop=self._loop,
            clock=self._loop.time,
            wall_ms=lambda: int(time.time() * 1_000),
            rng=random.Random(),
            settings=ShardSettings(
                timing=settings.timing, log=LogPolicy(tail_entries=settings.tail_entries)
            ),
            space=FreeSpace(
                partial(free_bytes_of, settings.directory),
                self._loop.time,
                margin_bytes=settings.margin_bytes,
            ),
            on_stopped=lambda _, error: self._end(error),
        )

    async def _submit(self, shard: ShardId, message: ProtobufMessage) -> None:
        """Propose what this node has to say, wherever the leader is."""
        replica, command = self.shard, core(message)
        leader = replica.leader
        if replica.leads:
            await replica.propose((command,))
        elif leader is None:
            raise NoLeaderError(shard)
        else:
            address = self._settings.addresses[leader.node]
            async with grpc.aio.insecure_channel(address) as channel:
                ask = channel.unary_unary(f"/{SERVICE}/Propose", None, None)
                try:
                    answer = json.loads(await ask(entry_of((command,)), timeout=_SUBMIT_S))
                except grpc.aio.AioRpcError as error:
                    raise OutcomeUnknownError(error.details()) from None
            if answer["outcome"] != "applied":
                raise NotProposedError(f"{leader.node} answered {answer}")

    # What the syncs tell.

    def _synced(self, sequence: int) -> None:
        self._shards.synced(sequence)

    def _log_failed(self, error: Exception) -> None:
        self._shards.log_failed(error)
        self._end(error)

    def _end(self, error: Exception) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)


def _catalog() -> Catalog:
    plugin = Plugin(name=domain.PLUGIN, distribution="quorate", version="0", module=domain)
    return build([plugin])


#: What every process of this package serves.
CATALOG: Final = _catalog()

"""The node of a process: log, shards, syncs, streams, snapshots and servers, put together."""

import asyncio
import logging
import random
import time
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from google.protobuf.message import Message
from prometheus_client import CollectorRegistry

from quorate.apply.applier import mirrored
from quorate.apply.control import METADATA
from quorate.config import Settings
from quorate.consensus.formation import Introduction, cluster_id
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import PeerNetwork
from quorate.consensus.peer.streams import SERVICE as PEER_SERVICE
from quorate.control.ports import TimedReplica
from quorate.control.timers import Timers
from quorate.groups.groups import Groups
from quorate.groups.node_shards import NodeShards, declared_groups
from quorate.groups.shard.log_keeper import TailJournal
from quorate.groups.shard.ports import Membership, NetworkPeers
from quorate.groups.shard.shard import Shard
from quorate.groups.shard.space import FreeSpace, free_bytes_of
from quorate.groups.snapshots.queue import SnapshotQueue, SnapshotReceiver
from quorate.groups.snapshots.rpc import NetworkSnapshots
from quorate.groups.watching.caches import CacheKeeper
from quorate.groups.watching.mirrors import MirrorKeeper
from quorate.groups.watching.watches import Watch, Watches
from quorate.node import tuning
from quorate.node.api import PluginNode
from quorate.node.directory import NodeDirectory
from quorate.node.drain import hand_over
from quorate.node.elsewhere import NoFeeds
from quorate.node.forming import Forming
from quorate.node.gate import Gate
from quorate.node.metrics import PluginMetrics
from quorate.node.readiness import Readiness
from quorate.plugin import ShardRef
from quorate.plugin.catalog import Catalog
from quorate.rpc.channels import NodeChannels
from quorate.rpc.clocks import NodeClocks
from quorate.rpc.command_service import CommandService
from quorate.rpc.forwarder import NodeForwarder
from quorate.rpc.membership import NodeMembership
from quorate.rpc.node_service import SERVICE as NODE_SERVICE, NodeService
from quorate.rpc.server import RpcServer
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.storage.engine.rocks import Budget
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.shard_id import ShardId
from quorate.v1 import snapshot_pb2

_log = logging.getLogger(__name__)

#: How long the parts of an orderly end may take.
HAND_OVER_S: Final = 5.0
FINISH_S: Final = 10.0

#: What nodes and probes ask whatever the node is doing.
_UNGATED: Final = (
    "grpc.health.v1.Health",
    NODE_SERVICE,
    PEER_SERVICE,
    snapshot_pb2.DESCRIPTOR.services_by_name["SnapshotService"].full_name,
)
_STOPPING: Final = "this node is stopping; ask another node"


class StartError(Exception):
    """The node cannot start as it is configured; the text says why, and what to do."""


class Node:
    """Hosts the shards of a node and serves the plugins of a catalog.

    It begins with `start`, is good for all of its shards after `ready`, and ends with `stop`,
    whatever became of it before.
    """

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        """Open the node's directory.

        Raises `GroupsDifferError`, `OtherClusterError`, `FormationRefusedError` and `EngineError`.
        """
        configured = {name: section.shards for name, section in settings.groups.items()}
        declared_groups(catalog, configured)
        name, token = settings.node.name, settings.cluster.token.get_secret_value()
        members = settings.cluster.initial_members or {name: settings.node.address}
        budget = Budget(settings.storage.block_cache_bytes, settings.storage.write_buffer_bytes)
        self._settings: Final = settings
        self._catalog: Final = catalog
        self._loop: Final = asyncio.get_running_loop()
        self._clock: Final = self._loop.time
        self._directory: Final = NodeDirectory(settings.node.dir.absolute(), name, token, budget)
        self._token: Final = token
        self.me: Final = self._directory.me
        self._addresses: Final = dict(members)
        self._held: Final = self._directory.first_entry()
        self._forming: Final = Forming(self.me, members, self._held)
        self._log: Final = self._directory.open_log()
        self._tuning: Final = tuning.shard_settings(settings)
        self._ended: Final[asyncio.Future[None]] = self._loop.create_future()
        self._syncs: Final = SyncLoop(self._log, self._loop, self._synced, self._log_failed)
        self.shards: Final = NodeShards(
            self.me,
            members.get(name, settings.node.address),
            catalog,
            self._log,
            self._directory.home,
            self._new_shard,
            configured=configured,
            loop=self._loop,
            failed=self._end,
        )
        limits = tuning.stream_limits(settings)
        self.network: Final = PeerNetwork(
            self.me,
            token,
            deliver=self.shards.deliver,
            remade=self.shards.remade,
            admit=self._admits,
            config_index=self._config_index,
            introduced=self._introduced,
            rng=random.Random(),
            limits=limits,
        )
        self._channels: Final = NodeChannels(self.network)
        self._membership: Final = NodeMembership(self._channels, self._loop)
        others = sorted(members.keys() - {name})
        self._clocks: Final = NodeClocks(self._channels, lambda: others, self._loop)
        self._peers: Final = NetworkPeers(self.network)
        self._snapshots: Final = NetworkSnapshots(self.network, limits)
        self._queue: Final = SnapshotQueue(self._snapshots, loop=self._loop, clock=self._clock)
        self._receiver: Final = SnapshotReceiver(
            self.shards.get, loop=self._loop, clock=self._clock
        )
        self.groups: Final = Groups(
            name,
            catalog,
            self.shards,
            NodeForwarder(self._channels, self._loop),
            loop=self._loop,
            limits=settings.limits,
            write_timeout_s=self._tuning.write_timeout_s,
            read_timeout_s=self._tuning.read_timeout_s,
        )
        self._timers: Final = Timers(
            catalog.timers.values(), self._timed, self._propose_due, loop=self._loop
        )
        self.metrics: Final = CollectorRegistry()
        self._watches: Watches | None = None
        self._caches: Final = [
            CacheKeeper(
                cache.name,
                cache.factory(),
                partial(self._open_watch, cache.group, dict.fromkeys(cache.families, b"")),
                loop=self._loop,
            )
            for cache in catalog.caches.values()
        ]
        self._mirrors: Final[list[MirrorKeeper]] = []
        self.api: Final = PluginNode(
            settings,
            catalog,
            self.groups,
            [keeper.view for keeper in self._caches],
            PluginMetrics(catalog.metrics, self.metrics),
            self._watch_rows,
        )
        self._lifespans: Final = AsyncExitStack()
        self._readiness: Final = Readiness(self.shards, self._loop)
        self._settling: asyncio.Task[None] | None = None
        self._gate: Final = Gate(_UNGATED)
        self._server: Final = RpcServer(settings.limits, limits, [self._gate])
        self.network.add_to_server(self._server.server)
        self._snapshots.add_to_server(self._server.server, self._receiver.begin)
        _log.info(
            "1/5 configured: node %s at %s, members %s, plugins %s",
            name,
            settings.node.address,
            ", ".join(sorted(members)),
            ", ".join(catalog.declared) or "none",
        )

    # Life.

    async def start(self) -> None:
        """Listen, form or join the cluster, open the shards, and let calls in.

        Raises `ServingRefusedError`, `FormationRefusedError`, `GroupsDifferError`, `StartError`,
        and what says that metadata/0 cannot be opened; `stop` is due then too.
        """
        await self._listen()
        _log.info(
            "2/5 listening on %s, data in %s", self._settings.node.address, self._directory.path
        )
        self.network.know(self._addresses)
        entry = self._held or await self._forming.first_entry(
            self.network.introduce, self._addresses
        )
        cluster = cluster_id(self._token, entry) if self._held else self._directory.join(entry)
        first = Configuration.decode(entry)
        _log.info("3/5 in cluster %s, founded by %s", cluster.hex(), _names(first))
        self.shards.open(first if self.me in first.voters else None, self.groups.propose_control)
        self._check_retired()
        self._watches = Watches(
            cluster, self.shards.get, NoFeeds(), loop=self._loop, clock=self._clock
        )
        self.network.join(cluster)
        self._clocks.start()
        for declared in self._catalog.declared.values():
            if declared.lifespan is not None:
                await self._lifespans.enter_async_context(declared.lifespan(self.api))
        self._gate.open()
        self._settling = self._loop.create_task(self._settle(cluster))
        self._settling.add_done_callback(self._settled)

    async def ready(self) -> None:
        """Wait until every shard here has what its leader had committed.

        Raises what ended the node before that.
        """
        if self._settling is None:
            raise RuntimeError("start the node first")
        await asyncio.wait([self._settling, self._ended], return_when=asyncio.FIRST_COMPLETED)
        if self._ended.done():
            self._ended.result()
        await self._settling

    async def ended(self) -> None:
        """Wait until the node cannot go on; raises what stopped it."""
        await asyncio.shield(self._ended)

    async def stop(self) -> None:
        """Let no call in, hand over what is led, finish, make all durable, and let go."""
        self._gate.close(_STOPPING)
        await self._server.set_serving(False)
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.wait([self._settling])
        await self._timers.stop()
        handed, kept = await hand_over(self.shards.all(), self._loop, HAND_OVER_S)
        if handed:
            _log.info("handed over %s", ", ".join(str(shard.id) for shard in handed))
        if kept:
            _log.info("no other voter takes %s", ", ".join(str(shard.id) for shard in kept))
        if not await self._gate.emptied(FINISH_S):
            _log.warning("%d calls did not end in %g s", self._gate.inside, FINISH_S)
        await self._lifespans.aclose()
        await asyncio.gather(*(mirror.stop() for mirror in self._mirrors))
        await asyncio.gather(*(cache.stop() for cache in self._caches))
        await self._queue.stop()
        await self._clocks.stop()
        await self._membership.stop()
        await self._channels.close()
        await self.network.stop()
        await self._server.stop(0)
        await asyncio.gather(*map(self._flush, self.shards.all()))
        await self.shards.close()
        await self._syncs.close()
        self._log.close()
        _log.info("stopped")

    # Beginning.

    async def _listen(self) -> None:
        node = self._settings.node
        NodeService(self.network, self.groups, self._members_of, _wall_ms).add_to(self._server)
        CommandService(self.groups, self._catalog, self._settings.limits).add_to(self._server)
        self._server.add_plugins(self._catalog, lambda _: self.api)
        self._server.bind(node.host, node.port, self._settings.tls)
        await self._server.start()

    def _check_retired(self) -> None:
        """Refuse to go on without a plugin that has rows here; raises `StartError`."""
        orphans = {family for shard in self.shards.all() for family in shard.data.orphans}
        owners = {family.partition(".")[0] for family in orphans}
        missing = sorted(owners - set(self._catalog.declared) - set(self._settings.plugins.retired))
        if missing:
            raise StartError(
                f"there is data of {', '.join(missing)}, which is not enabled; name it in [plugins]"
                " enabled, or in [plugins] retired to keep the data without serving it"
            )

    async def _settle(self, cluster: bytes) -> None:
        hosted = await self._readiness.hosted()
        _log.info("4/5 hosting %s", ", ".join(str(shard.id) for shard in hosted))
        for keeper in self._caches:
            keeper.start()
        for shard in hosted:
            mirror = MirrorKeeper(
                shard,
                mirrored(self._catalog, shard.id.group),
                self._open_mirrored,
                cluster=cluster,
                loop=self._loop,
            )
            mirror.start()
            self._mirrors.append(mirror)
        self._timers.start()
        for shard in hosted:
            await self._readiness.caught_up(shard)
        await self._server.set_serving(True)
        _log.info("5/5 ready: node %s at %s", self.me.node, self._settings.node.address)

    def _settled(self, settling: asyncio.Task[None]) -> None:
        if not settling.cancelled() and (error := settling.exception()) is not None:
            self._end(error if isinstance(error, Exception) else RuntimeError(str(error)))

    # What deadlines ask.

    def _timed(self) -> list[TimedReplica]:
        return [TimedReplica(shard, shard.now_ms) for shard in self.shards.all()]

    async def _propose_due(self, command: Message, fence: ShardRef) -> None:
        await self.groups.propose(command, if_leader=fence)

    # What plugins and keepers watch.

    def _open_watch(self, group: str, families: dict[str, bytes], token: bytes = b"") -> Watch:
        if self._watches is None:
            raise RuntimeError("nothing can be watched before the node has a cluster")
        return self._watches.open(families, self.shards.slot_map.shards(group), token)

    def _open_mirrored(self, family: str, token: bytes) -> Watch:
        return self._open_watch(METADATA.group, {family: b""}, token)

    async def _watch_rows(self, family: str, prefix: bytes, token: bytes) -> Watch:
        """Watch behind a token, or from rows on that hold all that was written before."""
        group = self._catalog.families[family].group
        if not token:
            local = map(self.shards.get, self.shards.slot_map.shards(group))
            await asyncio.gather(*(shard.read_barrier() for shard in local if shard is not None))
        return self._open_watch(group, {family: prefix}, token)

    # What shards, streams and syncs ask.

    def _new_shard(self, shard: ShardId, data: ShardData, journal: TailJournal) -> Shard:
        return Shard(
            shard,
            self.me,
            self._catalog,
            data,
            journal,
            peers=self._peers,
            syncs=self._syncs,
            snapshots=self._queue,
            loop=self._loop,
            clock=self._clock,
            wall_ms=_wall_ms,
            rng=random.Random(),
            settings=self._tuning,
            space=FreeSpace(partial(free_bytes_of, self._directory.path), self._clock),
            membership=self._membership,
            node_clock=self._clocks,
            on_stopped=self._shard_stopped,
        )

    def _members_of(self, shard: ShardId) -> Membership | None:
        found = self.shards.get(shard)
        return None if found is None else found.membership

    def _admits(self, peer: Peer, config_index: int) -> bool:
        metadata = self.shards.get(METADATA)
        if metadata is None:
            return False
        log = metadata.replica.log
        if log.configuration is None or config_index > log.configuration_index:
            return True
        return log.known(peer, metadata.replica.commit)

    def _config_index(self) -> int:
        metadata = self.shards.get(METADATA)
        return 0 if metadata is None else metadata.replica.log.configuration_index

    def _introduced(self, other: Introduction) -> Introduction:
        return self._forming.heard(other)

    def _synced(self, sequence: int) -> None:
        self.shards.synced(sequence)

    def _log_failed(self, error: Exception) -> None:
        self.shards.log_failed(error)
        self._end(error)

    def _shard_stopped(self, shard: Shard, error: Exception) -> None:
        """Go on without a shard, which others serve; but not without the one that names them."""
        if shard.id == METADATA:
            self._end(error)

    def _end(self, error: Exception) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)
            # Whoever waits for it is told; when nobody does, `stop` is on its way.
            self._ended.exception()

    async def _flush(self, shard: Shard) -> None:
        try:
            await self._loop.run_in_executor(None, shard.data.sync)
        except (EngineError, OSError) as error:
            # The log has it all, and replays it.
            _log.warning("shard %s: its data could not be made durable: %s", shard.id, error)


def _wall_ms() -> int:
    return int(time.time() * 1_000)


def _names(configuration: Configuration) -> str:
    return ", ".join(sorted(peer.node for peer in configuration.voters))

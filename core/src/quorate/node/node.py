"""The node of a process: log, shards, syncs, streams, snapshots and servers, put together."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Final

from google.protobuf.message import Message
from prometheus_client import CollectorRegistry

from quorate.apply.control import METADATA
from quorate.config import Settings
from quorate.consensus.formation import Introduction, cluster_id
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import PeerNetwork
from quorate.consensus.peer.streams import SERVICE as PEER_SERVICE
from quorate.consensus.refusals import TransferRefusedError
from quorate.control.ports import TimedReplica
from quorate.control.runner import Runner
from quorate.control.spreading import Leadership, Spreading, leadership_of
from quorate.control.timers import Timers
from quorate.groups.groups import Groups
from quorate.groups.members import MemberSteps
from quorate.groups.node_shards import NodeShards, declared_groups
from quorate.groups.refusals import NoLeaderError, UnreadableError
from quorate.groups.shard.log_keeper import TailJournal
from quorate.groups.shard.ports import Membership, NetworkPeers
from quorate.groups.shard.shard import Shard
from quorate.groups.shard.space import FreeSpace, free_bytes_of
from quorate.groups.shard.transfer import transfer
from quorate.groups.snapshots.queue import SnapshotQueue, SnapshotReceiver
from quorate.groups.snapshots.rpc import NetworkSnapshots
from quorate.groups.watching.caches import CacheKeeper
from quorate.groups.watching.fresh import FreshWatches
from quorate.groups.watching.mirrors import Mirrors
from quorate.groups.watching.watches import Watch, Watches
from quorate.node import tuning
from quorate.node.addresses import Addresses
from quorate.node.api import PluginNode
from quorate.node.backups import Backups
from quorate.node.directory import NodeDirectory
from quorate.node.drain import hand_over
from quorate.node.figures import expose
from quorate.node.figures.storage import Storage
from quorate.node.figures.work import Work
from quorate.node.forming import Forming
from quorate.node.gate import Gate
from quorate.node.joining import Joining
from quorate.node.members import Members
from quorate.node.metrics import PluginMetrics
from quorate.node.probes import Probes
from quorate.node.readiness import Readiness
from quorate.node.status import NodeReports
from quorate.observe.loop_lag import LoopLag
from quorate.plugin import Invalid, ShardRef
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.rpc import admin_service
from quorate.rpc.admin_service import AdminService
from quorate.rpc.calls import CallTally
from quorate.rpc.channels import NodeChannels
from quorate.rpc.clocks import NodeClocks
from quorate.rpc.command_service import CommandService
from quorate.rpc.feeds import NodeFeeds
from quorate.rpc.forwarder import NodeForwarder
from quorate.rpc.member_steps import NodeMemberSteps
from quorate.rpc.membership import NodeMembership
from quorate.rpc.node_service import SERVICE as NODE_SERVICE, NodeService
from quorate.rpc.server import RpcServer
from quorate.rpc.watch_service import WatchService
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.storage.engine.rocks import Budget
from quorate.storage.log.sync_loop import SyncLoop
from quorate.v1 import snapshot_pb2
from quorate.v1.admin_pb2 import NodeAddress
from quorate.v1.node_pb2 import NodeIntroduction

_log = logging.getLogger(__name__)

#: How long the parts of an orderly end may take.
HAND_OVER_S: Final = 5.0
FINISH_S: Final = 10.0

#: After this time without a leader, or after an election if that is longer, writes are given up.
_LEADERLESS_S: Final = 1.0

#: What nodes and probes ask whatever the node is doing.
_UNGATED: Final = (
    "grpc.health.v1.Health",
    NODE_SERVICE,
    PEER_SERVICE,
    *admin_service.ALWAYS,
    snapshot_pb2.DESCRIPTOR.services_by_name["SnapshotService"].full_name,
)
_STOPPING: Final = "this node is stopping; ask another node"
_NOT_ADDED: Final = (
    "this node waits to be added to its cluster with `quorate member add`; ask another node"
)


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
        join = settings.cluster.join
        members = {} if join else settings.cluster.initial_members or {name: settings.node.address}
        own = join or members
        budget = Budget(settings.storage.block_cache_bytes, settings.storage.write_buffer_bytes)
        self._budget: Final = budget
        self._version: Final = version("quorate")
        self._settings: Final = settings
        self._catalog: Final = catalog
        self._loop: Final = asyncio.get_running_loop()
        self._clock: Final = self._loop.time
        self._directory: Final = NodeDirectory(settings.node.dir.absolute(), name, token, budget)
        self._token: Final = token
        self.me: Final = self._directory.me
        self._held: Final = self._directory.first_entry()
        self._cluster = b""
        self._forming: Final = Forming(self.me, members, self._held)
        self._others: Final = own.keys() - {name}
        self._log: Final = self._directory.open_log()
        self._tuning: Final = tuning.shard_settings(settings)
        self._space: Final = FreeSpace(partial(free_bytes_of, self._directory.path), self._clock)
        self._ended: Final[asyncio.Future[None]] = self._loop.create_future()
        self._syncs: Final = SyncLoop(self._log, self._loop, self._synced, self._log_failed)
        self.shards: Final = NodeShards(
            self.me,
            own.get(name, settings.node.address),
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
        self._addresses: Final = Addresses({name: settings.node.address, **own}, self.network.know)
        self._joining: Final = Joining(self._others, self._addresses, self._ask_who)
        self._channels: Final = NodeChannels(self.network)
        self._membership: Final = NodeMembership(self._channels, self._loop)
        self._clocks: Final = NodeClocks(
            self._channels, lambda: sorted(self.network.addresses), self._loop
        )
        self._peers: Final = NetworkPeers(self.network)
        self._snapshots: Final = NetworkSnapshots(self.network, limits)
        self._queue: Final = SnapshotQueue(self._snapshots, loop=self._loop, clock=self._clock)
        self._receiver: Final = SnapshotReceiver(
            self.shards.replica, loop=self._loop, clock=self._clock
        )
        self.groups: Final = Groups(
            name,
            catalog,
            self.shards,
            NodeForwarder(self._channels, self._loop, settings.limits),
            loop=self._loop,
            limits=settings.limits,
            write_timeout_s=self._tuning.write_timeout_s,
            read_timeout_s=self._tuning.read_timeout_s,
            leaderless_s=max(_LEADERLESS_S, self._tuning.timing.election_max_s),
        )
        self._steps: Final = MemberSteps(self.shards.get, self.groups.propose_control)
        self._members: Final = Members(
            self.me,
            self.shards,
            self.groups,
            self._steps,
            NodeMemberSteps(self._channels),
            introduce=self._meet,
            first_entry=lambda: self._forming.introduction.first_entry,
            loop=self._loop,
        )
        self._timers: Final = Timers(
            catalog.timers.values(), self._timed, self._propose_due, loop=self._loop
        )
        self.metrics: Final = CollectorRegistry()
        self._feeds: Final = NodeFeeds(
            self._channels, lambda shard: self.shards.slot_map.others(shard, name), self._loop
        )
        self._watches: Watches | None = None
        self._fresh: FreshWatches | None = None
        self._watch_service: Final = WatchService(
            self._watching, lambda group: self.shards.slot_map.shards(group), catalog
        )
        self._caches: Final = [
            CacheKeeper(
                cache.name,
                cache.factory(),
                partial(self._open_watch, cache.group, dict.fromkeys(cache.families, b"")),
                loop=self._loop,
            )
            for cache in catalog.caches.values()
        ]
        self._mirrors: Final = Mirrors(catalog, self._open_mirrored, self._loop)
        self._runner: Final = Runner(
            catalog.controllers.values(),
            self.shards.all,
            lambda _: self.api,
            self._changes,
            loop=self._loop,
        )
        self._spreading: Final = Spreading(
            name, self._leaderships, self._give_away, loop=self._loop
        )
        self._backups: Final = Backups(self.shards, lambda: self._cluster, self._loop)
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
        self._calls: Final = CallTally()
        self._lag: Final = LoopLag(self._loop)
        self._probes: Final = Probes(self._loop, self.metrics, self._missing)
        expose(self.metrics, self.shards.all, self._stored, self._worked)
        self._stopping = False
        self._server: Final = RpcServer(settings.limits, limits, [self._calls, self._gate])
        self.network.add_to_server(self._server.server)
        self._snapshots.add_to_server(self._server.server, self._receiver.begin)
        _log.info(
            "1/5 configured: node %s at %s, members %s, plugins %s",
            name,
            settings.node.address,
            ", ".join(sorted(members)) or f"those of the cluster of {', '.join(sorted(join))}",
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
            "2/5 listening on %s, metrics and probes on %s, data in %s",
            self._settings.node.address,
            self._settings.node.http_address,
            self._directory.path,
        )
        self.network.know(self._addresses.known)
        entry = self._held or await self._forming.first_entry(self.network.introduce, self._others)
        cluster = cluster_id(self._token, entry) if self._held else self._directory.join(entry)
        first = Configuration.decode(entry)
        self._cluster = cluster
        _log.info("3/5 in cluster %s, founded by %s", cluster.hex(), _names(first))
        self.shards.open(first if self.me in first.voters else None, self.groups.propose_control)
        self._check_retired()
        self._watches = Watches(
            cluster, self.shards.get, self._feeds, loop=self._loop, clock=self._clock
        )
        self._fresh = FreshWatches(
            cluster,
            self._watches,
            self.shards.get,
            self._feeds,
            timeout_s=self._tuning.read_timeout_s,
        )
        self.network.join(cluster)
        self._clocks.start()
        for declared in self._catalog.declared.values():
            if declared.lifespan is not None:
                await self._lifespans.enter_async_context(declared.lifespan(self.api))
        metadata = self._metadata()
        self._addresses.follow(metadata)
        if metadata.configuration is None:
            self._gate.close(_NOT_ADDED)
        else:
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
        self._stopping = True
        self._gate.close(_STOPPING)
        self._backups.stop()
        await self._server.set_serving(False)
        await self._watch_service.stop(_STOPPING)
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.wait([self._settling])
        await self._spreading.stop()
        await self._runner.stop()
        await self._timers.stop()
        handed, kept = await hand_over(self.shards.all(), self._loop, HAND_OVER_S)
        if handed:
            _log.info("handed over %s", ", ".join(str(shard.id) for shard in handed))
        if kept:
            _log.info("no other voter takes %s", ", ".join(str(shard.id) for shard in kept))
        if not await self._gate.emptied(FINISH_S):
            _log.warning("%d calls did not end in %g s", self._gate.inside, FINISH_S)
        await self._lifespans.aclose()
        await self._mirrors.stop()
        await asyncio.gather(*(cache.stop() for cache in self._caches))
        await self._feeds.stop()
        await self._queue.stop()
        await self._clocks.stop()
        await self._membership.stop()
        await self._channels.close()
        await self.network.stop()
        await self._server.stop(0)
        self._lag.stop()
        await self._probes.stop()
        await asyncio.gather(*map(self._flush, self.shards.all()))
        await self.shards.close()
        await self._syncs.close()
        self._log.close()
        _log.info("stopped")

    # Beginning.

    async def _listen(self) -> None:
        node = self._settings.node
        NodeService(
            self.network,
            self.groups,
            self._members_of,
            self._steps.accept,
            _wall_ms,
            self._watching,
        ).add_to(self._server)
        self._watch_service.add_to(self._server)
        CommandService(self.groups, self._catalog, self._settings.limits).add_to(self._server)
        reports = NodeReports(
            self._settings,
            self._catalog,
            self.shards,
            self._runner,
            addresses=lambda: self._addresses.known,
            version=self._version,
            cluster=lambda: self._cluster,
            ready=lambda: not self._missing(),
            started_at_ms=_wall_ms(),
        )
        AdminService(
            reports, self._runner, self._transfer, self._backups.back_up, self._members
        ).add_to(self._server)
        self._server.add_plugins(self._catalog, lambda _: self.api)
        self._server.bind(node.host, node.port, self._settings.tls)
        await self._server.start()
        self._lag.start()
        try:
            # The gRPC server comes first: it refuses a host that must not be listened on.
            self._probes.start(node.host, node.http_port)
        except OSError as error:
            raise StartError(
                f"{node.http_address} cannot be listened on for metrics and probes; end what holds"
                f" it, or set node.http_port to another one ({error})"
            ) from None

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
        await self._joining.admitted(self._metadata())
        self._gate.open()
        hosted = await self._readiness.hosted()
        _log.info("4/5 hosting %s", ", ".join(str(shard.id) for shard in hosted))
        for keeper in self._caches:
            keeper.start()
        self._mirrors.start(cluster)
        self.shards.on_open(self._mirrors.keep)
        self._timers.start()
        self._runner.start()
        self._spreading.start()
        for shard in hosted:
            await self._readiness.caught_up(shard)
        await self._server.set_serving(True)
        _log.info("5/5 ready: node %s at %s", self.me.node, self._settings.node.address)

    def _settled(self, settling: asyncio.Task[None]) -> None:
        if not settling.cancelled() and (error := settling.exception()) is not None:
            self._end(error if isinstance(error, Exception) else RuntimeError(str(error)))

    # What probes and metrics ask.

    def _missing(self) -> Sequence[str]:
        """Return what keeps the node from being ready; nothing when it is."""
        if self._stopping:
            return [_STOPPING]
        if self._ended.done():
            return [f"this node cannot go on: {self._ended.exception()}"]
        if self._settling is None:
            return ["this node is starting: it has no cluster yet, or its plugins begin"]
        return [] if self._settling.done() else self._readiness.missing()

    def _stored(self) -> Storage:
        data = {str(shard.id): shard.data for shard in self.shards.all()}
        return Storage(
            databases={"log": self._log, **data},
            budget=self._budget,
            syncs=self._syncs.durations,
            free_bytes=free_bytes_of(self._directory.path),
        )

    def _worked(self) -> Work:
        return Work(
            node=self.me.node,
            version=self._version,
            ready=not self._missing(),
            calls=self._calls,
            controllers=self._runner.tallies,
            posts=self._runner.status(),
            caches=self._caches,
            watches=0 if self._watches is None else self._watches.open_now,
            lag=self._lag,
        )

    # What deadlines ask.

    def _timed(self) -> list[TimedReplica]:
        return [TimedReplica(shard, shard.now_ms) for shard in self.shards.all()]

    async def _propose_due(self, command: Message, fence: ShardRef) -> None:
        await self.groups.propose(command, if_leader=fence)

    # Who leads.

    async def _transfer(self, shard: ShardId, node: str, timeout_s: float) -> None:
        """Hand over a shard; raises `Invalid`, `UnknownShardError` and what `transfer` raises."""
        if shard.group not in self.shards.declared:
            raise Invalid("shard", f"there is no group {shard.group}")
        shards = self.shards.slot_map.shards(shard.group)
        if shard not in shards:
            raise Invalid("shard", f"group {shard.group} has the shards 0 to {len(shards) - 1}")
        replica = self.shards.get(shard)
        if replica is None:
            raise NoLeaderError(shard)
        await transfer(replica, node, self._loop, timeout_s)

    def _leaderships(self) -> list[Leadership]:
        return [leadership_of(shard) for shard in self.shards.all() if shard.stopped is None]

    def _give_away(self, shard: ShardId, node: str) -> None:
        replica = self.shards.get(shard)
        if replica is None:
            raise TransferRefusedError("its replica here has stopped")
        replica.transfer(node)

    # What plugins and keepers watch.

    async def _changes(self, family: str) -> AsyncIterator[object]:
        """Yield something after each change of a family's rows, wherever its shards are."""
        shards = self.shards.slot_map.shards(self._catalog.families[family].group)
        watch = await self._watching().open({family: b""}, shards, changes_only=True)
        try:
            # What changed before the watch began was seen by nobody.
            yield None
            async for event in watch:
                yield event
        finally:
            watch.close()

    def _open_watch(self, group: str, families: dict[str, bytes], token: bytes = b"") -> Watch:
        if self._watches is None:
            raise RuntimeError("nothing can be watched before the node has a cluster")
        return self._watches.open(families, self.shards.slot_map.shards(group), token)

    def _open_mirrored(self, family: str, token: bytes) -> Watch:
        return self._open_watch(METADATA.group, {family: b""}, token)

    async def _watch_rows(self, family: str, prefix: bytes, token: bytes) -> Watch:
        """Watch behind a token, or from rows on that hold all that was written before."""
        shards = self.shards.slot_map.shards(self._catalog.families[family].group)
        return await self._watching().open({family: prefix}, shards, token)

    def _watching(self) -> FreshWatches:
        if self._fresh is None:
            raise UnreadableError("this node has no cluster yet; try again, or ask another node")
        return self._fresh

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
            space=self._space,
            membership=self._membership,
            node_clock=self._clocks,
            on_stopped=self._shard_stopped,
        )

    def _members_of(self, shard: ShardId) -> Membership | None:
        found = self.shards.get(shard)
        return None if found is None else found.membership

    def _admits(self, peer: Peer, config_index: int) -> bool:
        metadata = self.shards.replica(METADATA)
        if metadata is None:
            return False
        log = metadata.replica.log
        if log.configuration is None or config_index > log.configuration_index:
            return True
        return log.known(peer, metadata.replica.commit)

    def _config_index(self) -> int:
        metadata = self.shards.replica(METADATA)
        return 0 if metadata is None else metadata.replica.log.configuration_index

    def _metadata(self) -> Shard:
        """Return the replica of metadata/0; raises what it stopped with."""
        found = self.shards.replica(METADATA)
        if found is None:
            self._ended.result()
            raise RuntimeError("there is no metadata/0 before the node has a cluster")
        return found

    # Who is who.

    def _introduced(self, other: Introduction) -> Introduction:
        answer = self._forming.heard(other)
        metadata = self.shards.replica(METADATA)
        if other.first_entry and (metadata is None or metadata.configuration is None):
            self._joining.hear(other)
        return self._told(answer)

    def _told(self, introduction: Introduction) -> Introduction:
        """Return an introduction with what this node serves, and where the others are."""
        known = sorted(self._addresses.known.items())
        about = NodeIntroduction(
            declaration=self.shards.declaration,
            nodes=[NodeAddress(node=node, address=address) for node, address in known],
        )
        return replace(introduction, about=about.SerializeToString())

    async def _ask_who(self, node: str) -> Introduction:
        return await self.network.introduce(node, self._forming.introduction)

    async def _meet(self, node: str, address: str) -> Introduction:
        return await self.network.introduce(node, self._told(self._forming.introduction), address)

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

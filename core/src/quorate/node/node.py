"""The node of a process: its parts put together, and its life from its start to its stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry

from quorate.config import Settings
from quorate.consensus.refusals import MemoryLostError
from quorate.control.growth import Growth
from quorate.control.placement import Placement
from quorate.groups.files.file_sets import FileSets
from quorate.groups.files.publications import Publications
from quorate.groups.groups import Groups
from quorate.groups.members import MemberSteps
from quorate.groups.routing.quotas import Quotas
from quorate.groups.shard.shard import Shard
from quorate.groups.timing import end
from quorate.groups.watching.views import HeldViews
from quorate.healing.canary import Canary
from quorate.healing.event_histories import EventHistories
from quorate.healing.full_disk import FullDisk
from quorate.healing.repairs import Repairs
from quorate.healing.scrub import Scrub
from quorate.node import admin_service, tuning
from quorate.node.access import authority_known, authority_of, identities_of, is_taken
from quorate.node.admin_service import AdminService
from quorate.node.api import PluginNode
from quorate.node.certificates import Certificates
from quorate.node.directory import OtherClusterError, directory_of
from quorate.node.forming import Forming, initial_members
from quorate.node.leader_tasks import LeaderTasks, hand_over
from quorate.node.members import Members, is_being_removed
from quorate.node.metrics import Parts, expose
from quorate.node.peers import Peers
from quorate.node.placing import Placing
from quorate.node.plugin_metrics import PluginMetrics
from quorate.node.preflight import demand_traces
from quorate.node.readiness import STOPPING, Life, Readiness
from quorate.node.replacing import Replacing
from quorate.node.replicas import Replicas
from quorate.node.serving import NODE_SERVICES, Serving
from quorate.node.splitting import Splitting
from quorate.node.standing import Standing
from quorate.node.starts import Starts
from quorate.node.status import NodeReports
from quorate.node.topology_feed import TopologyFeed
from quorate.node.upkeep import Backups, finish_upgrade, purge, recover, reset_fences
from quorate.node.usage import TenantUsage
from quorate.node.watching import Watching
from quorate.observe.audit import AuditLog
from quorate.observe.http import Site
from quorate.observe.recorder import FILE, Recorder
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.rpc.asking import wall_ms
from quorate.rpc.audit_service import AuditService
from quorate.rpc.auditing import ADMIN, Audit, admin_methods
from quorate.rpc.command_service import CommandService
from quorate.rpc.file_service import FilePeerService, FileService, NodeFilePeers
from quorate.rpc.forwarder import NodeForwarder
from quorate.rpc.identities import Guard
from quorate.rpc.limits import CallLimits
from quorate.rpc.node_service import NodeService
from quorate.rpc.view_service import ViewService
from quorate.rpc.watch_service import WatchService
from quorate.storage.engine.port import DamagedError
from quorate.v1.node_pb2 import ClockResponse

if TYPE_CHECKING:
    from quorate.observe.collector import Collector
    from quorate.observe.traces import Traces

_log = logging.getLogger(__name__)

#: How long the parts of an orderly end may take.
HAND_OVER_S: Final = 5.0
FINISH_S: Final = 10.0
#: A call in flight when its client learned of the end has arrived by then, and is refused.
SILENT_S: Final = 0.1
#: Those that ask on and on are waited for no longer.
FAREWELL_S: Final = 1.0
#: What the collector does not take meanwhile is lost.
LAST_SPANS_S: Final = 2.0

#: Seconds between two looks at the alarms that the flight recorder has.
_ALARMS_S: Final = 5.0

#: The nodes of a cluster that starts as a whole are ready before one has the others open shards.
_OTHERS_S: Final = 3.0
_LEAVING: Final = "this node is being removed from its cluster; ask another node"
_NOT_ADDED: Final = (
    "this node waits to be added to its cluster with `quorate member add`; ask another node"
)


class Node:
    """Hosts the shards of a node and serves the plugins of a catalog.

    It begins with `start`, is good for all of its shards after `ready`, and ends with `stop`,
    whatever happened to it before.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        sites: Mapping[str, Site] | None = None,
        client_port: int | None = None,
    ) -> None:
        """Open the node's directory; `sites` are served over HTTP beside metrics and probes.

        A worker serves clients at `client_port` too, which it shares with those of its machine.

        Raises `GroupsDifferError`, `OtherClusterError`, `UnfinishedRestoreError`,
        `FormationRefusedError`, `EngineError`, `CertificateError`, `IssuerError`, `AuditError` and
        `ServingRefusedError`.
        """
        self._settings: Final = settings
        self._catalog: Final = catalog
        self._loop: Final = asyncio.get_running_loop()
        self._life: Final = Life(self._loop)
        self._version: Final = version("quorate")
        limits, shard_settings = settings.limits, tuning.shard_settings(settings)

        directory = directory_of(settings)
        first_members = initial_members(settings)
        forming = Forming(directory.me, first_members, directory.first_entry())
        self.recorder: Final = _recorder(settings, directory.path)
        self._collector, traces = _traces(settings)
        self._replicas: Final = Replicas(
            settings,
            catalog,
            directory,
            loop=self._loop,
            failed=self._life.end,
            recorder=self.recorder,
            traces=traces,
        )
        self.shards: Final = self._replicas.shards
        self.me: Final = self.shards.me
        tls = settings.tls
        self._certificates: Final = Certificates(tls, self.me.node) if tls.enabled else None
        starts = Starts(directory.path)
        self.peers: Final = Peers(
            settings, self.shards, forming, self._certificates, starts, self._loop
        )
        self.network: Final = self.peers.network
        channels = self.peers.channels
        self._files: Final = FileSets(
            self.me.node,
            catalog,
            self.shards.replica,
            directory.staged(),
            NodeFilePeers(self.me.node, channels),
            self._loop,
        )
        self._replicas.files = self._files
        self._audit_log: Final = _audit_log(settings)
        audit = None
        if self._audit_log is not None:
            changing = admin_methods(admin_service.SERVICE, admin_service.ALWAYS)
            audit = Audit(self._audit_log, catalog, changing, settings.audit.omit)
        self._readiness: Final = Readiness(self.shards, self._loop)
        quotas = Quotas(self._loop.time)
        self._watching: Final = Watching(
            catalog,
            self.shards,
            channels,
            quotas=quotas,
            loop=self._loop,
            read_timeout_s=shard_settings.read_timeout_s,
        )
        authority = authority_of(settings, catalog, self._watching.caches)
        self.groups: Final = Groups(
            self.me.node,
            catalog,
            self.shards,
            NodeForwarder(channels, self._loop, limits, traces),
            loop=self._loop,
            limits=limits,
            write_timeout_s=shard_settings.write_timeout_s,
            read_timeout_s=shard_settings.read_timeout_s,
            quotas=quotas,
            authority=authority,
            audit=None if audit is None else audit.command,
        )
        self._identities: Final = identities_of(settings, authority, self.network)

        self.metrics: Final = CollectorRegistry()
        plugin_metrics = PluginMetrics(catalog.metrics, self.metrics)
        self.api: Final = PluginNode(
            settings,
            catalog,
            self.groups,
            self._watching.caches,
            plugin_metrics,
            self._watching.rows,
            self.shards.get,
            authority,
            None if self._certificates is None else self._certificates.clients,
            shares_ports=client_port is not None,
            _level=self.shards.level,
            _is_reserved=partial(is_taken, self.network),
        )
        self.groups.admissions.node = self.api
        self._lifespans: Final = AsyncExitStack()
        self._recording: asyncio.Task[None] | None = None
        #: Set once this node is being removed.
        self._leaving: asyncio.Task[None] | None = None
        splitting = Splitting(self.shards, self.groups)
        growth = Growth(
            self.shards,
            catalog,
            tuning.split_bounds(settings),
            lambda shard, most: splitting.split(shard, 2, most_shards=most),
            self._loop,
        )
        placement = Placement(self.shards, self.peers.census, self.groups.propose_control)
        self.leader_tasks: Final = LeaderTasks(
            catalog,
            self.shards,
            self.groups,
            self.api.itself(),
            self._watching.changes,
            plugin_metrics.withdraw,
            self.peers.census,
            # Without a number of replicas there is nothing to place.
            [*([placement.controller] if self.shards.places else ()), *growth.controllers],
            loop=self._loop,
        )

        self.repairs: Final = Repairs(
            self.shards,
            self.peers.census,
            self.groups.propose_control,
            self._loop,
            wall_ms=wall_ms,
            record=lambda fields: self._audit_log.write(fields) if self._audit_log else None,
        )
        directory.on_damage = self._damaged
        self.scrub: Final = Scrub(
            self.shards,
            self.repairs,
            self.groups.propose_control,
            self._replicas.log.engine,
            self._loop,
            file_bytes_per_s=settings.scrub.file_bytes_per_s,
            row_bytes_per_s=settings.scrub.row_bytes_per_s,
            log_damaged=self._life.end,
        )
        self.histories: Final = EventHistories(
            self.shards,
            self.groups.propose_control,
            self._loop,
            settings.storage.history_bytes,
        )
        self.canary: Final = Canary(
            self.shards,
            self.peers.census,
            self.groups.propose_control,
            self._loop,
            wall_ms=wall_ms,
            period_s=settings.canary.period_ms / 1_000,
            slow_s=settings.canary.slow_ms / 1_000,
        )
        self.full_disk: Final = FullDisk(
            self.shards,
            lambda: self._replicas.shortage,
            self.peers.census.full.__contains__,
            self._loop,
        )
        self.backups: Final = Backups(self._replicas, channels, self._loop)
        steps = MemberSteps(self.shards.get, self.groups.propose_control)
        self._reports: Final = NodeReports(
            settings,
            catalog,
            self._replicas,
            self.peers.addresses,
            self.peers.census,
            placement,
            growth,
            self.leader_tasks.runner,
            self._life,
            self._version,
            self._certificates,
            self.repairs,
            [
                self.peers.neighbours.alarms,
                self.repairs.alarms,
                self.scrub.alarms,
                self.canary.alarms,
            ],
        )
        self._topology_feed: Final = TopologyFeed(
            self._reports.topology, self._reports.topology_key, self._loop
        )
        changes = Members(self.shards, self.groups, steps, self.peers, placement, self._loop)
        self._replacing: Final = Replacing(
            self.shards,
            changes,
            self.peers,
            self.repairs,
            directory,
            lambda: not self._life.missing(),
            self._loop,
        )
        self.admin: Final = AdminService(
            self._reports,
            self.leader_tasks,
            self.backups,
            changes,
            Placing(placement, self.groups, self.peers.census),
            splitting,
            partial(recover, self.shards, self.groups),
            partial(purge, catalog, self.shards, self.groups, channels),
            self.peers.clocks.ask,
            partial(reset_fences, self.shards, self.groups),
            partial(finish_upgrade, self.shards, self.groups),
            self.groups.quotas,
            self._topology_feed,
            self.groups.reads,
            self.api.readable,
            self.recorder,
        )
        self._usage: Final = TenantUsage(catalog, self.shards, self.groups, self._loop)
        watches = self._watching.watches
        call_limits = CallLimits(limits, NODE_SERVICES, self._loop, quotas, authority)
        guard = Guard(authority)
        views = HeldViews(self._loop, share=call_limits.views)
        node_service = NodeService(
            self.network,
            self.groups,
            self.shards.membership,
            steps.accept,
            wall_ms,
            watches,
            lambda: self._serving.forwarding(),
            call_limits.trust,
            guard,
            lambda: ClockResponse(
                led=self.shards.led(),
                replica=self.me.replica,
                full=self._replicas.shortage is not None,
            ),
        )
        self._publications: Final = Publications(
            self.shards.get,
            self.shards.leading,
            self._files,
            self.groups.propose_control,
            self._loop,
        )
        self._serving: Final = Serving(
            settings,
            catalog,
            self.api,
            call_limits,
            WatchService(
                watches, lambda group: self.shards.slot_map.shards(group), catalog, authority
            ),
            [
                self.peers,
                node_service,
                CommandService(self.groups, catalog, limits),
                ViewService(views, self.shards.get, catalog, self.api.readable),
                FileService(self._files, self._publications, catalog, authority),
                FilePeerService(self._files, self._durable_index, node_service.admit),
                self.admin,
                AuditService(self._audit_log, {ADMIN, *catalog.declared}, self.groups.reads),
            ],
            identities=self._identities,
            guard=guard,
            certificates=self._certificates,
            listen=self.network.listen,
            registry=self.metrics,
            missing=self._life.missing,
            audit=audit,
            sites=sites or {},
            loop=self._loop,
            client_port=client_port,
            recorder=self.recorder,
            traces=traces,
        )
        self._standing: Final = Standing(
            self.shards, lambda: self._replicas.shortage, self._serving.report, self._loop
        )
        self._life.refusal = lambda: self._serving.gate.closed
        self.peers.on_misplaced = lambda why: self._life.end(OtherClusterError(why))
        self.peers.on_outdated = self._outdated
        parts = Parts(
            replicas=self._replicas,
            serving=self._serving,
            watching=self._watching,
            runner=self.leader_tasks.runner,
            timers=self.leader_tasks.timers,
            version=self._version,
            ready=lambda: not self._life.missing(),
            audit=self._audit_log,
            repairs=self.repairs,
            scrub=self.scrub,
            histories=self.histories,
            canary=self.canary,
            certificates=self._certificates,
            collector=self._collector,
            alarms=self._reports.alarms,
        )
        expose(self.metrics, parts)
        join = settings.cluster.join
        members = f"those of the cluster of {_listed(join)}" if join else ""
        _log.info(
            "1/5 configured: node %s at %s, members %s, plugins %s",
            self.me.node,
            settings.node.address,
            members or _listed(first_members),
            ", ".join(catalog.declared) or "none",
        )

    async def start(self) -> None:
        """Listen, form or join the cluster, open the shards, and let calls in.

        Raises `ServingRefusedError`, `FormationRefusedError`, `GroupsDifferError`,
        `ReleaseTooOldError`, `UnclaimedDataError`, and what says that metadata/0 cannot be opened;
        `stop` is due then too.
        """
        node = self._settings.node
        if self._certificates is not None:
            self._certificates.follow(self._loop)
        self._identities.follow(self._loop)
        await self._serving.start()
        _log.info(
            "2/5 listening on %s, for other nodes on port %d, metrics and probes on %s, data in %s",
            node.address,
            self.network.port,
            node.http_address,
            node.dir.absolute(),
        )
        entry = await self.peers.find_cluster(self._serving.gate.close)
        first_members = self._replicas.join(entry)
        cluster = self._replicas.cluster
        names = _listed(peer.node for peer in first_members.voters)
        _log.info("3/5 in cluster %s, founded by %s", cluster.hex(), names)
        self._replicas.open(
            first_members,
            self.groups.propose_control,
            self.peers,
            catch_up=self._watching.catch_up,
            check=self.scrub.digest,
        )
        self._watching.join(cluster)
        self.peers.join(cluster)
        if not self.shards.unopened:
            self.peers.live()
        for declared in self._catalog.declared.values():
            if declared.lifespan is not None:
                await self._lifespans.enter_async_context(declared.lifespan(self.api))
        metadata = self._replicas.metadata()
        self.peers.addresses.follow(metadata)
        metadata.subscribe(lambda _: self._look_for_removal(metadata))
        self._look_for_removal(metadata)
        if metadata.configuration is None:
            self._serving.gate.close(_NOT_ADDED)
        elif self._leaving is None:
            self._serving.gate.open()
        if self.recorder is not None:
            self.recorder.event("start", node=self.me.node, version=self._version)
            self._recording = self._loop.create_task(self._record_alarms(self.recorder))
        self._life.settle(
            self._settle(),
            self._readiness.missing,
            lambda: [*self._readiness.lacking(), *self._standing.lacking()],
        )
        self._replacing.start()
        self.repairs.start()
        self.full_disk.start()

    async def ready(self) -> None:
        """Wait until every shard here has what its leader had committed.

        Raises what ended the node before that.
        """
        await self._life.settled()

    async def ended(self) -> None:
        """Wait until the node cannot go on; raises what stopped it."""
        await self._life.ended()

    async def stop(self) -> None:
        """Stop accepting calls, transfer leaderships, drain, flush and close."""
        _log.info("stopping: no more calls are taken")
        self._life.stop()
        self.backups.stop()
        await end(self._leaving)
        await self._serving.refuse(STOPPING)
        if self._audit_log is not None:
            self._audit_log.end_following()
        await self._life.stop_settling()
        await self._standing.stop()
        await self.leader_tasks.stop()
        await self._usage.stop()
        for healing in (
            self.full_disk,
            self.canary,
            self.histories,
            self.scrub,
            self._replacing,
            self.repairs,
        ):
            await healing.stop()
        await self._publications.stop()
        # What it opened now, it would have to hand over.
        self.shards.unopened.end()
        full = self.peers.census.full.__contains__
        handed, kept = await hand_over(self.shards.all(), self._loop, HAND_OVER_S, full)
        if handed:
            _log.info("handed over %s", ", ".join(str(shard.id) for shard in handed))
        if kept:
            _log.info("no other voter takes %s", ", ".join(str(shard.id) for shard in kept))
        if not await self._serving.gate.emptied(FINISH_S):
            inside = +self._serving.gate.inside
            left = ", ".join(f"{count} of {method}" for method, count in inside.items())
            _log.warning("cancelling calls still running after %g s: %s", FINISH_S, left)
        await self._serving.gate.silent(SILENT_S, within_s=FAREWELL_S)
        await self._lifespans.aclose()
        await self._topology_feed.stop()
        await self._watching.stop()
        await self._files.stop()
        await self.peers.stop()
        await self._serving.stop()
        await self._identities.stop()
        if self._certificates is not None:
            await self._certificates.stop()
        await self._replicas.close()
        await end(self._recording)
        if self.recorder is not None:
            self.recorder.event("stop")
            self.recorder.close()
        if self._collector is not None:
            await self._loop.run_in_executor(None, self._collector.close, LAST_SPANS_S)
        if self._audit_log is not None:
            await self._loop.run_in_executor(None, self._audit_log.close)
        _log.info("stopped")

    def _damaged(self, shard: ShardId | None, error: DamagedError) -> None:
        """Fence what is damaged: one replica, or with the log the node; in any thread."""
        act = self._life.end if shard is None else partial(self.repairs.fence, shard)
        with suppress(RuntimeError):
            # Otherwise the loop has ended, and the node with it.
            self._loop.call_soon_threadsafe(act, error)

    def _outdated(self, node: str) -> None:
        """End: this node has forgotten what it acknowledged and voted for since then."""
        self._life.end(
            MemoryLostError(
                f"{node} has met a later start of this node: node.dir is an older copy of itself",
                "it must vote no more, and begin anew: `quorate member replace`",
            )
        )

    async def _record_alarms(self, recorder: Recorder) -> None:
        before: frozenset[str] = frozenset()
        while True:
            now = frozenset(self._reports.alarms())
            for alarm in sorted(now - before):
                recorder.event("alarm", alarm=alarm)
            for alarm in sorted(before - now):
                recorder.event("alarm ended", alarm=alarm)
            before = now
            await asyncio.sleep(_ALARMS_S)

    def _durable_index(self, shard: ShardId) -> int:
        replica = self.shards.replica(shard)
        return 0 if replica is None else replica.data.durable_index

    def _look_for_removal(self, metadata: Shard) -> None:
        """Take no more calls once the removal of this node has begun: it cannot be taken back.

        What it forwards is refused when it is over, and clients would learn of that late.
        """
        if self._leaving is None and is_being_removed(metadata, self.me):
            self._leaving = self._loop.create_task(self._serving.refuse(_LEAVING))

    async def _settle(self) -> None:
        """Come to be ready, as soon as the shards do."""
        await self.peers.admitted(self._replicas.metadata())
        if self._leaving is None:
            self._serving.gate.open()
        hosted = await self._readiness.hosted()
        later = len(self.shards.unopened)
        _log.info(
            "4/5 hosting %s%s",
            ", ".join(str(shard.id) for shard in hosted),
            f", and {later} that open when they are needed, or in their turn" if later else "",
        )
        self._watching.start()
        self.leader_tasks.start()
        self._usage.start()
        self._files.start()
        self._publications.start()
        self.scrub.start()
        self.histories.start()
        self.canary.start()
        await authority_known(self._watching.caches)
        hosted = await self._readiness.wanted(self.peers.census)
        self.peers.live()
        await self._readiness.told(hosted)
        # What one shard lacks keeps nobody from the others.
        await self._readiness.tried(hosted)
        await self._serving.report(True)
        self._standing.start()
        self._loop.call_later(_OTHERS_S, self.shards.unopened.open_all)
        await self._readiness.caught_up(hosted)
        _log.info("5/5 ready: node %s at %s", self.me.node, self._settings.node.address)


def _audit_log(settings: Settings) -> AuditLog | None:
    audit = settings.audit
    if audit.file is None:
        return None
    return AuditLog(audit.file, largest=audit.file_bytes, kept=audit.files, node=settings.node.name)


def _traces(settings: Settings) -> tuple[Collector | None, Traces | None]:
    """Return where spans go and come from; raises `ServingRefusedError`."""
    section = settings.traces
    if section.endpoint is None:
        return None, None
    demand_traces(settings)
    from quorate.observe.collector import collector_at
    from quorate.observe.traces import Traces

    collector = collector_at(section.endpoint, section.waiting_spans)
    provider = collector.provider(settings.node.name)
    return collector, Traces(provider, ratio=section.ratio, follows=section.callers)


def _recorder(settings: Settings, directory: Path) -> Recorder | None:
    """Return the flight recorder; None without one, or without room for it."""
    if not settings.recorder.bytes:
        return None
    try:
        return Recorder(directory / FILE, settings.recorder.bytes)
    except OSError as error:
        _log.warning("there is no flight recorder: %s", error)
        return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))

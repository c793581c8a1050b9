"""The node of a process: its parts put together, and its life from its start to its stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from importlib.metadata import version
from typing import Final

from prometheus_client import CollectorRegistry

from quorate.config import Settings
from quorate.consensus.refusals import MemoryLostError
from quorate.files.file_sets import FileSets
from quorate.files.publications import Publications
from quorate.node import tuning
from quorate.node.access import Trust, authority_known, authority_of, identities_of, is_taken
from quorate.node.api import PluginNode
from quorate.node.certificates import Certificates
from quorate.node.directory import OtherClusterError, directory_of
from quorate.node.forming import Forming, initial_members
from quorate.node.ground import Ground
from quorate.node.healing import Healing
from quorate.node.leader_tasks import LeaderTasks, hand_over
from quorate.node.members import is_being_removed
from quorate.node.metrics import Parts, expose, totals
from quorate.node.operations import Operations
from quorate.node.peers import Peers
from quorate.node.plugin_metrics import PluginMetrics
from quorate.node.ports import Ports
from quorate.node.readiness import STOPPING, Lifecycle, Readiness
from quorate.node.recordings import Recordings
from quorate.node.replicas import Replicas
from quorate.node.rooms import Rooms
from quorate.node.serving import Serving
from quorate.node.standing import Standing
from quorate.node.standpoint import Standpoint
from quorate.node.starts import Starts
from quorate.node.usage import TenantUsage
from quorate.node.watching import Watching
from quorate.observe.history import History
from quorate.observe.http import Site
from quorate.plugin.access import Authority
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.rpc.file_service import NodeFilePeers
from quorate.rpc.forwarder import NodeForwarder
from quorate.shards.router import Router
from quorate.shards.routing.quotas import Quotas
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import end
from quorate.storage.engine.port import DamagedError
from quorate.topology.commands.routes import ROUTES

_log = logging.getLogger(__name__)

#: How long the parts of an orderly end may take.
HAND_OVER_S: Final = 5.0
FINISH_S: Final = 10.0
#: A call in flight when its client learned of the end has arrived by then, and is refused.
SILENT_S: Final = 0.1
#: Those that ask on and on are waited for no longer.
FAREWELL_S: Final = 1.0
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
        loop = asyncio.get_running_loop()
        self._loop: Final = loop
        self._lifecycle: Final = Lifecycle(loop)
        directory = directory_of(settings)
        self._recordings: Final = Recordings(settings, catalog, directory.path, self._loop)
        first_members = initial_members(settings)
        forming = Forming(directory.me, first_members, directory.first_entry())
        tls = settings.tls
        certificates = Certificates(tls, directory.me.node) if tls.enabled else None
        records, release = self._recordings, version("quorate")
        ground = Ground(settings, catalog, loop, self._lifecycle, records, certificates, release)
        self._ground: Final = ground
        self._replicas: Final = Replicas(ground, directory)
        self.shards: Final = self._replicas.shards
        self.me: Final = self.shards.me
        self.peers: Final = Peers(ground, self.shards, forming, Starts(directory.path))
        self.network: Final = self.peers.network
        self._files: Final = _files_of(ground, self._replicas, self.peers)
        self._replicas.files = self._files
        self._readiness: Final = Readiness(self.shards, self._loop)
        quotas = Quotas(self._loop.time)
        self._watching: Final = _watching_of(ground, self._replicas, self.peers, quotas)
        authority = authority_of(settings, catalog, self._watching.caches)
        self._trust: Final = Trust(identities_of(settings, authority, self.network), authority)
        self.router: Final = _router_of(ground, self._replicas, self.peers, quotas, authority)
        self.metrics: Final = CollectorRegistry()
        plugin_metrics = PluginMetrics(catalog.metrics, self.metrics)
        self.api: Final = PluginNode(
            settings,
            catalog,
            self.router,
            self._watching.caches,
            plugin_metrics,
            self._watching.rows,
            self.shards.get,
            authority,
            _ports_of(settings, certificates, shared=client_port is not None),
            Standpoint(self._replicas, self.peers, lambda *to: self.leader_tasks.transfer(*to)),
            _level=self.shards.level,
            _is_reserved=partial(is_taken, self.network),
        )
        self.router.admissions.node = self.api
        self._lifespans: Final = AsyncExitStack()
        #: Set once this node is being removed.
        self._leaving: asyncio.Task[None] | None = None
        #: The applier's count of changes when the removal of this node was last looked for.
        self._core_changes = -1
        census, propose = self.peers.census, self.router.propose_control
        changes, withdraw = self._watching.changes, plugin_metrics.withdraw
        self.leader_tasks: Final = LeaderTasks(
            ground, self.shards, self.router, self.api.itself(), changes, withdraw, census
        )
        self.healing: Final = Healing(ground, self._replicas, census, propose)
        directory.on_damage = self._damaged
        rooms = Rooms(ground, self._replicas, self.peers, self.router, self.api)
        self.operations: Final = Operations(rooms, self.leader_tasks, self.healing)
        self._usage: Final = TenantUsage(catalog, self.shards, self.router, self._loop)
        self._publications: Final = Publications(
            self.shards.get, self.shards.leading, self._files, propose, self._loop
        )
        self._serving: Final = Serving(
            rooms,
            self._watching,
            self._trust,
            self.operations,
            self._files,
            self._publications,
            registry=self.metrics,
            sites=sites or {},
            client_port=client_port,
        )
        self._standing: Final = Standing(
            self._loop, self.shards, lambda: self._replicas.shortage, self._serving.report
        )
        self._lifecycle.refusal = lambda: self._serving.gate.closed
        self.peers.on_misplaced = lambda why: self._lifecycle.end(OtherClusterError(why))
        self.peers.on_outdated = self._outdated
        parts = self._parts()
        expose(self.metrics, parts)
        self._history: Final = History(self._loop, partial(totals, parts))
        _log_configured(settings, catalog, first_members)

    async def start(self) -> None:
        """Listen, form or join the cluster, open the shards, and let calls in.

        Raises `ServingRefusedError`, `FormationRefusedError`, `GroupsDifferError`,
        `ReleaseTooOldError`, `UnclaimedDataError`, and what says that metadata/0 cannot be opened;
        `stop` is due then too.
        """
        node = self._settings.node
        if (certificates := self._ground.certificates) is not None:
            certificates.follow(self._loop)
        self._trust.identities.follow(self._loop)
        await self._serving.start(self._history)
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
            self.router.propose_control,
            self.peers,
            catch_up=self._watching.catch_up,
            check=self.healing.scrub.digest,
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
        self._recordings.begin(self.me.node, self._ground.version, self.operations.reports.alarms)
        self._lifecycle.make_ready(
            self._become_ready(),
            self._readiness.missing,
            lambda: [*self._readiness.lacking(), *self._standing.lacking()],
        )
        self.operations.replacing.start()
        self.healing.start()

    async def ready(self) -> None:
        """Wait until every shard here has what its leader had committed.

        Raises what ended the node before that.
        """
        await self._lifecycle.ready()

    async def ended(self) -> None:
        """Wait until the node cannot go on; raises what stopped it."""
        await self._lifecycle.ended()

    async def stop(self) -> None:
        """Stop accepting calls, transfer leaderships, drain, flush and close."""
        _log.info("stopping: no more calls are taken")
        self._lifecycle.stop()
        self.operations.backups.stop()
        await end(self._leaving)
        await self._serving.refuse(STOPPING)
        self._recordings.end_following()
        await self._lifecycle.stop_getting_ready()
        await self._standing.stop()
        await self.leader_tasks.stop()
        await self._usage.stop()
        await self.healing.stop_checks()
        await self.operations.replacing.stop()
        await self.healing.repairs.stop()
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
        await self.operations.topology_feed.stop()
        await self._watching.stop()
        await self._files.stop()
        await self.peers.stop()
        await self._serving.stop()
        await self._trust.identities.stop()
        if (certificates := self._ground.certificates) is not None:
            await certificates.stop()
        self._history.stop()
        await self._replicas.close()
        await self._recordings.close()
        _log.info("stopped")

    def _parts(self) -> Parts:
        """Return the parts that have metrics."""
        return Parts(
            ground=self._ground,
            replicas=self._replicas,
            serving=self._serving,
            watching=self._watching,
            runner=self.leader_tasks.runner,
            timers=self.leader_tasks.timers,
            healing=self.healing,
            records=self._recordings,
            alarms=self.operations.reports.alarms,
        )

    def _damaged(self, shard: ShardId | None, error: DamagedError) -> None:
        """Fence what is damaged: one replica, or with the log the node; in any thread."""
        act = self._lifecycle.end if shard is None else partial(self.healing.repairs.fence, shard)
        with suppress(RuntimeError):
            # Otherwise the loop has ended, and the node with it.
            self._loop.call_soon_threadsafe(act, error)

    def _outdated(self, node: str) -> None:
        """End: this node has forgotten what it acknowledged and voted for since then."""
        self._lifecycle.end(
            MemoryLostError(
                f"{node} has met a later start of this node: node.dir is an older copy of itself",
                "it must vote no more, and begin anew: `quorate member replace`",
            )
        )

    def _look_for_removal(self, metadata: Shard) -> None:
        """Take no more calls once the removal of this node has begun: it cannot be taken back.

        What it forwards is refused when it is over, and clients would learn of that late.
        """
        changes = metadata.applier.core_changes
        if changes == self._core_changes:
            return
        self._core_changes = changes
        if self._leaving is None and is_being_removed(metadata, self.me):
            self._leaving = self._loop.create_task(self._serving.refuse(_LEAVING))

    async def _become_ready(self) -> None:
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
        self.healing.start_checks()
        await authority_known(self._watching.caches)
        hosted = await self._readiness.wanted(self.peers.census)
        self.peers.live()
        await self._readiness.announced(hosted)
        # What one shard lacks keeps nobody from the others.
        await self._readiness.tried(hosted)
        await self._serving.report(True)
        self._standing.start()
        self._loop.call_later(_OTHERS_S, self.shards.unopened.open_all)
        await self._readiness.caught_up(hosted)
        _log.info("5/5 ready: node %s at %s", self.me.node, self._settings.node.address)


def _log_configured(settings: Settings, catalog: Catalog, first_members: Iterable[str]) -> None:
    join = settings.cluster.join
    members = f"those of the cluster of {_listed(join)}" if join else ""
    _log.info(
        "1/5 configured: node %s at %s, members %s, plugins %s",
        settings.node.name,
        settings.node.address,
        members or _listed(first_members),
        ", ".join(catalog.declared) or "none",
    )


def _ports_of(settings: Settings, certificates: Certificates | None, *, shared: bool) -> Ports:
    tls = None if certificates is None else certificates.of_protocols
    return Ports(limits=settings.limits, tls=tls, shared=shared)


def _files_of(ground: Ground, replicas: Replicas, peers: Peers) -> FileSets:
    node = replicas.shards.me.node
    staged = replicas.directory.staged()
    others = NodeFilePeers(node, peers.channels)
    return FileSets(ground.loop, node, ground.catalog, replicas.shards.replica, staged, others)


def _watching_of(ground: Ground, replicas: Replicas, peers: Peers, quotas: Quotas) -> Watching:
    return Watching(
        ground.catalog,
        replicas.shards,
        peers.channels,
        quotas=quotas,
        loop=ground.loop,
        read_timeout_s=tuning.shard_settings(ground.settings).read_timeout_s,
    )


def _router_of(
    ground: Ground, replicas: Replicas, peers: Peers, quotas: Quotas, authority: Authority
) -> Router:
    limits, shard_settings = ground.settings.limits, tuning.shard_settings(ground.settings)
    audit, traces = ground.recordings.audit, ground.recordings.traces
    return Router(
        replicas.shards.me.node,
        ground.catalog,
        replicas.shards,
        NodeForwarder(peers.channels, ground.loop, limits, traces),
        loop=ground.loop,
        limits=limits,
        write_timeout_s=shard_settings.write_timeout_s,
        read_timeout_s=shard_settings.read_timeout_s,
        quotas=quotas,
        authority=authority,
        audit=None if audit is None else audit.command,
        control=ROUTES,
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))

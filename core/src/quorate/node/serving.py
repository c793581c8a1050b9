"""The servers of a node: gRPC services behind its gate, and probes and metrics over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry

from quorate.config import Settings
from quorate.config.addresses import is_loopback
from quorate.config.members import DEFAULT_TOKEN
from quorate.consensus.peer.streams import SERVICE as PEER_SERVICE
from quorate.files.file_sets import FileSets
from quorate.files.publications import Publications
from quorate.node import admin_rights, tuning
from quorate.node.access import Trust
from quorate.node.gate import Gate
from quorate.node.operations import Operations
from quorate.node.probes import Probes
from quorate.node.rooms import Rooms
from quorate.node.watching import Watching
from quorate.observe.history import History
from quorate.observe.http import Site
from quorate.observe.loop_lag import LoopLag
from quorate.plugin import NodeApi
from quorate.plugin.shard_id import ShardId
from quorate.rpc.asking import wall_ms
from quorate.rpc.audit_service import AuditService
from quorate.rpc.auditing import ADMIN
from quorate.rpc.calls import CallTally
from quorate.rpc.channels import SERVICE as NODE_SERVICE
from quorate.rpc.command_service import CommandService
from quorate.rpc.engines.engine import Encryption
from quorate.rpc.file_service import PEERS as FILE_PEERS, FilePeerService, FileService
from quorate.rpc.identities import Guard
from quorate.rpc.limits import CallLimits
from quorate.rpc.node_service import NodeService
from quorate.rpc.server import RpcServer, ServingRefusedError
from quorate.rpc.view_service import ViewService
from quorate.rpc.watch_service import WatchService
from quorate.shards.watching.views import HeldViews
from quorate.v1 import snapshot_pb2
from quorate.v1.node_pb2 import ClockResponse


class Service(Protocol):
    """A service of core."""

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""


#: What nodes ask of each other: these are no clients.
NODE_SERVICES: Final = (
    NODE_SERVICE.full_name,
    PEER_SERVICE,
    snapshot_pb2.DESCRIPTOR.services_by_name["SnapshotService"].full_name,
    FILE_PEERS.full_name,
)
_HEALTH: Final = "grpc.health.v1.Health"
#: What nodes and probes ask whatever the node is doing.
_UNGATED: Final = (_HEALTH, *NODE_SERVICES, *admin_rights.ALWAYS)
#: What other nodes ask for on behalf of their clients.
_AWAITED: Final = (f"{NODE_SERVICE.full_name}/Query",)
#: What they forward is inside for as long as it is carried out: their streams stay.
_FORWARD: Final = f"{NODE_SERVICE.full_name}/Forward"
#: How long the last answers may take to leave.
_LAST_ANSWERS_S: Final = 0.1


def demand_secret(settings: Settings) -> None:
    """Raise `ServingRefusedError` where anyone who connects could claim to be a node."""
    known = settings.cluster.token.get_secret_value() == DEFAULT_TOKEN
    if (
        known
        and settings.tls.enabled
        and not settings.tls.require_client_cert
        and not is_loopback(settings.node.host)
    ):
        raise ServingRefusedError(
            "cluster.token is the default one, which everybody knows, and it alone would show "
            "that a caller is a node; set tls.require_client_cert = true, or, before the "
            "cluster is founded, a secret token on all nodes"
        )


class Serving:
    """Listens from `start` on, lets clients' calls in while its gate is open, and ends them.

    Clients are served at `client_port` too, if any, which the workers of the machine share.
    """

    def __init__(
        self,
        rooms: Rooms,
        watching: Watching,
        trust: Trust,
        operations: Operations,
        files: FileSets,
        publications: Publications,
        *,
        registry: CollectorRegistry,
        sites: Mapping[str, Site],
        client_port: int | None = None,
    ) -> None:
        ground, replicas, peers, router = rooms.ground, rooms.replicas, rooms.peers, rooms.router
        settings, catalog, loop = ground.settings, ground.catalog, ground.loop
        shards, authority, recordings = replicas.shards, trust.authority, ground.recordings
        self._sites: Final = sites
        self._settings: Final = settings
        self._catalog: Final = catalog
        self._api: Final[NodeApi] = rooms.api
        self._certificates: Final = ground.certificates
        self._network: Final = peers.network
        self._client_port: Final = client_port
        self.gate: Final = Gate(_UNGATED, _AWAITED)
        slow_s = settings.timing.slow_write_ms / 1_000
        self.calls: Final = CallTally(
            recordings.recorder, slow_s, recordings.traces, (_HEALTH, *NODE_SERVICES)
        )
        self.lag: Final = LoopLag(loop)
        self.limits: Final = CallLimits(
            settings.limits, NODE_SERVICES, loop, router.quotas, authority
        )
        outermost = [self.calls.around, self.gate.around, trust.identities.around]
        if recordings.audit is not None:
            outermost.insert(1, recordings.audit.around)
        guard = Guard(authority)
        self._server: Final = RpcServer(
            settings.limits,
            tuning.stream_limits(settings),
            outermost,
            self.limits,
            guard,
            engine=settings.rpc.engine,
            shares_port=client_port is not None,
        )
        self._probes: Final = Probes(loop, registry, ground.lifecycle.missing)

        def durable_index(shard: ShardId) -> int:
            replica = shards.replica(shard)
            return 0 if replica is None else replica.data.durable_index

        node_service = NodeService(
            peers.network,
            router,
            shards.membership,
            operations.steps.accept,
            wall_ms,
            watching.watches,
            lambda: self.gate.within(_FORWARD),
            self.limits.trust,
            guard,
            lambda: ClockResponse(
                led=shards.led(), replica=shards.me.replica, full=replicas.shortage is not None
            ),
        )
        self._watch_service: Final = WatchService(
            watching.watches, lambda group: shards.slot_map.shards(group), catalog, authority
        )
        views = HeldViews(loop, share=self.limits.views)
        self._services: Final[Sequence[Service]] = (
            peers,
            node_service,
            CommandService(router, catalog, settings.limits),
            ViewService(views, shards.get, catalog, rooms.api.readable),
            FileService(files, publications, catalog, authority),
            FilePeerService(files, durable_index, node_service.admit),
            operations.admin,
            AuditService(recordings.log, {ADMIN, *catalog.declared}, router.reads),
            self._watch_service,
        )

    async def start(self, history: History) -> None:
        """Listen; raises `ServingRefusedError`."""
        node = self._settings.node
        for service in self._services:
            service.add_to(self._server)
        self._server.add_plugins(self._catalog, lambda _: self._api)
        certificates = self._certificates
        encryption = None
        if certificates is not None:
            encryption = Encryption(certificates.grpc, certificates.server_credentials)
        demand_secret(self._settings)
        for port in (node.port, self._client_port):
            if port is not None:
                self._server.bind(node.host, port, self._settings.tls, encryption)
        try:
            # Before it answers over gRPC where that is.
            await self._network.listen(node.host, node.peer_port)
        except OSError as error:
            raise ServingRefusedError(
                f"cannot listen on {node.peer_address} for other nodes: stop the process that uses"
                f" it, or set node.peer_port to another port ({error})"
            ) from None
        await self._server.start(reflection=node.reflection)
        self.lag.start()
        history.start()
        try:
            # The gRPC server comes first: it refuses a host that must not be listened on.
            http_tls = None if certificates is None else certificates.http
            self._probes.start(node.host, node.http_port, http_tls, self._sites, history)
        except OSError as error:
            raise ServingRefusedError(
                f"cannot listen on {node.http_address} for metrics and probes: stop the process"
                f" that uses it, or set node.http_port to another port ({error})"
            ) from None

    @property
    def faults(self) -> Mapping[str, int]:
        """Faults of clients against HTTP/2, by the names of their codes."""
        return self._server.faults

    async def report(self, well: bool) -> None:
        """Tell the health service whether the node can serve, unless it refuses calls anyway."""
        await self._server.set_serving(well and self.gate.closed is None)

    async def refuse(self, why: str) -> None:
        """Refuse calls, report NOT_SERVING, and end the watches: their clients move on."""
        self.gate.close(why)
        await self._server.set_serving(False)
        await self._watch_service.stop(why)

    async def stop(self) -> None:
        """Let the last answers leave, break off the calls that go on, and answer no more."""
        await self._server.stop(_LAST_ANSWERS_S)
        self.lag.stop()
        await self._probes.stop()

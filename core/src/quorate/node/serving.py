"""The servers of a node: gRPC services behind its gate, and probes and metrics over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Protocol

from prometheus_client import CollectorRegistry

from quorate.config import Settings
from quorate.config.addresses import is_loopback
from quorate.config.sections import DEFAULT_TOKEN
from quorate.consensus.peer.streams import SERVICE as PEER_SERVICE
from quorate.node import admin_service, tuning
from quorate.node.certificates import Certificates
from quorate.node.gate import Gate
from quorate.node.probes import Probes
from quorate.observe.http import Site
from quorate.observe.loop_lag import LoopLag
from quorate.observe.recorder import Recorder
from quorate.plugin import NodeApi
from quorate.plugin.catalog import Catalog
from quorate.rpc.auditing import Audit
from quorate.rpc.calls import CallTally
from quorate.rpc.channels import SERVICE as NODE_SERVICE
from quorate.rpc.engines.engine import Encryption
from quorate.rpc.file_service import PEERS as FILE_PEERS
from quorate.rpc.identities import Guard, Identities
from quorate.rpc.limits import CallLimits
from quorate.rpc.server import RpcServer, ServingRefusedError
from quorate.rpc.watch_service import WatchService
from quorate.v1 import snapshot_pb2

if TYPE_CHECKING:
    from quorate.observe.traces import Traces

#: What nodes ask of each other: these are no clients.
NODE_SERVICES: Final = (
    NODE_SERVICE.full_name,
    PEER_SERVICE,
    snapshot_pb2.DESCRIPTOR.services_by_name["SnapshotService"].full_name,
    FILE_PEERS.full_name,
)
_HEALTH: Final = "grpc.health.v1.Health"
#: What nodes and probes ask whatever the node is doing.
_UNGATED: Final = (_HEALTH, *NODE_SERVICES, *admin_service.ALWAYS)
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


class Service(Protocol):
    """A service of core."""

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""


class Serving:
    """Listens from `start` on, lets clients' calls in while its gate is open, and ends them.

    `listen` takes the connections of other nodes at a host and a port. Clients are served at
    `client_port` too, if any, which the workers of the machine share.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        api: NodeApi,
        limits: CallLimits,
        watch_service: WatchService,
        services: Sequence[Service],
        *,
        identities: Identities,
        guard: Guard,
        certificates: Certificates | None,
        listen: Callable[[str, int], Awaitable[None]],
        registry: CollectorRegistry,
        missing: Callable[[], Sequence[str]],
        audit: Audit | None,
        sites: Mapping[str, Site],
        loop: asyncio.AbstractEventLoop,
        client_port: int | None = None,
        recorder: Recorder | None = None,
        traces: Traces | None = None,
    ) -> None:
        self._sites: Final = sites
        self._settings: Final = settings
        self._catalog: Final = catalog
        self._api: Final = api
        self._watch_service: Final = watch_service
        self._services: Final = services
        self._certificates: Final = certificates
        self._listen: Final = listen
        self._client_port: Final = client_port
        self.gate: Final = Gate(_UNGATED, _AWAITED)
        slow_s = settings.timing.slow_write_ms / 1_000
        self.calls: Final = CallTally(recorder, slow_s, traces, (_HEALTH, *NODE_SERVICES))
        self.lag: Final = LoopLag(loop)
        outermost = [self.calls.around, self.gate.around, identities.around]
        if audit is not None:
            outermost.insert(1, audit.around)
        self.limits: Final = limits
        self._server: Final = RpcServer(
            settings.limits,
            tuning.stream_limits(settings),
            outermost,
            self.limits,
            guard,
            engine=settings.rpc.engine,
            shares_port=client_port is not None,
        )
        self._probes: Final = Probes(loop, registry, missing)

    async def start(self) -> None:
        """Listen; raises `ServingRefusedError`."""
        node = self._settings.node
        for service in (*self._services, self._watch_service):
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
            await self._listen(node.host, node.peer_port)
        except OSError as error:
            raise ServingRefusedError(
                f"cannot listen on {node.peer_address} for other nodes: stop the process that uses"
                f" it, or set node.peer_port to another port ({error})"
            ) from None
        await self._server.start(reflection=node.reflection)
        self.lag.start()
        try:
            # The gRPC server comes first: it refuses a host that must not be listened on.
            http_tls = None if certificates is None else certificates.http
            self._probes.start(node.host, node.http_port, http_tls, self._sites)
        except OSError as error:
            raise ServingRefusedError(
                f"cannot listen on {node.http_address} for metrics and probes: stop the process"
                f" that uses it, or set node.http_port to another port ({error})"
            ) from None

    @property
    def faults(self) -> Mapping[str, int]:
        """Faults of clients against HTTP/2, by the names of their codes."""
        return self._server.faults

    def forwarding(self) -> AbstractContextManager[None]:
        """Count forwarded commands as inside while they are carried out."""
        return self.gate.within(_FORWARD)

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

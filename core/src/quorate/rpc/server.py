"""The gRPC server of a node: its addresses, its services and its health."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Final

from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health  # type: ignore[attr-defined]  # the stubs lack it

from quorate.config.addresses import is_loopback, join_address
from quorate.config.files import open_files
from quorate.config.sections import EngineName, LimitsSection, TlsSection
from quorate.consensus.peer.streams import StreamLimits
from quorate.http2.grpc.server import Observer
from quorate.plugin import Access, NodeApi
from quorate.plugin.access import OPERATIONS
from quorate.plugin.catalog import Catalog
from quorate.plugin.discovery import module_owners
from quorate.plugin.needs import Need, needs_of_core, needs_of_service
from quorate.plugin.services import Kind, Method, methods_of, missing
from quorate.rpc.engines.engine import Encryption, Engine, EngineLimits
from quorate.rpc.engines.grpcio import GrpcioEngine
from quorate.rpc.engines.http2 import Http2Engine
from quorate.rpc.identities import Guard
from quorate.rpc.large_requests import LargeRequests
from quorate.rpc.limits import CallLimits
from quorate.rpc.methods import Around, Behaviour, reading
from quorate.rpc.reflection import services_of
from quorate.rpc.served import Methods, Served, served_by

#: A request over the limit by less gets a named refusal; gRPC itself drops a larger one.
_SLACK_BYTES: Final = 1 << 20

#: Time for a caller to establish its connection, encrypted or not.
HANDSHAKE_S: Final = 10.0
_ENGINES: Final[Mapping[EngineName, Callable[[Methods, EngineLimits, Observer | None], Engine]]] = {
    "http2": Http2Engine,
    "grpcio": GrpcioEngine,
}
_HEALTH: Final = health_pb2.DESCRIPTOR.services_by_name["Health"]
_STATUS: Final = health_pb2.HealthCheckResponse


class ServingRefusedError(Exception):
    """The server cannot listen at its address; the text has the fix."""


class RpcServer:
    """One server for clients and peers. Everything is added before it starts.

    `outermost` are put around every method, the first one farthest out, and `bounds` within them.
    With `shares_port` other processes may listen at its addresses too: each gets some of the
    connections.
    """

    def __init__(
        self,
        limits: LimitsSection,
        streams: StreamLimits | None = None,
        outermost: Sequence[Around] = (),
        bounds: CallLimits | None = None,
        guard: Guard | None = None,
        *,
        engine: EngineName = "http2",
        shares_port: bool = False,
    ) -> None:
        self._limits: Final = limits
        self._large: Final = LargeRequests(monotonic)
        self._outermost: Final = (*outermost, *(() if bounds is None else (bounds.around,)))
        self._bounds: Final = bounds
        self._guard: Final = guard
        self._methods: Final = Methods()
        streams = streams or StreamLimits()
        bound = EngineLimits(
            # A node forwards the largest message of a client, with a little around it. A larger
            # frame of another node gets a named refusal.
            message_bytes=max(2 * streams.received_bytes, limits.grpc_message_bytes + _SLACK_BYTES),
            streams_per_connection=limits.streams_per_connection,
            connections=limits.most_connections(open_files()),
            idle_s=limits.idle_connection_s,
            handshake_s=HANDSHAKE_S,
            shares_port=shares_port,
        )
        self._engine: Final = _ENGINES[engine](
            self._methods, bound, None if bounds is None else bounds.connections
        )
        self._health: Final = health.HealthServicer()

    def bind(
        self,
        host: str,
        port: int,
        tls: TlsSection,
        encryption: Encryption | None = None,
    ) -> int:
        """Take an address, and return its port; raises `ServingRefusedError`.

        By default connections are not encrypted.
        """
        if encryption is None and not is_loopback(host) and not tls.insecure:
            raise ServingRefusedError(
                f"{host} can be reached from other machines, and TLS is off; listen on a loopback "
                "address, or set tls.insecure = true if the network is trusted"
            )
        try:
            return self._engine.bind(host, port, encryption)
        except OSError as error:
            raise ServingRefusedError(
                f"cannot listen on {join_address(host, port)}: stop the process that uses it, or "
                f"set node.port and node.host to another address ({error})"
            ) from None

    def add(
        self,
        service: ServiceDescriptor,
        servicer: object,
        needs: Mapping[str, Need] | None = None,
        commands: Collection[str] = (),
    ) -> None:
        """Serve a service by a servicer that has its methods; raises `ServingRefusedError`.

        `needs` says by the names of the methods what their callers need; without it the servicer
        lets callers in by itself. Requests that are among `commands` are bounded like these.
        """
        for method in methods_served(service, servicer):
            name = method.request.DESCRIPTOR.full_name
            read = reading(
                method.request.FromString, self._limits, name if name in commands else ""
            )
            demand = None
            if self._guard is not None and needs is not None:
                demand = self._guard.of(method, needs[method.name])
            served = served_by(servicer, method, read, self._large, demand)
            behaviour = served.serve
            for around in reversed(self._outermost):
                behaviour = around(method.path, behaviour)
            self._methods.by_path[method.path] = replace(served, serve=behaviour)
        self._methods.services.append(service.full_name)

    def add_bytes(self, path: str, serve: Behaviour, *, streams: bool = False) -> None:
        """Serve a method with messages of bytes, which authenticates its callers itself."""
        kind: Kind = "stream_stream" if streams else "unary_unary"
        self._methods.by_path[path] = Served(kind=kind, serve=serve)

    def add_plugins(self, catalog: Catalog, api_of: Callable[[str], NodeApi]) -> None:
        """Serve the services of the plugins, each with its plugin's view of the node."""
        commands = [name for name, each in catalog.commands.items() if each.public]
        for name, declared in catalog.declared.items():
            for service in declared.services:
                needs = needs_of_service(name, service, catalog.commands)
                self.add(service.service, service.servicer(api_of(name)), needs, commands)
        self._methods.know_plugins(module_owners(), catalog.declared)

    async def start(self, *, reflection: bool = False) -> None:
        """Serve; health says NOT_SERVING until `set_serving`.

        With `reflection` callers can ask for the services and their messages.
        """
        await self.set_serving(False)
        self.add(_HEALTH, self._health)
        if reflection:
            for service, servicer in services_of(self._methods.services).items():
                shown = dict.fromkeys(service.methods_by_name, Access(right="identity"))
                self.add(service, servicer, needs_of_core(service, shown, OPERATIONS))
        await self._engine.start()
        if self._bounds is not None:
            methods = self._methods.by_path.items()
            self._bounds.start([path for path, each in methods if each.kind == "unary_unary"])

    @property
    def faults(self) -> Mapping[str, int]:
        """Faults of clients against HTTP/2, by the names of their codes."""
        return self._engine.faults

    async def set_serving(self, serving: bool) -> None:
        """Report the status of the node and of each service to the health service."""
        status = _STATUS.SERVING if serving else _STATUS.NOT_SERVING
        for name in ("", *self._methods.services):
            await self._health.set(name, status)

    async def stop(self, grace_s: float) -> None:
        """Accept no more calls, and end the open ones after `grace_s`."""
        if self._bounds is not None:
            await self._bounds.stop()
        await self._engine.stop(grace_s)


def methods_served(service: ServiceDescriptor, servicer: object) -> list[Method]:
    """Return the methods of a service; raises `ServingRefusedError` if its servicer lacks some."""
    if lacking := missing(service, servicer):
        raise ServingRefusedError(
            f"{type(servicer).__name__} lacks {', '.join(lacking)} of service "
            f"{service.full_name}; write each as `async def` (self, request, context)"
        )
    return methods_of(service)

"""Serves ports of plugins: gRPC by the node's own engine, and HTTP/1.1 beside it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, NoReturn

from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health  # type: ignore[attr-defined]  # the stubs lack it

from quorate.config.addresses import is_loopback, join_address
from quorate.config.files import open_files
from quorate.config.sections import LimitsSection
from quorate.consensus.peer.streams import end_call
from quorate.http1.server import HttpConnection, HttpLimits, HttpServer
from quorate.http2.grpc.codes import Code
from quorate.observe.frames import drop_frames
from quorate.plugin.ports import OpenPort, ServicePort, StatusOf
from quorate.rpc.connections import Connections
from quorate.rpc.engines.engine import Encryption, EngineLimits
from quorate.rpc.engines.http2 import Http2Engine
from quorate.rpc.large_requests import LargeRequests
from quorate.rpc.methods import Context, Failing, fail, reading
from quorate.rpc.served import Methods, served_by
from quorate.rpc.server import HANDSHAKE_S, ServingRefusedError, methods_served
from quorate.shards.shard.capacity import FairShare

_HEALTH: Final = health_pb2.DESCRIPTOR.services_by_name["Health"]
_SERVING: Final = health_pb2.HealthCheckResponse.SERVING
#: How long the last answers may take to leave.
_LAST_ANSWERS_S: Final = 0.1
#: A connection over HTTP/1.1 is closed after this time without a request, if no setting says so.
_IDLE_S: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What the ports of plugins have of the node."""

    limits: LimitsSection = field(default_factory=LimitsSection)
    #: Returns the TLS context with protocols of ALPN; None: the node does not encrypt.
    tls: Callable[[tuple[str, ...]], ssl.SSLContext] | None = None
    #: Whether other processes, the workers of the machine, listen at the same ports.
    shared: bool = False

    @asynccontextmanager
    async def serve(self, port: ServicePort) -> AsyncIterator[OpenPort]:
        """Serve a port within the block; raises `ServingRefusedError`."""
        served = _Served(port, self)
        await served.start()
        try:
            yield served
        finally:
            await served.stop()


class _Served:
    """One port."""

    def __init__(self, port: ServicePort, ports: Ports) -> None:
        limits = ports.limits.model_copy(update={"grpc_message_bytes": port.message_bytes})
        loop = asyncio.get_running_loop()
        most = port.connections or limits.most_connections(open_files())
        in_flight, slow_s = limits.most_inflight_bytes(), limits.slow_reader_s or None
        setting = "connections of its section" if port.connections else "limits.connections"
        room = FairShare("bytes in flight", in_flight, "limits.inflight_bytes")
        self.port = port.port
        self._declared: Final = port
        self._observer: Final = Connections(
            FairShare("connections", most, setting) if most else None,
            # Idle ones are closed by those who know their calls.
            0,
            loop,
            room if in_flight else None,
            slow_s,
        )
        self._http: HttpServer | None = None
        if port.http is not None:
            http_limits = HttpLimits(
                body_bytes=port.message_bytes,
                request_s=HANDSHAKE_S,
                idle_s=limits.idle_connection_s or _IDLE_S,
                slow_s=slow_s or float("inf"),
            )
            self._http = HttpServer(port.http, http_limits, loop, _HttpRoom(self._observer))
        self._health: Final = health.HealthServicer()
        self._engine: Final = Http2Engine(
            _methods(port, limits, self._health),
            EngineLimits(
                message_bytes=port.message_bytes,
                streams_per_connection=limits.streams_per_connection,
                connections=most,
                idle_s=limits.idle_connection_s,
                handshake_s=HANDSHAKE_S,
                shares_port=ports.shared,
            ),
            self._observer,
            None if self._http is None else self._http.connection,
        )

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._observer)

    @property
    def faults(self) -> Mapping[str, int]:
        """Faults of clients against HTTP/2, by the names of their codes."""
        return self._engine.faults

    async def start(self) -> None:
        """Listen; raises `ServingRefusedError`."""
        port = self._declared
        address = join_address(port.host, port.port)
        if port.tls is None and not port.insecure and not is_loopback(port.host):
            raise ServingRefusedError(
                f"{address} can be reached from other machines, and is not encrypted; listen on a "
                "loopback address, set up [tls], or allow it in the plugin's section if the "
                "network is trusted"
            )
        # It is never asked for credentials of grpcio.
        encryption = None if port.tls is None else Encryption(port.tls, _no_credentials)
        try:
            self.port = self._engine.bind(port.host, port.port, encryption)
        except OSError as error:
            raise ServingRefusedError(
                f"cannot listen on {address}: stop the process that uses it, or set another port "
                f"in the plugin's section ({error})"
            ) from None
        await self._health.set("", _SERVING)
        await self._engine.start()
        self._observer.start()

    async def stop(self) -> None:
        """Let the last answers leave, and end what goes on."""
        await self._observer.stop()
        if self._http is not None:
            await self._http.stop(_LAST_ANSWERS_S)
        await self._engine.stop(_LAST_ANSWERS_S)


@dataclass(frozen=True, slots=True)
class _HttpRoom:
    """Counts requests over HTTP/1.1 with those of gRPC."""

    observer: Connections

    def take(self, request: HttpConnection, size: int) -> str | None:
        """Count a request that arrives; or return why there is no room for it."""
        refusal = self.observer.take(_Coming(request), size)
        return None if refusal is None else refusal[1]

    def give(self, request: HttpConnection) -> None:
        """Stop counting it."""
        self.observer.give(_Coming(request))


@dataclass(frozen=True, slots=True)
class _Coming:
    """A request over HTTP/1.1, as the observer of gRPC's connections takes it."""

    request: HttpConnection

    def peer(self) -> str:
        """Return the other end of its connection."""
        return self.request.peer

    def refuse(self, refusal: tuple[Code, str, object]) -> None:
        """End it."""
        self.request.refuse(refusal[1])


def _methods(port: ServicePort, limits: LimitsSection, well: object) -> Methods:
    services = [*port.services]
    if _HEALTH not in dict(services):
        services.append((_HEALTH, well))
    methods = Methods(_lacking({service.full_name for service, _ in services}))
    failing, large = _failing(port.status), LargeRequests(monotonic)
    for service, servicer in services:
        for method in methods_served(service, servicer):
            read = reading(method.request.FromString, limits)
            served = served_by(servicer, method, read, large, failing=failing)
            methods.by_path[method.path] = served
        methods.services.append(service.full_name)
    return methods


def _failing(status: StatusOf | None) -> Failing:
    async def failing(path: str, error: Exception, context: Context) -> None:
        found = None if status is None else status(error)
        if found is None or context.cancelled() or context.done():
            await fail(path, error, context)
            return
        drop_frames(error)
        await end_call(context, Code(found[0]), found[1], ())

    return failing


def _lacking(services: set[str]) -> Callable[[str], str]:
    def lacking(path: str) -> str:
        service, _, method = path.strip("/").partition("/")
        if service in services:
            return f"unknown method {method} for service {service}"
        return f"unknown service {service}"

    return lacking


def _no_credentials() -> NoReturn:
    raise AssertionError("the engine of HTTP/2 takes no credentials of grpcio")

"""The gRPC server of a node: where it listens, what it serves, and whether it is healthy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Final

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio  # type: ignore[attr-defined]  # the stubs lack it
from grpc_reflection.v1alpha import reflection

from quorate.config.sections import LimitsSection, TlsSection, is_loopback, join_address
from quorate.consensus.peer.streams import StreamLimits, server_options
from quorate.plugin import NodeApi
from quorate.plugin.catalog import Catalog
from quorate.rpc.interceptor import StatusInterceptor
from quorate.rpc.large_requests import LargeRequests

#: Calls that one connection may have open at a time; what is beyond them waits at the client.
STREAMS_PER_CONNECTION: Final = 10_000
#: A request that is over the limit by less is refused by name; gRPC itself drops a larger one.
_SLACK_BYTES: Final = 1 << 20

_RECEIVE: Final = "grpc.max_receive_message_length"
_STATUS: Final = health_pb2.HealthCheckResponse


class ServingRefusedError(Exception):
    """The server cannot listen as it is told to; the text says what to do."""


class RpcServer:
    """One server for clients and peers. Everything is added before it starts."""

    def __init__(
        self,
        limits: LimitsSection,
        streams: StreamLimits | None = None,
        outermost: Sequence[grpc.aio.ServerInterceptor[Any, Any]] = (),
    ) -> None:
        options = dict(server_options(streams or StreamLimits()))
        # A node forwards what a client may send, with a little around it.
        options[_RECEIVE] = max(options[_RECEIVE], limits.grpc_message_bytes + _SLACK_BYTES)
        options["grpc.max_concurrent_streams"] = STREAMS_PER_CONNECTION
        status = StatusInterceptor(limits, LargeRequests(monotonic))
        self.server: Final = grpc.aio.server(
            interceptors=[*outermost, status], options=list(options.items())
        )
        self._names: Final[list[str]] = []
        self._health: Final = aio.HealthServicer()

    def bind(self, host: str, port: int, tls: TlsSection) -> int:
        """Take an address, and return its port; raises `ServingRefusedError`."""
        address = join_address(host, port)
        if tls.enabled:
            raise ServingRefusedError(
                "TLS is not served yet; leave out tls.cert_file and tls.key_file, and listen on a "
                "loopback address"
            )
        if not is_loopback(host) and not tls.insecure:
            raise ServingRefusedError(
                f"{host} can be reached from other machines, and TLS is off; listen on a loopback "
                "address, or set tls.insecure = true if the network is trusted"
            )
        try:
            return self.server.add_insecure_port(address)
        except RuntimeError as error:
            raise ServingRefusedError(
                f"{address} cannot be listened on; end what holds it, or set node.port and "
                f"node.host to another one ({error})"
            ) from None

    def add(
        self, full_name: str, add_to_server: Callable[[Any, Any], None], servicer: object
    ) -> None:
        """Serve a service of core."""
        add_to_server(servicer, self.server)
        self._names.append(full_name)

    def add_plugins(self, catalog: Catalog, api_of: Callable[[str], NodeApi]) -> None:
        """Serve the services of the plugins, each with its plugin's view of the node."""
        for name, declared in catalog.declared.items():
            for service in declared.services:
                servicer = service.servicer(api_of(name))
                self.add(service.full_name, service.add_to_server, servicer)

    async def start(self) -> None:
        """Serve; health says NOT_SERVING until `set_serving`."""
        await self.set_serving(False)
        self.add(health.SERVICE_NAME, health_pb2_grpc.add_HealthServicer_to_server, self._health)
        names = [*self._names, reflection.SERVICE_NAME]
        reflection.enable_server_reflection(names, self.server)
        await self.server.start()

    async def set_serving(self, serving: bool) -> None:
        """Tell the health service's callers, of the node and of each service."""
        status = _STATUS.SERVING if serving else _STATUS.NOT_SERVING
        for name in ("", *self._names):
            await self._health.set(name, status)

    async def stop(self, grace_s: float) -> None:
        """Take no more calls, and end those that are open after a while."""
        await self.server.stop(grace_s)

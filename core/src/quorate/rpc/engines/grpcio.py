"""The former engine: the server of grpcio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

from quorate.config.addresses import join_address
from quorate.plugin.services import handler
from quorate.rpc.engines.engine import Encryption, EngineLimits
from quorate.rpc.served import Methods, Served

if TYPE_CHECKING:
    Generic = grpc.GenericRpcHandler[Any, Any]
else:
    Generic = grpc.GenericRpcHandler


class GrpcioEngine:
    """Serves methods with grpcio, which does not report connections.

    So they are bounded in number, and not by address.
    """

    def __init__(
        self, methods: Methods, limits: EngineLimits, observer: object | None = None
    ) -> None:
        #: grpcio reports none.
        self.faults: Final[Mapping[str, int]] = {}
        self._methods: Final = methods
        options: dict[str, int] = {
            "grpc.max_receive_message_length": limits.message_bytes,
            "grpc.max_send_message_length": -1,
            "grpc.so_reuseport": int(limits.shares_port),
            "grpc.http2.min_ping_interval_without_data_ms": 1_000,
            "grpc.keepalive_permit_without_calls": 1,
            "grpc.max_concurrent_streams": limits.streams_per_connection,
            "grpc.server_handshake_timeout_ms": int(limits.handshake_s * 1_000),
        }
        if limits.connections:
            # Before this node knows where they come from.
            options["grpc.max_allowed_incoming_connections"] = limits.connections
        if limits.idle_s:
            options["grpc.max_connection_idle_ms"] = limits.idle_s * 1_000
        self._server: Final = grpc.aio.server(options=list(options.items()))

    def bind(self, host: str, port: int, encryption: Encryption | None) -> int:
        """Take an address, and return its port; raises `OSError`."""
        address, server = join_address(host, port), self._server
        try:
            if encryption is not None:
                return server.add_secure_port(address, encryption.credentials())
            return server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(str(error)) from None

    async def start(self) -> None:
        """Serve."""
        self._server.add_generic_rpc_handlers([_Generic(self._methods)])
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Accept no more calls, and end the open ones after `grace_s`."""
        await self._server.stop(grace_s)


class _Generic(Generic):
    """Finds the methods of calls."""

    def __init__(self, methods: Methods) -> None:
        self._methods: Final = methods
        self._handlers: Final = {path: _handler(each) for path, each in methods.by_path.items()}

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the handler of a call."""
        path = str(handler_call_details.method)
        return self._handlers.get(path) or _handler(self._methods.refusal(path))


def _handler(method: Served) -> grpc.RpcMethodHandler[Any, Any]:
    return handler(method.kind, method.serve, method.read, method.write)

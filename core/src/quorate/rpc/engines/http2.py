"""The engine of a node: HTTP/2 of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast

from quorate.http2.connection import ConnectionLimits
from quorate.http2.grpc.server import Observer, Otherwise, Server, ServerLimits
from quorate.http2.grpc.server_call import Method
from quorate.rpc.engines.engine import Encryption, EngineLimits
from quorate.rpc.served import Methods, Served

#: Streams of a connection where no setting bounds them.
_STREAMS: Final = 1 << 20


@dataclass(eq=False)
class Http2Engine:
    """Serves methods on connections of its own."""

    _methods: Methods
    _limits: EngineLimits
    _observer: Observer | None = None
    _otherwise: Otherwise | None = None
    _known: dict[str, Method] = field(default_factory=dict)
    _bound: list[tuple[socket.socket, Encryption | None]] = field(default_factory=list)
    _server: Server | None = None

    def bind(self, host: str, port: int, encryption: Encryption | None) -> int:
        """Take an address, and return its port; raises `OSError`."""
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # A name may have an address of each family; they share the port.
        for family, *_, address in dict.fromkeys(addresses):
            try:
                port = self._take(family, (address[0], port, *address[2:]), encryption)
            except OSError:
                if len(addresses) == 1 or family != socket.AF_INET6:
                    raise
        return port

    def _take(self, family: int, address: tuple[Any, ...], encryption: Encryption | None) -> int:
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self._limits.shares_port:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                # Of all addresses those of IPv4, too.
                with suppress(OSError):
                    bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            bound.bind(address)
            # From now on the address is taken.
            bound.listen(1_024)
        except OSError:
            bound.close()
            raise
        self._bound.append((bound, encryption))
        found: int = bound.getsockname()[1]
        return found

    async def start(self) -> None:
        """Serve."""
        self._known.update((path, _method(each)) for path, each in self._methods.by_path.items())
        limits = self._limits
        bounds = ServerLimits(
            connection=ConnectionLimits(streams=limits.streams_per_connection or _STREAMS),
            connections=limits.connections or None,
            message_bytes=limits.message_bytes,
            handshake_s=limits.handshake_s,
            idle_s=limits.idle_s or None,
        )
        server = self._server = Server(
            self._find, bounds, asyncio.get_running_loop(), self._observer, self._otherwise
        )
        while self._bound:
            bound, encryption = self._bound.pop()
            await server.listen_at(bound, None if encryption is None else encryption.context)

    async def stop(self, grace_s: float) -> None:
        """Accept no more calls, and end the open ones after `grace_s`."""
        for bound, _ in self._bound:
            bound.close()
        self._bound.clear()
        if self._server is not None:
            await self._server.stop(grace_s)

    @property
    def faults(self) -> Mapping[str, int]:
        """Faults of clients, by the names of their codes."""
        found = {} if self._server is None else self._server.faults
        return {code.name: count for code, count in found.items()}

    def _find(self, path: str) -> Method:
        return self._known.get(path) or _method(self._methods.refusal(path))


def _method(method: Served) -> Method:
    return Method(
        # Every behaviour is a coroutine function, or returns the coroutine of another one.
        serve=cast("Any", method.serve),
        takes_stream=method.takes_stream,
        answers_stream=method.answers_stream,
        parse=method.read,
        encode=method.write or bytes,
    )

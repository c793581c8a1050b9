"""The interface of an engine, and its limits."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import grpc


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLimits:
    """Bounds of connections and messages; 0: unbounded."""

    message_bytes: int
    streams_per_connection: int
    #: Until a connection is established.
    handshake_s: float
    connections: int = 0
    idle_s: int = 0
    #: Whether other processes may listen at the addresses, too.
    shares_port: bool = False


@dataclass(frozen=True, slots=True)
class Encryption:
    """The encryption of clients' connections, in the form that each engine takes."""

    context: ssl.SSLContext
    credentials: Callable[[], grpc.ServerCredentials]


class Engine(Protocol):
    """Accepts connections, and serves the calls on them."""

    @property
    def faults(self) -> Mapping[str, int]:
        """Faults of clients against HTTP/2, by the names of their codes."""

    def bind(self, host: str, port: int, encryption: Encryption | None) -> int:
        """Take an address, and return its port; raises `OSError`."""

    async def start(self) -> None:
        """Serve."""

    async def stop(self, grace_s: float) -> None:
        """Accept no more calls, and end the open ones after `grace_s`."""

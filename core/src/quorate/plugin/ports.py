"""Ports of a plugin's own, with gRPC and HTTP/1.1 on one address."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from google.protobuf.descriptor import ServiceDescriptor

from quorate.http1.messages import HttpHandler

#: Returns the code and the text that an exception of a servicer ends its call with, a number of
#: `quorate.http2.grpc.codes.Code`; None: the host's own status.
StatusOf = Callable[[Exception], tuple[int, str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePort:
    """An address at which a plugin serves gRPC services that are not the cluster's.

    Its servicers authenticate their callers themselves, and act for them with `NodeApi.acting`.
    """

    #: The name or the address to listen on.
    host: str
    #: 0: any free one.
    port: int
    #: Each with its servicer, whose methods are bound by their names. The health service of gRPC
    #: is served beside them: the port serves.
    services: Sequence[tuple[ServiceDescriptor, object]]
    #: Answers requests over HTTP/1.1 at the same port; None: gRPC alone is served. Without TLS the
    #: first bytes of a connection tell, and so they do within TLS.
    http: HttpHandler | None = None
    #: What connections are encrypted with: usually `NodeApi.tls("h2", "http/1.1")`. None: nothing,
    #: which is refused for an address that other machines reach, unless `insecure`.
    tls: ssl.SSLContext | None = None
    #: Whether to listen without TLS where other machines reach it.
    insecure: bool = False
    #: The largest request.
    message_bytes: int = 4 << 20
    #: Maximum number of connections, of which each address gets at most as many as it leaves for
    #: others; 0: as on the node's own port.
    connections: int = 0
    #: The statuses of its exceptions.
    status: StatusOf | None = None


class OpenPort(Protocol):
    """A port that is served."""

    @property
    def port(self) -> int:
        """The number of the port."""

    @property
    def connections(self) -> int:
        """The number of open connections."""

    @property
    def faults(self) -> Mapping[str, int]:
        """Faults of clients against HTTP/2, by the names of their codes."""

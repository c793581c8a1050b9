"""A request over HTTP/1.1, and its answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request that has arrived as a whole."""

    #: As the client sent it, as GET.
    method: str
    #: As the client sent it, without the query.
    path: str
    #: What follows the path and a question mark, as the client sent it.
    query: str = ""
    #: By their names in lower case; of a repeated one the last.
    headers: Mapping[str, str]
    #: The whole body.
    body: bytes = b""
    #: The other end of the connection, as gRPC names it: ipv4:ADDRESS:PORT or ipv6:….
    peer: str = ""


class HttpAnswer(NamedTuple):
    """An answer; with an iterator as its body it is sent as a stream of chunks."""

    #: The code, as 200.
    status: int
    #: As a whole, or in parts that are sent as they come.
    body: bytes | AsyncIterator[bytes]
    #: The type of the body.
    content_type: str = "text/plain; charset=utf-8"
    #: Further ones.
    headers: Mapping[str, str] = {}


#: Answers a request. It is cancelled when its client has gone.
HttpHandler = Callable[[HttpRequest], Awaitable[HttpAnswer]]

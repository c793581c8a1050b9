"""A call of a servicer within the process: the parts of a gRPC call that servicers look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from google.protobuf.message import Message
from quorate.plugin.advanced import HttpRequest

#: Headers that go along as metadata, with what gRPC's own clients call them.
_METADATA: Final = ("authorization", "token", "hasleader", "client-api-version")


class Call(NamedTuple):
    """The context of a call; one that the node itself makes comes with no request."""

    request: HttpRequest = HttpRequest(method="", path="", headers={})

    def peer(self) -> str:
        """Return the other end of the connection."""
        return self.request.peer

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """Return nothing: the gateway passes no certificate on."""
        return {}

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the headers that servicers look at."""
        headers = self.request.headers
        return tuple((name, headers[name]) for name in _METADATA if name in headers)


async def stream_of(requests: Iterable[Message]) -> AsyncIterator[Message]:
    """Yield the requests of a call that takes a stream."""
    for each in requests:
        yield each

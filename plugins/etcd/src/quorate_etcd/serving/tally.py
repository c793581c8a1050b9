"""Counts the calls of the services, as etcd's servers do."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from quorate_etcd.serving.around import Around
from quorate_etcd.serving.statuses import CODES, status_of

_KINDS: Final = {
    (False, False): "unary",
    (True, False): "client_stream",
    (False, True): "server_stream",
    (True, True): "bidi_stream",
}
#: The names that gRPC's own metrics have for the codes.
_NAMES: Final = {
    number: "".join(part.capitalize() for part in name.split("_")) for name, number in CODES.items()
}

#: The name of a service, that of a method, and the kind of it.
Call = tuple[str, str, str]


class Tally:
    """The number of calls since the port was opened, by method, and by code."""

    def __init__(self) -> None:
        self.started: Final[Counter[Call]] = Counter()
        self.handled: Final[Counter[tuple[str, ...]]] = Counter()

    def around(self, service: ServiceDescriptor, servicer: object) -> Around:
        """Return a servicer that counts its calls."""
        return Around(service, servicer, self._wrap)

    def _wrap(self, method: MethodDescriptor, serve: Any) -> Any:
        kind = _KINDS[method.client_streaming, method.server_streaming]
        call = (method.containing_service.full_name, method.name, kind)

        async def answer(request: Any, context: Any) -> Any:
            self.started[call] += 1
            try:
                answer = await serve(request, context)
            except BaseException as error:
                self.ended(call, error)
                raise
            self.ended(call, None)
            return answer

        async def stream(request: Any, context: Any) -> Any:
            self.started[call] += 1
            try:
                async for each in serve(request, context):
                    yield each
            except BaseException as error:
                self.ended(call, error)
                raise
            self.ended(call, None)

        return stream if method.server_streaming else answer

    def ended(self, call: Call, error: BaseException | None) -> None:
        """Count a call that ended."""
        name = "OK"
        if isinstance(error, asyncio.CancelledError | GeneratorExit):
            name = _NAMES[CODES["CANCELLED"]]
        elif isinstance(error, Exception):
            found = status_of(error)
            name = _NAMES[CODES["INTERNAL"] if found is None else found[0]]
        self.handled[*call, name] += 1

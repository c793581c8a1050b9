"""Counts the calls of the services, as etcd's servers do."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from google.protobuf.descriptor import MethodDescriptor

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

    def succeeded(self, call: Call) -> None:
        """Count a call that was answered."""
        self.handled[*call, "OK"] += 1

    def failed(self, call: Call, error: BaseException) -> None:
        """Count a call that failed."""
        if isinstance(error, asyncio.CancelledError | GeneratorExit):
            code = CODES["CANCELLED"]
        else:
            found = status_of(error) if isinstance(error, Exception) else None
            code = CODES["INTERNAL"] if found is None else found[0]
        self.handled[*call, _NAMES[code]] += 1


def call_of(method: MethodDescriptor) -> Call:
    """Return a method as it is counted."""
    kind = _KINDS[method.client_streaming, method.server_streaming]
    return method.containing_service.full_name, method.name, kind

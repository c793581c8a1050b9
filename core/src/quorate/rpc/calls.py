"""Counts the calls of a server, by method and by how they ended."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, Final

import grpc
import grpc.aio

from quorate.observe.histogram import SECONDS, Histogram
from quorate.rpc.handlers import Behaviour, around

_NAMES: Final[dict[object, str]] = {
    **{code: code.name for code in grpc.StatusCode},
    **{code.value[0]: code.name for code in grpc.StatusCode},
}


class CallTally(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # none when run
    """The outermost interceptor, behind which every method is a coroutine.

    A stream is a call from its beginning to its end. Methods that nobody serves are not counted:
    whoever calls would choose the names.
    """

    def __init__(self) -> None:
        #: The calls that have ended, by method and code.
        self.ended: Final = Counter[tuple[str, str]]()
        #: How long they took, by method.
        self.durations: Final[dict[str, Histogram]] = {}
        #: The calls that go on, by method.
        self.open: Final = Counter[str]()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Count a call."""
        found = await continuation(handler_call_details)
        method = str(handler_call_details.method)
        return found and around(found, lambda serve: self._counted(method, serve))

    def _counted(self, method: str, serve: Behaviour) -> Behaviour:
        async def served(request: Any, context: Any) -> Any:
            self.open[method] += 1
            began, code = perf_counter(), "UNKNOWN"
            try:
                answer = await serve(request, context)
                code = _code(context)
                return answer
            except grpc.aio.AbortError:
                code = _code(context)
                raise
            except asyncio.CancelledError:
                code = _gone(context)
                raise
            finally:
                self.open[method] -= 1
                self.ended[method, code] += 1
                durations = self.durations.get(method)
                if durations is None:
                    durations = self.durations[method] = Histogram(SECONDS)
                durations.observe(perf_counter() - began)

        return served


def _code(context: Any) -> str:
    return _gone(context) if context.cancelled() else _NAMES.get(context.code() or 0, "UNKNOWN")


def _gone(context: Any) -> str:
    """Return why a caller waits no more."""
    left_s = context.time_remaining()
    late = left_s is not None and left_s <= 0
    return (grpc.StatusCode.DEADLINE_EXCEEDED if late else grpc.StatusCode.CANCELLED).name

"""Counts the calls of a server, by method and by how they ended, and traces them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pool

from quorate.http2.grpc import codes
from quorate.http2.grpc.codes import Code
from quorate.observe import requests
from quorate.observe.histogram import SECONDS, Histogram
from quorate.observe.recorder import Recorder
from quorate.rpc import callers
from quorate.rpc.methods import Behaviour

if TYPE_CHECKING:
    from quorate.observe.traces import Traces


@dataclass(eq=False)
class CallTally:
    """Counts calls, as the outermost layer around methods.

    A stream is a call from its beginning to its end. Calls of unknown methods are not counted:
    callers would choose the names.
    """

    #: Gets the calls that fail or take longer than `_slow_s`.
    _recorder: Recorder | None = None
    _slow_s: float = 1.0
    _traces: Traces | None = None
    #: The services that only nodes and probes call.
    _of_nodes: Collection[str] = ()
    #: The calls that have ended, by method and code.
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: How long they took, by method.
    durations: dict[str, Histogram] = field(default_factory=dict)
    #: The calls that go on, by method.
    open: Counter[str] = field(default_factory=Counter)

    def around(self, path: str, serve: Behaviour) -> Behaviour:
        """Count the calls of a method."""
        # A stream may last for days: what arrives on it belongs to no single trace.
        traces = None if _takes_stream(path) else self._traces
        by_node = path[1:].partition("/")[0] in self._of_nodes

        async def served(request: Any, context: Any) -> Any:
            self.open[path] += 1
            span, trace = None, ""
            if traces is not None:
                metadata = context.invocation_metadata() or ()
                span = traces.of_call(path[1:], metadata, by_node=by_node)
            if span is None:
                named = requests.begin(self._recorder)
            else:
                named, trace = requests.begin(self._recorder, span.name), span.trace
            began, code = perf_counter(), "UNKNOWN"
            try:
                answer = await serve(request, context)
                code = code_of(context)
                return answer
            except asyncio.CancelledError:
                code = gone(context)
                raise
            finally:
                self.open[path] -= 1
                self.ended[path, code] += 1
                durations = self.durations.get(path)
                if durations is None:
                    durations = self.durations[path] = Histogram(SECONDS)
                durations.observe(took_s := perf_counter() - began, trace)
                if span is not None:
                    span.end(failure="" if code == "OK" else code, request=named)
                if self._recorder is not None and (code != "OK" or took_s >= self._slow_s):
                    self._recorder.event(
                        "call",
                        request=named,
                        method=path,
                        outcome=code,
                        ms=round(took_s * 1_000),
                        caller=callers.caller().name,
                        trace=trace,
                    )

        return served


def _takes_stream(path: str) -> bool:
    try:
        method = descriptor_pool.Default().FindMethodByName(path[1:].replace("/", "."))
    except KeyError:
        return False
    return bool(method.client_streaming)


def code_of(context: Any) -> str:
    """Return the name of the status that a call ended with."""
    if context.cancelled():
        return gone(context)
    # As most do: a look at the name of an enumeration's member costs more.
    return codes.code_of(code).name if (code := context.code()) else "OK"


def gone(context: Any) -> str:
    """Return why a caller stopped waiting."""
    left_s = context.time_remaining()
    late = left_s is not None and left_s <= 0
    return (Code.DEADLINE_EXCEEDED if late else Code.CANCELLED).name

"""Traces: the spans of calls, by OpenTelemetry. Imported only if calls are traced.

The name of a span is its `traceparent` of W3C's Trace Context, which callers send as metadata.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Iterable, Sequence
from importlib.metadata import version
from typing import Final, Literal, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from quorate.observe.requests import SPAN_KEY, trace_of

T = TypeVar("T")

_FORM: Final = TraceContextTextMapPropagator()
_KINDS: Final = {
    "client": SpanKind.CLIENT,
    "server": SpanKind.SERVER,
    "internal": SpanKind.INTERNAL,
}


class Span:
    """A started span."""

    __slots__ = ("_span", "name", "trace")

    def __init__(self, span: trace.Span) -> None:
        self._span: Final = span
        #: Its `traceparent`, and the id of its trace.
        self.name: Final = name_of(span)
        self.trace: Final = trace_of(self.name)

    def end(self, at_s: float | None = None, *, failure: str = "", **attributes: str | int) -> None:
        """End it, now or at a time in s since 1970; `failure` marks it as failed."""
        self._span.set_attributes(_own(attributes))
        if failure:
            self._span.set_status(StatusCode.ERROR, failure)
        self._span.end(_ns(at_s))


class Traces:
    """Starts spans.

    With `follows`, the sampling decision of a caller applies to its call. Of all other calls,
    `ratio` is the share to trace.
    """

    def __init__(
        self, provider: TracerProvider, *, ratio: float = 0.0, follows: bool = True
    ) -> None:
        self._tracer: Final = provider.get_tracer("quorate", version("quorate"))
        self._ratio: Final = ratio
        self._follows: Final = follows

    def begin(
        self,
        what: str,
        kind: Literal["client", "server", "internal"] = "internal",
        *,
        parent: str = "",
        links: Iterable[str] = (),
        at_s: float | None = None,
        **attributes: str | int,
    ) -> Span:
        """Start a span, now or at a time in s since 1970, below a parent and with links."""
        span = self._tracer.start_span(
            what,
            _context(parent),
            _KINDS[kind],
            _own(attributes),
            [Link(_named(each)) for each in links],
            _ns(at_s),
        )
        return Span(span)

    def of_call(
        self, method: str, metadata: Iterable[tuple[str, str | bytes]], *, by_node: bool
    ) -> Span | None:
        """Start the span of a call that is served; None: the call is not traced.

        A call between nodes is traced if the call that caused it is.
        """
        sent = next((value for key, value in metadata if key == SPAN_KEY), "")
        parent = sent if isinstance(sent, str) and (by_node or self._follows) else ""
        if parent and (known := _named(parent)).is_valid:
            wanted = known.trace_flags.sampled
        else:
            wanted = not by_node and random.random() < self._ratio
        return self.begin(method, "server", parent=parent) if wanted else None

    # For clients, whose spans are below those of their application.

    async def during(self, what: str, answer: Awaitable[T]) -> T:
        """Await an answer within a span; an exception marks the span as failed."""
        with self._tracer.start_as_current_span(what, kind=SpanKind.CLIENT):
            return await answer

    def here(self) -> str:
        """Return the name of the span that the caller is in, if any."""
        return name_of(trace.get_current_span())

    def current(self) -> trace.Span:
        """Return the span that the caller is in, if any."""
        return trace.get_current_span()

    def shared(self, spans: Sequence[trace.Span | None]) -> str:
        """Return the name of the span for a call that serves the work of several spans.

        It is the first one that is recorded; the others are linked to it.
        """
        known = [each for each in spans if each is not None]
        recorded = [each for each in known if each.is_recording()]
        for first, other in ((recorded[0], each) for each in recorded[1:]):
            other.add_link(first.get_span_context())
            first.add_link(other.get_span_context())
        return name_of((recorded or known or [trace.INVALID_SPAN])[0])


def name_of(span: trace.Span) -> str:
    """Return the `traceparent` of a span; "" for an invalid one."""
    carrier: dict[str, str] = {}
    _FORM.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier.get(SPAN_KEY, "")


def _context(name: str) -> Context:
    return _FORM.extract({SPAN_KEY: name}, Context())


def _named(name: str) -> SpanContext:
    return trace.get_current_span(_context(name)).get_span_context()


def _own(attributes: dict[str, str | int]) -> dict[str, str | int]:
    return {f"quorate.{key}": value for key, value in attributes.items()}


def _ns(at_s: float | None) -> int | None:
    return None if at_s is None else int(at_s * 1e9)

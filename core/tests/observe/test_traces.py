"""Which calls are traced, and what becomes of spans that no collector takes."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from threading import Event

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from quorate.observe.collector import Collector
from quorate.observe.requests import trace_of
from quorate.observe.traces import Traces
from quorate.testing.waiting import until

TRACE = "0af7651916cd43dd8448eb211c80319c"
WANTED = f"00-{TRACE}-b7ad6b7169203331-01"
NOT_WANTED = f"00-{TRACE}-b7ad6b7169203331-00"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(spans: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return provider


@pytest.mark.parametrize(
    ("sent", "ratio", "follows", "by_node", "traced"),
    [
        (WANTED, 0.0, True, False, True),
        (NOT_WANTED, 1.0, True, False, False),
        ("", 0.0, True, False, False),
        ("", 1.0, True, False, True),
        # Of a later version of the form, and of none.
        (WANTED.replace("00-", "cc-", 1) + "-more", 0.0, True, False, True),
        ("garbage", 0.0, True, False, False),
        ("garbage", 1.0, True, False, True),
        (f"00-{'0' * 32}-{'0' * 16}-01", 0.0, True, False, False),
        ("x" * 100_000, 0.0, True, False, False),
        # Callers have no say.
        (WANTED, 0.0, False, False, False),
        (NOT_WANTED, 1.0, False, False, True),
        # Nodes always have, and begin no trace.
        (WANTED, 0.0, False, True, True),
        ("", 1.0, True, True, False),
    ],
)
def test_the_caller_decides_and_otherwise_the_ratio(
    provider: TracerProvider, sent: str, ratio: float, follows: bool, by_node: bool, traced: bool
) -> None:
    traces = Traces(provider, ratio=ratio, follows=follows)
    metadata: list[tuple[str, str | bytes]] = [("other", b"1")]
    if sent:
        metadata.append(("traceparent", sent))
    span = traces.of_call("a.Service/Do", metadata, by_node=by_node)
    assert (span is not None) is traced
    if span is not None:
        assert (span.trace == TRACE) is (TRACE in sent and follows | by_node)


def test_the_ratio_is_that_of_the_calls(provider: TracerProvider) -> None:
    traces = Traces(provider, ratio=0.2)
    found = [traces.of_call("a.Service/Do", (), by_node=False) for _ in range(2_000)]
    assert 280 < sum(span is not None for span in found) < 520


def test_a_span_is_below_its_parent_with_its_times_and_its_failure(
    provider: TracerProvider, spans: InMemorySpanExporter
) -> None:
    traces = Traces(provider)
    first = traces.begin("first", parent=WANTED, at_s=1.5, shard="a/0")
    second = traces.begin("second", parent=first.name, links=[first.name, WANTED])
    second.end(failure="REFUSED", request="a-1")
    first.end(2.5)

    assert trace_of(first.name) == first.trace == TRACE
    ended = {span.name: span for span in spans.get_finished_spans()}
    assert (ended["first"].start_time, ended["first"].end_time) == (1_500_000_000, 2_500_000_000)
    assert ended["first"].attributes == {"quorate.shard": "a/0"}
    parent, context = ended["second"].parent, ended["first"].context
    assert parent is not None
    assert context is not None
    assert parent.span_id == context.span_id
    assert len(ended["second"].links) == 2
    assert ended["second"].status.description == "REFUSED"
    assert ended["second"].attributes == {"quorate.request": "a-1"}


class Exporter(SpanExporter):
    """Takes spans while allowed to, and fails on demand."""

    def __init__(self) -> None:
        self.lets = Event()
        self.ended = Event()
        self.fails = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.lets.wait(20)
        if self.fails:
            raise OSError("gone")
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.ended.set()


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    exporter = Exporter()
    yield exporter
    exporter.lets.set()


def test_a_collector_that_stands_still_costs_spans_and_no_time(exporter: Exporter) -> None:
    collector = Collector(exporter, most=10)
    traces = Traces(collector.provider("n1"))
    for _ in range(25):
        traces.begin("a").end()
    assert collector.counts == {"sent": 0, "failed": 0, "dropped": 15}

    exporter.lets.set()
    until(lambda: collector.counts["sent"] == 10 or None)
    traces.begin("a").end()
    collector.close(20)
    assert collector.counts == {"sent": 11, "failed": 0, "dropped": 15}


def test_its_end_waits_for_no_collector(exporter: Exporter) -> None:
    collector = Collector(exporter, most=10)
    Traces(collector.provider("n1")).begin("a").end()
    collector.close(0.01)
    assert collector.counts["sent"] == 0
    assert exporter.ended.wait(20)


def test_lost_spans_are_counted_and_reported_once(
    exporter: Exporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quorate")
    exporter.lets.set()
    collector = Collector(exporter, most=1)
    traces = Traces(collector.provider("n1"))
    ends = ("failed", "failed", "sent", "sent")
    for place, outcome in enumerate(ends):
        exporter.fails = outcome == "failed"
        traces.begin("a").end()
        until(lambda: collector.counts[outcome] == place % 2 + 1 or None)  # noqa: B023
    collector.close(20)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "gone" in caplog.text


def test_nothing_is_imported_without_traces() -> None:
    program = (
        "import sys, quorate.client, quorate.node.process, quorate.cli.main;"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "[]\n", ran.stderr

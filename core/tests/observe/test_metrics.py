from __future__ import annotations

from contextvars import copy_context

from prometheus_client import CollectorRegistry, generate_latest
from quorate.observe.histogram import Histogram
from quorate.observe.metrics import SCRAPED, Metric, MetricCollector

Kept = dict[str, int]


def metric(kind: str, name: str) -> Metric[Kept]:
    return Metric(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        help="Of a test.",
        labels=("of",),
        read=lambda kept: [((of,), value) for of, value in kept.items()],
    )


def test_metrics_are_read_at_the_scrape() -> None:
    kept = {"a": 1}
    registry = CollectorRegistry()
    metrics = [metric("counter", "quorate_a_total"), metric("gauge", "quorate_b_bytes")]
    registry.register(MetricCollector(metrics, lambda: kept))
    kept |= {"a": 2, "b": 3}

    assert registry.get_sample_value("quorate_a_total", {"of": "a"}) == 2
    assert registry.get_sample_value("quorate_b_bytes", {"of": "b"}) == 3


def test_the_source_is_read_once_per_scrape() -> None:
    asked: list[Kept] = []

    def source() -> Kept:
        asked.append({})
        return asked[-1]

    metrics = MetricCollector([metric("gauge", "quorate_a"), metric("gauge", "quorate_b")], source)

    assert [metric.name for metric in metrics.collect()] == ["quorate_a", "quorate_b"]
    assert len(asked) == 1


def test_what_is_not_scraped_is_not_read() -> None:
    asked: list[str] = []

    def reading(name: str) -> Metric[Histogram]:
        def read(source: Histogram) -> list[tuple[tuple[str, ...], Histogram]]:
            asked.append(name)
            return [(("used",), source), (("idle",), Histogram((0.5,)))]

        return Metric(name=name, kind="histogram", help="Of a test.", labels=("of",), read=read)

    histogram = Histogram((0.5,))
    histogram.observe(0.1)
    metrics = MetricCollector([reading("quorate_a"), reading("quorate_b")], lambda: histogram)

    def unread() -> Histogram:
        asked.append("source")
        return histogram

    other = MetricCollector([reading("quorate_b")], unread)

    def scrape(*names: str) -> set[str]:
        SCRAPED.set(names)
        found = [*metrics.collect(), *other.collect()]
        return {each.labels["of"] for family in found for each in family.samples}

    assert copy_context().run(scrape, "quorate_a_", "quorate_c") == {"used"}
    assert asked == ["quorate_a"]
    assert copy_context().run(scrape) == {"used", "idle"}


def test_a_histogram_has_its_buckets_sum_and_count() -> None:
    histogram = Histogram((0.5, 1.0))
    for value in (0.1, 0.7, 3.0):
        histogram.observe(value)
    metric: Metric[Histogram] = Metric(
        name="quorate_c_seconds",
        kind="histogram",
        labels=(),
        help="Of a test.",
        read=lambda source: [((), source)],
    )
    registry = CollectorRegistry()
    registry.register(MetricCollector([metric], lambda: histogram))

    lines = generate_latest(registry).decode().splitlines()
    assert lines == [
        "# HELP quorate_c_seconds Of a test.",
        "# TYPE quorate_c_seconds histogram",
        'quorate_c_seconds_bucket{le="0.5"} 1.0',
        'quorate_c_seconds_bucket{le="1.0"} 2.0',
        'quorate_c_seconds_bucket{le="+Inf"} 3.0',
        "quorate_c_seconds_count 3.0",
        f"quorate_c_seconds_sum {histogram.total}",
    ]

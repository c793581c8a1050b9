from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from quorate.observe.figures import Figure, Figures
from quorate.observe.histogram import Histogram

Kept = dict[str, int]


def figure(kind: str, name: str) -> Figure[Kept]:
    return Figure(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        help="Of a test.",
        labels=("of",),
        read=lambda kept: [((of,), value) for of, value in kept.items()],
    )


def test_figures_are_as_they_are_when_somebody_asks() -> None:
    kept = {"a": 1}
    registry = CollectorRegistry()
    figures = [figure("counter", "quorate_a_total"), figure("gauge", "quorate_b_bytes")]
    registry.register(Figures(figures, lambda: kept))
    kept |= {"a": 2, "b": 3}

    assert registry.get_sample_value("quorate_a_total", {"of": "a"}) == 2
    assert registry.get_sample_value("quorate_b_bytes", {"of": "b"}) == 3


def test_the_source_is_asked_once_for_all_figures() -> None:
    asked: list[Kept] = []

    def source() -> Kept:
        asked.append({})
        return asked[-1]

    figures = Figures([figure("gauge", "quorate_a"), figure("gauge", "quorate_b")], source)

    assert [metric.name for metric in figures.collect()] == ["quorate_a", "quorate_b"]
    assert len(asked) == 1


def test_a_histogram_is_told_with_its_buckets_sum_and_count() -> None:
    histogram = Histogram((0.5, 1.0))
    for value in (0.1, 0.7, 3.0):
        histogram.observe(value)
    spread: Figure[Histogram] = Figure(
        name="quorate_c_seconds",
        kind="histogram",
        help="Of a test.",
        read=lambda source: [((), source)],
    )
    registry = CollectorRegistry()
    registry.register(Figures([spread], lambda: histogram))

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

from __future__ import annotations

from quorate.observe.histogram import BYTES, COUNTS, SECONDS, Histogram


def test_a_value_counts_in_its_bucket_and_in_all_above() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.5):
        histogram.observe(value)

    assert list(histogram.buckets()) == [(1.0, 2), (2.0, 3), (float("inf"), 4)]
    assert histogram.total == 5.5


def test_the_bounds_rise() -> None:
    for bounds in (SECONDS, COUNTS, BYTES):
        assert sorted(set(bounds)) == list(bounds)

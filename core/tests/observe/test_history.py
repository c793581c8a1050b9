from __future__ import annotations

import asyncio
from dataclasses import replace

from quorate.observe.histogram import SECONDS, Histogram
from quorate.observe.history import (
    BUCKETS,
    EVERY_S,
    KEPT_S,
    History,
    Totals,
    decoded,
    encoded,
    quantile_s,
    summed,
)


class Node:
    """A node with a clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.totals = Totals()
        loop = asyncio.new_event_loop()
        loop.close()
        self.history = History(loop, lambda: self.totals, lambda: self.now_s)

    def works(self, took_s: float = EVERY_S, **counted: object) -> None:
        self.now_s += took_s
        self.totals = replace(self.totals, **counted)  # type: ignore[arg-type]
        self.history.take()


def test_a_sample_has_what_was_done_since_the_one_before() -> None:
    node = Node()
    node.works(commands=500.0)
    assert node.history.since(0) == []
    node.works(commands=620.0, writes=(3, *[0] * (BUCKETS - 1)), disk_free=7)

    [sample] = node.history.since(0)
    assert (sample.at_ms, sample.took_s, sample.commands) == (1_020_000, EVERY_S, 120.0)
    assert (sample.writes[0], sample.disk_free) == (3, 7)
    assert node.history.since(sample.at_ms) == []


def test_an_hour_is_kept_and_no_more() -> None:
    node = Node()
    for number in range(1_000):
        node.works(commands=float(number))

    kept = node.history.since(0)
    assert len(kept) == KEPT_S / EVERY_S
    assert kept[-1].at_ms - kept[0].at_ms == 1e3 * (KEPT_S - EVERY_S)
    assert len(encoded(kept)) < 200_000


def test_a_shard_that_leaves_takes_its_counts_along() -> None:
    node = Node()
    node.works(commands=500.0, writes=(9, *[0] * (BUCKETS - 1)))
    node.works(commands=100.0, writes=(1, *[0] * (BUCKETS - 1)))

    [sample] = node.history.since(0)
    assert (sample.commands, sample.writes[0]) == (0.0, 0)


def test_samples_come_back_from_text_of_a_later_release() -> None:
    node = Node()
    node.works()
    node.works(commands=2.0)
    text = encoded(node.history.since(0)).replace(b'"commands"', b'"later":1,"commands"')

    [sample] = decoded(text)
    assert sample.commands == 2.0


def test_a_quantile_is_the_end_of_a_bucket() -> None:
    first, second = Histogram(SECONDS), Histogram(SECONDS)
    for _ in range(99):
        first.observe(0.001)
    second.observe(2.0)
    buckets = summed([first, second])

    assert sum(buckets) == 100
    assert (quantile_s(buckets, 0.5), quantile_s(buckets, 0.99)) == (0.001, 0.001)
    assert quantile_s(buckets, 1.0) == 2.5
    assert quantile_s([0] * BUCKETS, 0.5) is None

"""Histograms cheap enough for the hot path."""

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

#: Inclusive upper bounds of buckets: durations in seconds, counts, and sizes in bytes.
SECONDS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
COUNTS: Final = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 10_000.0)
BYTES: Final = tuple(float(256 * 4**power) for power in range(9))


class Exemplar(NamedTuple):
    """A value with the trace that it was measured in."""

    trace: str
    value: float
    #: In s since 1970.
    at: float


class Histogram:
    """A histogram; one thread observes, others may read at the same time."""

    __slots__ = ("_bounds", "_counts", "_exemplars", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds: Final = tuple(bounds)
        self._counts: Final = [0] * (len(bounds) + 1)
        #: The newest exemplar of each bucket.
        self._exemplars: Final[dict[float, Exemplar]] = {}
        #: The sum of all values.
        self.total = 0.0

    def observe(self, value: float, trace: str = "") -> None:
        """Count a value; with a trace, keep it as the exemplar of its bucket."""
        place = bisect_left(self._bounds, value)
        self._counts[place] += 1
        self.total += value
        if trace:
            bound = self._bounds[place] if place < len(self._bounds) else float("inf")
            self._exemplars[bound] = Exemplar(trace, value, time.time())

    @property
    def counts(self) -> Sequence[int]:
        """The number of values in each bucket."""
        return self._counts

    @property
    def exemplars(self) -> Mapping[float, Exemplar]:
        """The newest value with a trace of each bucket that has one, by its upper bound."""
        return self._exemplars

    def buckets(self) -> Iterator[tuple[float, int]]:
        """Yield the upper bound of each bucket with the cumulative count."""
        below = 0
        for bound, count in zip((*self._bounds, float("inf")), list(self._counts), strict=True):
            below += count
            yield bound, below

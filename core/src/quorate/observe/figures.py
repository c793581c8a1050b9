"""What Prometheus is shown: figures that are read where they are kept, when somebody asks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from quorate.observe.histogram import Histogram

S = TypeVar("S")

#: The values of a figure's labels, in their order, and what it is there.
Reading = tuple[tuple[str, ...], float | Histogram]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Generic[S]):
    """A metric, and how it is read from what keeps it."""

    #: As it is exposed: with the unit, and `_total` behind a counter.
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    read: Callable[[S], Iterable[Reading]]


class Figures(Generic[S]):
    """Implements Prometheus' `Collector`: asks the source once for all figures of a scrape."""

    def __init__(self, figures: Sequence[Figure[S]], source: Callable[[], S]) -> None:
        self._figures: Final = figures
        self._source: Final = source

    def collect(self) -> Iterator[Metric]:
        """Give each figure as it is now."""
        source = self._source()
        for figure in self._figures:
            yield _metric(figure, figure.read(source))


def _metric(figure: Figure[S], readings: Iterable[Reading]) -> Metric:
    if figure.kind == "histogram":
        spread = HistogramMetricFamily(figure.name, figure.help, labels=figure.labels)
        for labels, value in readings:
            if isinstance(value, Histogram):
                buckets = [(_end(bound), count) for bound, count in value.buckets()]
                spread.add_metric(labels, buckets, value.total)
        return spread
    make = CounterMetricFamily if figure.kind == "counter" else GaugeMetricFamily
    found = make(figure.name, figure.help, labels=figure.labels)
    for labels, value in readings:
        if not isinstance(value, Histogram):
            found.add_metric(labels, value)
    return found


def _end(bound: float) -> str:
    return "+Inf" if bound == float("inf") else str(bound)

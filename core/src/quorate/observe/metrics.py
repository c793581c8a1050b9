"""The metrics that Prometheus scrapes; each is read from its source at the scrape."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from prometheus_client import core
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.samples import Exemplar

from quorate.observe.histogram import Histogram

S = TypeVar("S")

#: The label values of a sample, in the order of the labels, and its value.
Reading = tuple[tuple[str, ...], float | Histogram]

#: What the names of the metrics of this scrape begin with; empty: all are read. A scrape by names
#: leaves out histograms without values: a node with 1,000 shards has as many, and most are at rest.
SCRAPED: Final[ContextVar[tuple[str, ...]]] = ContextVar("SCRAPED", default=())

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric(Generic[S]):
    """A metric, and how to read it from its source."""

    #: As exposed: with the unit, and with `_total` for a counter.
    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    read: Callable[[S], Iterable[Reading]]


class MetricCollector(Generic[S]):
    """Implements Prometheus' `Collector`; reads the source once per scrape, or not at all."""

    def __init__(self, metrics: Sequence[Metric[S]], source: Callable[[], S]) -> None:
        self._metrics: Final = metrics
        self._source: Final = source

    def collect(self) -> Iterator[core.Metric]:
        """Yield the current value of each metric that is scraped."""
        names = SCRAPED.get()
        metrics = [each for each in self._metrics if is_named(each.name, names)]
        if not metrics:
            return
        source = self._source()
        for metric in metrics:
            yield _family(metric, metric.read(source), empty=not names)


def is_named(family: str, names: tuple[str, ...]) -> bool:
    """Return whether a family has samples with names that begin with any of these, if there are."""
    return not names or family.startswith(names) or any(each.startswith(family) for each in names)


def _family(metric: Metric[S], readings: Iterable[Reading], *, empty: bool) -> core.Metric:
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, value in readings:
            if isinstance(value, Histogram) and (empty or any(value.counts)):
                buckets = [_bucket(value, bound, count) for bound, count in value.buckets()]
                histogram.add_metric(labels, buckets, value.total)
        return histogram
    make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = make(metric.name, metric.help, labels=metric.labels)
    for labels, value in readings:
        if not isinstance(value, Histogram):
            family.add_metric(labels, value)
    return family


def _bucket(
    histogram: Histogram, bound: float, count: int
) -> tuple[str, int] | tuple[str, int, Exemplar]:
    end = "+Inf" if bound == float("inf") else str(bound)
    found = histogram.exemplars.get(bound)
    if found is None:
        return end, count
    return end, count, Exemplar({"trace_id": found.trace}, found.value, found.at)

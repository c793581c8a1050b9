"""The declared metrics of plugins, exposed to Prometheus."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from quorate.plugin import Metric

_Kept = Counter | Gauge | Histogram


class PluginMetrics:
    """The values of plugins' metrics on this node, checked against their declarations."""

    def __init__(self, declared: Mapping[str, Metric], registry: CollectorRegistry) -> None:
        self._declared: Final = declared
        self._registry: Final = registry
        self._kept: Final = {name: _kept(metric, registry) for name, metric in declared.items()}
        #: Gauges without labels that are set: an unset gauge is not exposed.
        self._set: Final[set[Gauge]] = set()

    def count(self, metric: str, value: float, labels: Mapping[str, str]) -> None:
        """Add to a counter; raises `LookupError` and `ValueError` unless it was declared so."""
        kept = self._found(metric, labels)
        if not isinstance(kept, Counter):
            raise ValueError(f"metric {metric} is a {self._declared[metric].kind}: use observe")
        if value < 0:
            raise ValueError(f"counter {metric} was given {value}: a counter never falls")
        (kept.labels(**labels) if labels else kept).inc(value)

    def observe(self, metric: str, value: float, labels: Mapping[str, str]) -> None:
        """Record a value in a histogram, or set a gauge; raises as `count` does."""
        kept = self._found(metric, labels)
        if isinstance(kept, Counter):
            raise ValueError(f"metric {metric} is a counter: use count")
        if isinstance(kept, Gauge):
            if not labels and kept not in self._set:
                self._set.add(kept)
                self._registry.register(kept)
            (kept.labels(**labels) if labels else kept).set(value)
        else:
            (kept.labels(**labels) if labels else kept).observe(value)

    def withdraw(self, metric: str, labels: Mapping[str, str]) -> None:
        """Remove the value of a gauge; counters and histograms keep theirs."""
        kept = self._found(metric, labels)
        if not isinstance(kept, Gauge):
            return
        if labels:
            with suppress(KeyError):
                kept.remove(*(labels[name] for name in self._declared[metric].labels))
        elif kept in self._set:
            self._set.remove(kept)
            self._registry.unregister(kept)

    def _found(self, name: str, labels: Mapping[str, str]) -> _Kept:
        metric = self._declared.get(name)
        if metric is None:
            raise LookupError(f"metric {name} is not declared; return it from quorate_declarations")
        if set(labels) != set(metric.labels):
            raise ValueError(
                f"metric {name} has the labels {sorted(metric.labels)}, not {sorted(labels)}"
            )
        return self._kept[name]


def _kept(metric: Metric, registry: CollectorRegistry) -> _Kept:
    kinds: Final = {"counter": Counter, "gauge": Gauge, "histogram": Histogram}
    registered = None if metric.kind == "gauge" and not metric.labels else registry
    made: _Kept = kinds[metric.kind](metric.name, metric.help, metric.labels, registry=registered)
    return made

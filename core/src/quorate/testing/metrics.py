"""The metrics that a plugin counted, checked against its declarations."""

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry

from quorate.node.plugin_metrics import PluginMetrics
from quorate.plugin import Metric


class CountedMetrics(dict[str, float]):
    """Samples by their name in the Prometheus text format, as in `requests_total{code="OK"}`."""

    def __init__(self, declared: Mapping[str, Metric]) -> None:
        super().__init__()
        self._declared: Final = declared
        #: Rejects undeclared metrics and labels, as a node does.
        self._kept: Final = PluginMetrics(declared, CollectorRegistry())

    def count(self, metric: str, value: float, labels: Mapping[str, str]) -> None:
        """Add to a declared counter."""
        self._kept.count(metric, value, labels)
        self._add(metric, value, labels)

    def observe(self, metric: str, value: float, labels: Mapping[str, str]) -> None:
        """Record a value in a declared histogram (as its count and sum), or set a gauge."""
        self._kept.observe(metric, value, labels)
        if self._declared[metric].kind == "gauge":
            self[_sample(metric, labels)] = value
        else:
            self._add(f"{metric}_count", 1, labels)
            self._add(f"{metric}_sum", value, labels)

    def _add(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        sample = _sample(name, labels)
        self[sample] = self.get(sample, 0.0) + value


def _sample(name: str, labels: Mapping[str, str]) -> str:
    shown = ",".join(f'{label}="{labels[label]}"' for label in sorted(labels))
    return f"{name}{{{shown}}}" if shown else name

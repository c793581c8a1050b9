"""The metrics that a plugin counted, checked against what it declares."""

from collections.abc import Mapping
from typing import Final, Literal

from quorate.plugin import Metric


class CountedMetrics(dict[str, float]):
    """Samples by their name in the Prometheus text format, as in `requests_total{code="OK"}`."""

    def __init__(self, declared: Mapping[str, Metric]) -> None:
        super().__init__()
        self._declared: Final = declared

    def count(self, metric: str, value: float, labels: Mapping[str, str]) -> None:
        """Add to a declared counter."""
        self._check(metric, ("counter",), labels)
        if value < 0:
            raise ValueError(f"counter {metric} was given {value}: a counter never falls")
        self._add(metric, value, labels)

    def observe(self, metric: str, value: float, labels: Mapping[str, str]) -> None:
        """Record a value in a declared histogram (as its count and sum), or set a gauge."""
        if self._check(metric, ("gauge", "histogram"), labels).kind == "gauge":
            self[_sample(metric, labels)] = value
        else:
            self._add(f"{metric}_count", 1, labels)
            self._add(f"{metric}_sum", value, labels)

    def _add(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        sample = _sample(name, labels)
        self[sample] = self.get(sample, 0.0) + value

    def _check(
        self,
        name: str,
        kinds: tuple[Literal["counter", "gauge", "histogram"], ...],
        labels: Mapping[str, str],
    ) -> Metric:
        metric = self._declared.get(name)
        if metric is None:
            raise LookupError(f"metric {name} is not declared; return it from quorate_metrics")
        if metric.kind not in kinds:
            verb = "observe" if "counter" in kinds else "count"
            raise ValueError(f"metric {name} is a {metric.kind}: use {verb}")
        if set(labels) != set(metric.labels):
            raise ValueError(
                f"metric {name} has the labels {sorted(metric.labels)}, not {sorted(labels)}"
            )
        return metric


def _sample(name: str, labels: Mapping[str, str]) -> str:
    shown = ",".join(f'{label}="{labels[label]}"' for label in sorted(labels))
    return f"{name}{{{shown}}}" if shown else name

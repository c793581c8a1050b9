"""Rates and latencies of nodes, from their metrics at two moments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quorate.cli.samples import Samples, bucket_of

Row = Mapping[str, Any]
#: By the number of values up to its end, each bucket of a histogram.
Buckets = dict[float, float]

#: Prefixes of the names of the metrics that are read.
NAMES: Final = (
    *("quorate_write_duration_", "quorate_write_entry_commands_sum", "quorate_rpc_calls_"),
    *("quorate_rpc_duration_", "quorate_rpc_open_calls", "quorate_watch_open_watches"),
    *("quorate_log_sync_", "quorate_loop_longest_", "quorate_disk_free_"),
)
#: Maximum number of methods shown, the most called first.
_METHODS: Final = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The metrics of the nodes at one moment."""

    at_s: float
    #: By node.
    samples: Mapping[str, Samples]

    def since(self, before: Activity | None) -> Rates:
        """Return the rates since another moment; without one, since the nodes started."""
        took = None if before is None else max(self.at_s - before.at_s, 1e-3)
        return Rates(self, before, took)


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates and latencies of nodes between two moments."""

    _now: Activity
    _before: Activity | None
    _took: float | None

    def writes(self) -> Iterator[Row]:
        """Yield the shards that were written to, with the node that led them."""
        for node in self._now.samples:
            commands = self._sums(node, "quorate_write_entry_commands_sum", "shard")
            buckets = self._buckets(node, "quorate_write_duration_seconds_bucket", "shard")
            for shard, taken in buckets.items():
                if count := max(taken.values(), default=0.0):
                    yield {
                        "shard": shard,
                        "node": node,
                        "writes_per_s": self._rate(count),
                        "commands_per_s": self._rate(commands[shard]),
                        **_latencies(taken),
                    }

    def calls(self) -> list[Row]:
        """Return the methods that were called, those with the most calls first."""
        counts: defaultdict[str, float] = defaultdict(float)
        failed: defaultdict[str, float] = defaultdict(float)
        buckets: defaultdict[str, Buckets] = defaultdict(lambda: defaultdict(float))
        open_now: defaultdict[str, float] = defaultdict(float)
        for node, samples in self._now.samples.items():
            for (method, code), count in self._sums(
                node, "quorate_rpc_calls_total", "method", "code"
            ).items():
                counts[method] += count
                failed[method] += count if code != "OK" else 0
            for method, taken in self._buckets(
                node, "quorate_rpc_duration_seconds_bucket", "method"
            ).items():
                for end, count in taken.items():
                    buckets[method][end] += count
            for labels, value in samples.get("quorate_rpc_open_calls", ()):
                open_now[labels["method"]] += value
        methods = sorted(counts, key=lambda each: (-counts[each], each))[:_METHODS]
        return [
            {
                "method": method.lstrip("/"),
                "calls_per_s": self._rate(counts[method]),
                "failed_per_s": self._rate(failed[method]),
                "open": int(open_now[method]),
                **_latencies(buckets[method]),
            }
            for method in methods
            if counts[method] or open_now[method]
        ]

    def nodes(self) -> Iterator[Row]:
        """Yield the nodes with their open watches and calls, and their causes of delay."""
        for node, samples in self._now.samples.items():
            syncs = self._buckets(node, "quorate_log_sync_seconds_bucket")
            calls = sum(value for _, value in samples.get("quorate_rpc_open_calls", ()))
            yield {
                "node": node,
                "watches": int(_one(samples, "quorate_watch_open_watches")),
                "open_calls": int(calls),
                "fsync_p99_ms": _latencies(syncs.get("", {}))["p99_ms"],
                "longest_stop_ms": round(1e3 * _one(samples, "quorate_loop_longest_stop_seconds")),
                "disk_free_gb": round(_one(samples, "quorate_disk_free_bytes") / 1e9, 1),
            }

    def _rate(self, count: float) -> float | None:
        return None if self._took is None else round(count / self._took, 1)

    def _buckets(self, node: str, name: str, label: str = "") -> Mapping[str, Buckets]:
        found: defaultdict[str, Buckets] = defaultdict(dict)
        labels = (label, "le") if label else ("le",)
        for key, count in self._sums(node, name, *labels).items():
            of, end = key if label else ("", key)
            found[of][float(end)] = count
        return found

    def _sums(self, node: str, name: str, *labels: str) -> Mapping[Any, float]:
        """Return by how much the values of a counter have grown, by their labels."""

        def read(activity: Activity | None) -> dict[Any, float]:
            samples = {} if activity is None else activity.samples.get(node, {})
            return {
                tuple(of[label] for label in labels) if len(labels) > 1 else of[labels[0]]: value
                for of, value in samples.get(name, ())
            }

        before = read(self._before)
        now = read(self._now)
        # A restarted node counts from 0.
        anew = any(value < before.get(key, 0.0) for key, value in now.items())
        grown = now if anew else {k: v - before.get(k, 0.0) for k, v in now.items()}
        return defaultdict(float, grown)


def _latencies(buckets: Buckets) -> dict[str, float | None]:
    if not any(buckets.values()):
        return {"p50_ms": None, "p99_ms": None}
    found: dict[str, float | None] = {}
    for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99)):
        begin, end = bucket_of([*buckets.items()], share)
        found[name] = round(1e3 * (begin if end == float("inf") else end), 3)
    return found


def _one(samples: Samples, name: str) -> float:
    return next((value for _, value in samples.get(name, ())), 0.0)

"""What a node shows of itself: which figures there are, and where each is read."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from quorate.groups.shard.shard import Shard
from quorate.node.figures import shards, storage, work
from quorate.observe.metrics import MetricCollector


def expose(
    registry: CollectorRegistry,
    replicas: Callable[[], Iterable[Shard]],
    stored: Callable[[], storage.Storage],
    worked: Callable[[], work.Work],
) -> None:
    """Let a registry show the figures of a node, and those of its process."""
    registry.register(MetricCollector(shards.FIGURES, lambda: shards.replicas(replicas())))
    registry.register(MetricCollector(storage.FIGURES, stored))
    registry.register(MetricCollector(work.FIGURES, worked))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)

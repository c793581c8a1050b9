"""What a node exposes: its metrics, and where each is read."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from quorate.groups.shard.shard import Shard
from quorate.node.metrics import shards, storage, work
from quorate.observe.figures import Figures


def expose(
    registry: CollectorRegistry,
    replicas: Callable[[], Iterable[Shard]],
    stored: Callable[[], storage.Storage],
    worked: Callable[[], work.Work],
) -> None:
    """Let a registry expose the metrics of a node, and those of its process."""
    registry.register(Figures(shards.METRICS, lambda: shards.replicas(replicas())))
    registry.register(Figures(storage.METRICS, stored))
    registry.register(Figures(work.METRICS, worked))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)

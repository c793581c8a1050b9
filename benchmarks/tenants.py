"""How fast a tenant with many topics is deleted: python -m benchmarks.tenants [TOPICS]."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from quorate.builtin.tenant.plugin import TENANTS
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import DeleteTenantRequest, Tenant
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.v1.topics_pb2 import Topic

_PAGE = 1_000


def _pages(topics: int) -> Iterator[list[Topic]]:
    for start in range(0, topics, _PAGE):
        numbers = range(start, min(start + _PAGE, topics))
        yield [
            Topic(tenant="big", name=f"topic-{number}", partitions=1, replication=1)
            for number in numbers
        ]


async def _gone(q: AsyncClient) -> None:
    while await q.records(TENANTS).get("big") is not None:
        await asyncio.sleep(0.05)


async def measure(endpoints: str, topics: int) -> float:
    """Return how many seconds the deletion of a tenant with so many topics takes."""
    async with connect(endpoints) as q:
        await q.records(TENANTS).create(Tenant(name="big"))
        for page in _pages(topics):
            await q.records(TOPIC).create(page)
        deletion = DeleteTenantRequest(name="big", cascade=True)
        began = monotonic()
        await q.call("/quorate.v1.TenantService/Delete", deletion, Tenant)
        await _gone(q)
        return monotonic() - began


def main() -> None:
    """Measure it on three nodes of this machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="?", type=int, default=30_000)
    topics: int = parser.parse_args().topics
    with (
        tempfile.TemporaryDirectory(prefix="quorate-tenants-") as folder,
        Cluster(Path(folder), plugins=("mqtt",)) as cluster,
    ):
        seconds = asyncio.run(measure(cluster.ready().endpoints, topics))
    print(f"{topics:,} topics in {seconds:.1f} s: {topics / seconds:,.0f} a second")


if __name__ == "__main__":
    main()

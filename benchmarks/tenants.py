"""How fast a tenant with many topics is deleted.

python benchmarks/tenants.py [--topics N] [--json]
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from figures import Options, report, slices
from nodes import founded
from quorate.builtin.tenant.plugin import TENANTS
from quorate.client import AsyncClient, connect
from quorate.v1.tenant_pb2 import DeleteTenantRequest, Tenant
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.v1.topics_pb2 import Topic

_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What the deletion of a tenant took."""

    topics: int
    seconds: float
    topics_per_s: float


async def _gone(q: AsyncClient) -> None:
    while await q.records(TENANTS).get("big") is not None:
        await asyncio.sleep(0.05)


async def measure(endpoints: str, topics: int) -> Deletion:
    """Delete a tenant with a number of topics."""
    async with connect(endpoints) as q:
        await q.records(TENANTS).create(Tenant(name="big"))
        for numbers in slices(range(topics), _PAGE):
            await q.records(TOPIC).create(
                Topic(tenant="big", name=f"topic-{number}", partitions=1, replication=1)
                for number in numbers
            )
        deletion = DeleteTenantRequest(name="big", cascade=True)
        began = monotonic()
        await q.call("/quorate.v1.TenantService/Delete", deletion, Tenant)
        await _gone(q)
        seconds = monotonic() - began
    return Deletion(topics=topics, seconds=seconds, topics_per_s=topics / seconds)


def main() -> None:
    """Measure it on three nodes of this machine."""
    options = Options(__doc__, topics=30_000).parse_args()
    with founded(options.directory, 3, "mqtt") as cluster:
        row = asyncio.run(measure(cluster.endpoints, options.topics))
    report([row], as_json=options.json)


if __name__ == "__main__":
    main()

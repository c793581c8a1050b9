"""One shard is split into four, and these are merged into one, under sessions and wills."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final

import pytest
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1.sessions_pb2 import SessionConnect
from quorate_mqtt.v1.wills_pb2 import Will

from tests.cluster.node.test_merges import merged
from tests.cluster.node.test_splits import forgotten, slots, split

SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {"timing": QUICK_ELECTIONS}
CLIENTS: Final = 40
#: From soon after the first split until after the last merge.
DELAYS_S: Final = (1, 4, 8, 12)


@pytest.mark.ci
@pytest.mark.timeout(300)
async def test_sessions_and_wills_outlive_a_split_and_merges(tmp_path: Path) -> None:
    with Cluster(tmp_path, plugins=["mqtt"], settings=SETTINGS) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with (
            asyncio.timeout(8 * PATIENCE_S),
            connect(cluster.endpoints, exactly_once=True) as q,
        ):
            mqtt = Mqtt(q)
            await q.execute(CreateTenant(name="home"), Tenant)
            async with q.brokers.registered("lives", "test", roles=["mqtt"]) as lives:
                broker = lives.broker
                seen = Counter[str]()

                async def publish() -> None:
                    async with aclosing(mqtt.wills.due(broker.epoch)) as wills:
                        async for due in wills:
                            if await mqtt.wills.acknowledge(due):
                                seen[due.client_id] += 1

                publishing = asyncio.create_task(publish())
                for number in range(CLIENTS):
                    will = Will(
                        topic="gone",
                        payload=b"bye",
                        delay_interval_s=DELAYS_S[number % len(DELAYS_S)],
                    )
                    connection = SessionConnect(
                        tenant="home",
                        client_id=f"c{number}",
                        connection_id=1,
                        expiry_interval_s=3_600,
                        will=will,
                    )
                    reply = await mqtt.sessions.connect(broker.name, broker.epoch, connection)
                    if number % 2:
                        await mqtt.sessions.disconnect("home", f"c{number}", reply.generation)
                parts = await split(q, "mqtt/0", 4)
                await slots(q, parts)
                await forgotten(cluster, parts)
                one = await in_one(q, parts)
                assert (await slots(q))[one] == 1_024
                gone = {f"c{number}": 1 for number in range(1, CLIENTS, 2)}
                async with asyncio.timeout(PATIENCE_S):
                    while seen.keys() != gone.keys():
                        await asyncio.sleep(0.1)
                assert seen == gone
                publishing.cancel()
                await asyncio.gather(publishing, return_exceptions=True)
            found = [each.client_id async for each in mqtt.sessions.list(tenant="home")]
            assert sorted(found) == sorted(f"c{number}" for number in range(CLIENTS))


async def in_one(q: AsyncClient, parts: list[str]) -> str:
    """Merge shards until there is one."""
    while len(parts) > 1:
        one, other, *rest = parts
        parts = [*rest, await merged(q, one, other)]
    return parts[0]

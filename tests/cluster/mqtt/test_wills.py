"""A will is published after its delay, once, whoever dies before it is due."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Final

import pytest
from quorate.client import connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1.sessions_pb2 import ConnectReply, KeyedSession, SessionConnect
from quorate_mqtt.v1.wills_pb2 import KeyedWillDelivery, Will

SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {"timing": QUICK_ELECTIONS}
#: Of the broker that dies, which sends no heartbeat, and of the one that is not to.
SHORT_MS: Final = 6_000
LONG_MS: Final = 60_000
DELAY_S: Final = 3
WILL: Final = Will(topic="gone", payload=b"bye", delay_interval_s=DELAY_S)


@pytest.mark.full
@pytest.mark.parametrize(
    "dies", ["the broker", "the leader", "the broker and the leader", "the whole cluster"]
)
async def test_a_will_outlives_everybody(tmp_path: Path, dies: str) -> None:
    with Cluster(tmp_path, plugins=["mqtt"], settings=SETTINGS) as cluster:
        cluster.ready()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(asyncio.timeout(2 * PATIENCE_S))
            # What the death of a leader leaves open is sent again.
            q = await stack.enter_async_context(connect(cluster.endpoints, exactly_once=True))
            mqtt = Mqtt(q)
            await q.execute(CreateTenant(name="home"), Tenant)
            lives = await stack.enter_async_context(
                q.brokers.registered("lives", "test", roles=["mqtt"], ttl_ms=LONG_MS)
            )
            if "broker" in dies:
                await connected_to(mqtt, await q.brokers.register("dies", "test", ttl_ms=SHORT_MS))
            else:
                session = await connected_to(mqtt, lives.broker)
                await mqtt.sessions.disconnect("home", "lamp", session.generation)
            if "leader" in dies:
                cluster.leader("mqtt/0").kill()
            if "cluster" in dies:
                for node in cluster.nodes.values():
                    node.kill()
                for node in cluster.nodes.values():
                    node.start()

            left = await left_session(mqtt)
            published = await published_by(mqtt, lives.broker.epoch)

            assert published.delivery.will == WILL
            assert published.delivery.due_at_ms >= left.disconnected_at_ms + DELAY_S * 1_000
            # What is acknowledged is nobody's to publish any more.
            waiting = mqtt.wills.deliveries(tenant="home")
            assert [each async for each in waiting] == []
            assert await mqtt.wills.get("home", "lamp") is None


async def connected_to(mqtt: Mqtt, broker: Broker) -> ConnectReply:
    """Connect the client whose will it is."""
    connection = SessionConnect(
        tenant="home", client_id="lamp", connection_id=1, expiry_interval_s=60, will=WILL
    )
    return await mqtt.sessions.connect(broker.name, broker.epoch, connection)


async def left_session(mqtt: Mqtt) -> KeyedSession:
    """Wait until the cluster has taken note that the client is gone, and return its session."""
    while True:
        session = await mqtt.sessions.get("home", "lamp")
        assert session is not None
        if session.disconnected_at_ms:
            return session
        await asyncio.sleep(0.01)


async def published_by(mqtt: Mqtt, epoch: int) -> KeyedWillDelivery:
    """Publish what this broker is to publish: the one will that there is."""
    async with aclosing(mqtt.wills.due(epoch)) as wills:
        async for due in wills:
            assert await mqtt.wills.acknowledge(due)
            return due
    raise AssertionError("the watch of the wills has ended")

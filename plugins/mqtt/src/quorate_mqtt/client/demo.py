"""The part of `quorate demo`: clients of MQTT brokers, which come and go, and their messages."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from itertools import product
from typing import Final

from quorate.client import AsyncClient, UnavailableError
from quorate.plugin.advanced import DemoScene

from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1.retained_messages_pb2 import PutRetainedMessageRequest
from quorate_mqtt.v1.sessions_pb2 import SessionConnect
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription
from quorate_mqtt.v1.topics_pb2 import Topic
from quorate_mqtt.v1.wills_pb2 import Will

_ROOMS: Final = ("kitchen", "hall", "cellar", "attic", "garden")
_KINDS: Final = ("temperature", "humidity", "power", "door")
_CLIENTS: Final = 60
#: Clients that connect anew in a step.
_ARRIVALS: Final = 4
#: A shard learns of a new broker a moment after it has registered.
_ATTEMPTS: Final = 100
_PAUSE_S: Final = 0.1


async def demo(q: AsyncClient, scene: DemoScene) -> AsyncGenerator[str, None]:
    """Make topics and sessions of each tenant, and have clients connect anew at each step."""
    mqtt = Mqtt(q)
    topics = [f"house/{room}/{kind}" for room, kind in product(_ROOMS, _KINDS)]
    clients = [f"sensor-{number:03}" for number in range(_CLIENTS)]
    for tenant in scene.tenants:
        await mqtt.topics.put(
            Topic(tenant=tenant, name=name, partitions=4, replication=3) for name in topics
        )
        for number, broker in enumerate(scene.brokers):
            some = clients[number :: len(scene.brokers)]
            await _connect(mqtt, scene, broker, tenant, some)
        await mqtt.subscriptions.do(
            "Set",
            [
                SetSubscription(
                    tenant=tenant,
                    client_id=client,
                    filter=f"house/{_ROOMS[number % len(_ROOMS)]}/#",
                    qos=1,
                )
                for number, client in enumerate(clients)
            ],
        )
    each = f"{len(topics)} topics and {len(clients)} sessions with a subscription and a will"
    yield f"{each} in each tenant"
    moving = scene.tenants[:-1]
    while True:
        tenant = random.choice(moving)
        some = random.sample(clients, _ARRIVALS)
        await _connect(mqtt, scene, random.choice([*scene.brokers]), tenant, some)
        message = PutRetainedMessageRequest(
            tenant=tenant, topic=random.choice(topics), payload=b"%d" % random.randrange(100)
        )
        await mqtt.retained_messages.do("Put", [message])
        yield ""


async def _connect(
    mqtt: Mqtt, scene: DemoScene, broker: str, tenant: str, clients: Sequence[str]
) -> None:
    """Connect clients, those again that are refused because their shard knows no such broker.

    Raises `UnavailableError` when some stay refused.
    """
    left = list(clients)
    for _ in range(_ATTEMPTS):
        connections = [
            SessionConnect(
                tenant=tenant,
                client_id=client,
                connection_id=1,
                expiry_interval_s=86_400,
                will=Will(topic=f"offline/{client}", delay_interval_s=30),
            )
            for client in left
        ]
        reply = await mqtt.sessions.connect_many(broker, scene.brokers[broker], connections)
        left = [left[each.item] for each in reply.refusals]
        if not left:
            return
        await asyncio.sleep(_PAUSE_S)
    why = reply.refusals[0].message
    raise UnavailableError(f"{len(left)} clients of {tenant} are refused at {broker}: {why}")

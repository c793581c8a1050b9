"""A cluster that MQTT brokers use: their registrations, heartbeats that count, and clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import nodes
from figures import slices
from quorate.client import AsyncClient, QuorateError, connect
from quorate.testing.cluster import Cluster
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1.sessions_pb2 import ConnectReply, SessionConnect
from quorate_mqtt.v1.topics_pb2 import Topic
from quorate_mqtt.v1.wills_pb2 import Will

TENANT: Final = "acme"
#: Whose sessions expire.
LEAVING: Final = "leaving"
BROKERS: Final = ("broker-1", "broker-2", "broker-3")
#: Of one RPC.
SESSIONS: Final = 1_000
#: With the broker's name and what else a session has, a row has about 120 bytes.
PAYLOAD: Final = bytes(range(56))
#: Clients of each tenant by whom it is seen that all shards know a broker.
FIRST: Final = tuple(f"first-{number}" for number in range(64))
#: Heartbeats in the time that a registration lasts without any.
_BEATS: Final = 3


@dataclass(slots=True, kw_only=True)
class Pulse:
    """The heartbeats of one broker."""

    q: AsyncClient
    broker: Broker
    sent: int = 0
    #: Those that failed, or were not answered before the next one was due.
    missed: int = 0

    async def beat(self) -> None:
        """Send heartbeats for as long as anybody lets it."""
        name, epoch = self.broker.name, self.broker.epoch
        pause_s = self.broker.ttl_ms / 1_000 / _BEATS
        while True:
            await asyncio.sleep(pause_s)
            self.sent += 1
            try:
                await self.q.brokers.heartbeat(name, epoch, timeout_s=pause_s)
            except QuorateError:
                self.missed += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """A cluster with tenants and brokers that are registered."""

    cluster: Cluster
    q: AsyncClient
    #: The client that makes batches: one, as connects share commands within one.
    mqtt: Mqtt
    pulses: Sequence[Pulse]

    @property
    def pids(self) -> list[int]:
        """The processes of the nodes."""
        return nodes.pids(self.cluster)

    @property
    def missed(self) -> int:
        """How many heartbeats of all brokers did not come through in time."""
        return sum(each.missed for each in self.pulses)

    def epoch(self, broker: int) -> int:
        """Return the registration of a broker."""
        return self.pulses[broker].broker.epoch

    async def connect(self, clients: Sequence[str], in_flight: int = 8, **more: Any) -> list[int]:
        """Connect clients to the first broker, and return the generations of their sessions."""

        async def ask(some: Sequence[str]) -> BatchReply:
            return await self.mqtt.sessions.connect_many(
                BROKERS[0], self.epoch(0), arrivals(some, **more)
            )

        replies = await asked(ask, clients, in_flight)
        return list(chain.from_iterable(map(generations_of, replies)))

    async def create(self, names: Sequence[str], in_flight: int = 8) -> None:
        """Create topics."""

        async def ask(some: Sequence[str]) -> BatchReply:
            return await self.mqtt.topics.create(
                Topic(tenant=TENANT, name=name, partitions=1, replication=1) for name in some
            )

        await asked(ask, names, in_flight)


async def asked(
    ask: Callable[[Sequence[str]], Awaitable[BatchReply]], names: Sequence[str], in_flight: int
) -> list[BatchReply]:
    """Ask for 1,000 names a call with so many calls under way, and return the replies in order."""
    parts = list(slices(names, SESSIONS))
    replies: list[BatchReply] = [BatchReply()] * len(parts)
    # Taken by all in turn: made all at once, the requests would take more memory than the rows.
    left = iter(enumerate(parts))

    async def call() -> None:
        for position, part in left:
            replies[position] = checked(await ask(part))

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(call())
    return replies


def checked(reply: BatchReply) -> BatchReply:
    """Return a reply without refusals; a benchmark of refusals is none."""
    if reply.refusals:
        first = reply.refusals[0]
        raise RuntimeError(f"{len(reply.refusals)} were refused; the first: {first}")
    return reply


def generations_of(reply: BatchReply) -> list[int]:
    """Read the answer to a batch of connects."""
    return [ConnectReply.FromString(each).generation for each in checked(reply).replies]


def arrivals(
    clients: Sequence[str],
    *,
    tenant: str = TENANT,
    expiry_s: int = 3_600,
    will_after_s: int | None = None,
) -> list[SessionConnect]:
    """Return the connects of clients, whose wills, if any, have their names for topics."""
    return [
        SessionConnect(
            tenant=tenant,
            client_id=client,
            connection_id=1,
            expiry_interval_s=expiry_s,
            payload=PAYLOAD,
            will=(
                None if will_after_s is None else Will(topic=client, delay_interval_s=will_after_s)
            ),
        )
        for client in clients
    ]


def clients_of(caller: int, count: int = SESSIONS, first: int = 0) -> list[str]:
    """Return clients of one caller, from a number on."""
    return [f"client-{caller}-{number:07}" for number in range(first, first + count)]


@asynccontextmanager
async def netted(cluster: Cluster) -> AsyncIterator[Net]:
    """Register brokers, send their heartbeats, and wait until all shards know them."""
    async with connect(cluster.endpoints, timeout_s=60) as q:
        for tenant in (TENANT, LEAVING):
            await q.execute(CreateTenant(name=tenant), Tenant)
        pulses = [
            Pulse(q=q, broker=await q.brokers.register(name, "mqtt", roles=["mqtt"]))
            for name in BROKERS
        ]
        beating = [asyncio.create_task(each.beat()) for each in pulses]
        net = Net(cluster=cluster, q=q, mqtt=Mqtt(q), pulses=pulses)
        try:
            for broker in range(len(BROKERS)):
                for tenant in (TENANT, LEAVING):
                    await _known(net, broker, tenant)
            yield net
        finally:
            for each in beating:
                each.cancel()
            await asyncio.gather(*beating, return_exceptions=True)


async def _known(net: Net, broker: int, tenant: str) -> None:
    connections = arrivals(FIRST, tenant=tenant)
    while True:
        reply = await net.mqtt.sessions.connect_many(
            BROKERS[broker], net.epoch(broker), connections
        )
        if not reply.refusals:
            return
        await asyncio.sleep(0.05)

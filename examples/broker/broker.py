"""A small broker that keeps all its state in Quorate: a second one can go on where it ended.

Its clients and its peers speak lines of JSON instead of MQTT. What it does with the cluster is what
an MQTT broker does: register, connect, subscribe, retain, publish wills, share subscriptions.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from quorate.client import AsyncClient, ChangeKind, QuorateError, Registration, connect
from quorate.plugin import keys
from quorate.v1.cluster_pb2 import Broker as BrokerRow
from quorate_mqtt.client import Access, AccessCache, Action, Mqtt
from quorate_mqtt.topic_filters import group_of, matches, unshared
from quorate_mqtt.v1.retained_messages_pb2 import PutRetainedMessageRequest
from quorate_mqtt.v1.sessions_pb2 import Session, SessionConnect
from quorate_mqtt.v1.shared_groups_pb2 import (
    JoinSharedGroup,
    LeaveSharedGroup,
    SharedGroup,
    SharedGroupMember,
)
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription
from quorate_mqtt.v1.wills_pb2 import Will

TENANT: Final = "home"
CLUSTER: Final = "examples"
ROLE: Final = "mqtt"

#: A line of JSON.
Line = Mapping[str, object]


class Connection:
    """A client of this broker, or a peer that has a message for its clients."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer: Final = writer
        #: Empty until the client has connected.
        self.client_id = ""
        self.generation = 0
        self.filters: Final[set[str]] = set()

    def say(self, line: Line) -> None:
        """Send a line."""
        self._writer.write(json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


class Groups:
    """The groups of shared subscriptions, as this broker's watch shows them."""

    def __init__(self) -> None:
        self._leaders: Final[dict[str, int]] = {}
        #: By group, client and filter: the registration of the broker that serves the client.
        self._members: Final[dict[tuple[str, str, str], int]] = {}
        self._turns: Final = itertools.count()

    async def follow(self, q: AsyncClient) -> None:
        """Keep up to date, without an end."""
        async for change in q.watch(["mqtt.shared_groups", "mqtt.shared_group_members"]):
            if change.kind is ChangeKind.RESYNC:
                self._leaders.clear()
                self._members.clear()
                continue
            _, group, *who = map(str, keys.unpack(change.key))
            if not who:
                # A group that is gone has no leader: its row is empty.
                self._leaders[group] = SharedGroup.FromString(change.value).leader_epoch
                continue
            client_id, topic_filter = who
            if change.kind is ChangeKind.DELETED:
                self._members.pop((group, client_id, topic_filter), None)
            else:
                member = SharedGroupMember.FromString(change.value)
                self._members[group, client_id, topic_filter] = member.broker_epoch

    def receivers(self, epoch: int, topic: str) -> list[tuple[int, str]]:
        """Return the receiver in each group that a broker leads: the broker and the client id."""
        chosen = []
        for group in (group for group, leader in self._leaders.items() if leader == epoch):
            matching = sorted(
                (broker, client)
                for (name, client, topic_filter), broker in self._members.items()
                if name == group and matches(topic_filter, topic)
            )
            if matching:
                chosen.append(matching[next(self._turns) % len(matching)])
        return chosen

    def seen(self) -> Line:
        """Return the leader of each group, and the number of members."""
        return {"leaders": self._leaders, "members": len(self._members)}


class Broker:
    """Serves clients while it is registered."""

    def __init__(self, q: AsyncClient, registration: Registration, access: AccessCache) -> None:
        self._q: Final = q
        self._mqtt: Final = Mqtt(q)
        self._name: Final = registration.broker.name
        self._epoch: Final = registration.broker.epoch
        self._access: Final = access
        self._groups: Final = Groups()
        self._clients: Final[dict[str, Connection]] = {}
        #: Of the other brokers, by their registration.
        self._addresses: Final[dict[int, str]] = {}
        self._connection_ids: Final = itertools.count(1)

    async def follow(self) -> None:
        """Follow the changes in the cluster for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._groups.follow(self._q))
            tasks.create_task(self._follow_brokers())
            tasks.create_task(self._follow_sessions())
            tasks.create_task(self._publish_wills())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        connection = Connection(writer)
        try:
            with suppress(ConnectionError):
                while line := await reader.readline():
                    await self._answer(connection, json.loads(line))
        finally:
            await self._lose(connection)
            connection.close()

    async def _answer(self, connection: Connection, line: dict[str, str]) -> None:
        """Carry out the request in a line, and answer with its result or its refusal."""
        do = line.get("do", "")
        try:
            match do:
                case "connect":
                    done = await self._connect(connection, line)
                case "subscribe":
                    done = await self._subscribe(connection, line["filter"])
                case "publish":
                    done = await self._publish(connection, line)
                case "disconnect":
                    await self._end(connection, discard_will=True)
                    done = {}
                case "forward":
                    return await self._spread(line["topic"], line["payload"])
                case "deliver":
                    return self._deliver(line["client_id"], line["topic"], line["payload"])
                case _:
                    done = self._groups.seen()
        except (QuorateError, PermissionError, KeyError) as error:
            connection.say({"refused": do, "why": str(error)})
        else:
            connection.say({"done": do, **done})

    # Clients.

    async def _connect(self, connection: Connection, line: Mapping[str, str]) -> Line:
        client_id, will_topic = line["client_id"], line.get("will_topic")
        self._demand(Access(client_id=client_id, action=Action.CONNECT))
        request = SessionConnect(
            tenant=TENANT,
            client_id=client_id,
            connection_id=next(self._connection_ids),
            expiry_interval_s=3_600,
            will=Will(topic=will_topic, payload=line["will"].encode()) if will_topic else None,
        )
        reply = await self._mqtt.sessions.connect(self._name, self._epoch, request)
        connection.client_id, connection.generation = client_id, reply.generation
        earlier = self._clients.get(client_id)
        self._clients[client_id] = connection
        if earlier is not None:
            earlier.close()
        kept = self._mqtt.subscriptions.list(tenant=TENANT, client_id=client_id)
        async for subscription in kept:
            connection.filters.add(subscription.filter)
            await self._join(client_id, subscription.filter)
        return {"session_present": reply.session_present, "filters": sorted(connection.filters)}

    async def _subscribe(self, connection: Connection, topic_filter: str) -> Line:
        self._demand(
            Access(client_id=connection.client_id, action=Action.SUBSCRIBE, topic=topic_filter)
        )
        subscription = SetSubscription(
            tenant=TENANT,
            client_id=connection.client_id,
            filter=topic_filter,
            generation=connection.generation,
        )
        await self._mqtt.subscriptions.do("Set", subscription)
        connection.filters.add(topic_filter)
        await self._join(connection.client_id, topic_filter)
        if not group_of(topic_filter):
            kept = self._mqtt.retained_messages.list(tenant=TENANT, topic_filter=topic_filter)
            async for message in kept:
                connection.say({"topic": message.topic, "payload": message.payload.decode()})
        return {"filter": topic_filter}

    async def _publish(self, connection: Connection, line: Mapping[str, str]) -> Line:
        topic, payload, retain = line["topic"], line["payload"], bool(line.get("retain"))
        self._demand(
            Access(
                client_id=connection.client_id, action=Action.PUBLISH, topic=topic, retain=retain
            )
        )
        if retain and payload:
            message = PutRetainedMessageRequest(
                tenant=TENANT, topic=topic, payload=payload.encode()
            )
            await self._mqtt.retained_messages.put(message)
        elif retain:
            await self._mqtt.retained_messages.delete(TENANT, topic)
        await self._send_everywhere(topic, payload)
        return {"topic": topic}

    async def _lose(self, connection: Connection) -> None:
        """Record that a client is gone, unless another connection has taken over its session."""
        with suppress(QuorateError):
            await self._end(connection, discard_will=False)

    async def _end(self, connection: Connection, *, discard_will: bool) -> None:
        client_id = connection.client_id
        if self._clients.get(client_id) is not connection:
            return
        del self._clients[client_id]
        for topic_filter in filter(group_of, connection.filters):
            await self._mqtt.shared_group_members.do(
                "Leave",
                LeaveSharedGroup(
                    tenant=TENANT,
                    group=group_of(topic_filter),
                    client_id=client_id,
                    filter=unshared(topic_filter),
                    broker_epoch=self._epoch,
                ),
            )
        await self._mqtt.sessions.disconnect(
            TENANT, client_id, connection.generation, discard_will=discard_will
        )

    async def _join(self, client_id: str, topic_filter: str) -> None:
        if group_of(topic_filter):
            await self._mqtt.shared_group_members.do(
                "Join",
                JoinSharedGroup(
                    tenant=TENANT,
                    group=group_of(topic_filter),
                    client_id=client_id,
                    filter=unshared(topic_filter),
                    broker=self._name,
                    broker_epoch=self._epoch,
                ),
            )

    def _demand(self, access: Access) -> None:
        decision = self._access.decide(TENANT, access)
        if not decision.allowed:
            raise PermissionError(f"{decision.reason}: {decision.decided_by}")

    # Messages.

    async def _send_everywhere(self, topic: str, payload: str) -> None:
        """Let every broker give a message to those of its clients that are to have it."""
        await self._spread(topic, payload)
        line = {"do": "forward", "topic": topic, "payload": payload}
        await asyncio.gather(*(_tell(address, line) for address in self._addresses.values()))

    async def _spread(self, topic: str, payload: str) -> None:
        """Give a message to the clients here, and to one member of each group that is led here."""
        for connection in self._clients.values():
            plain = (each for each in connection.filters if not group_of(each))
            if any(matches(each, topic) for each in plain):
                connection.say({"topic": topic, "payload": payload})
        for epoch, client_id in self._groups.receivers(self._epoch, topic):
            if epoch == self._epoch:
                self._deliver(client_id, topic, payload)
            elif epoch in self._addresses:
                line = {"do": "deliver", "client_id": client_id, "topic": topic, "payload": payload}
                await _tell(self._addresses[epoch], line)

    def _deliver(self, client_id: str, topic: str, payload: str) -> None:
        connection = self._clients.get(client_id)
        if connection is not None:
            connection.say({"topic": topic, "payload": payload})

    # Changes in the cluster.

    async def _follow_brokers(self) -> None:
        epochs: dict[bytes, int] = {}
        async for change in self._q.watch("cluster.brokers"):
            if change.kind is ChangeKind.RESYNC:
                self._addresses.clear()
                epochs.clear()
                continue
            self._addresses.pop(epochs.pop(change.key, 0), None)
            if change.kind is not ChangeKind.DELETED:
                broker = BrokerRow.FromString(change.value)
                epochs[change.key] = broker.epoch
                if ROLE in broker.roles and broker.epoch != self._epoch:
                    self._addresses[broker.epoch] = broker.addresses["clients"]

    async def _follow_sessions(self) -> None:
        """Hang up on clients that have connected elsewhere, and whose session was deleted."""
        async for change in self._q.watch("mqtt.sessions"):
            if change.kind is ChangeKind.RESYNC:
                continue
            tenant, client_id = map(str, keys.unpack(change.key))
            connection = self._clients.get(client_id)
            if tenant != TENANT or connection is None:
                continue
            session = Session.FromString(change.value)
            if (
                change.kind is ChangeKind.DELETED or session.generation > connection.generation
            ) and session.broker_epoch != self._epoch:
                del self._clients[client_id]
                connection.close()

    async def _publish_wills(self) -> None:
        async for due in self._mqtt.wills.due(self._epoch):
            will = due.delivery.will
            await self._send_everywhere(will.topic, will.payload.decode())
            await self._mqtt.wills.acknowledge(due)


async def _tell(address: str, line: Line) -> None:
    """Send a line to a peer; a peer that is gone has no clients to notify."""
    host, _, port = address.rpartition(":")
    with suppress(OSError):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(json.dumps(line).encode() + b"\n")
        writer.close()
        await writer.wait_closed()


async def run(name: str, endpoints: str | None, ttl_ms: int) -> None:
    """Serve until the registration is lost: another broker may serve its clients by then."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[Broker] = loop.create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (await asyncio.shield(ready)).serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with (
        server,
        # After the death of a leader it sends commands again, and each is carried out once.
        connect(endpoints, exactly_once=True) as q,
        Mqtt(q).following_access() as access,
        q.brokers.registered(
            name, CLUSTER, roles=[ROLE], addresses={"clients": f"{host}:{port}"}, ttl_ms=ttl_ms
        ) as registration,
        asyncio.TaskGroup() as tasks,
    ):
        broker = Broker(q, registration, access)
        ready.set_result(broker)
        following = tasks.create_task(broker.follow())
        print(f"{name} serves clients at {host}:{port}", flush=True)
        why = await registration.lost()
        print(f"{name} has stopped serving: {why}", flush=True)
        following.cancel()


def main() -> None:
    """Read the command line, and serve."""
    parser = argparse.ArgumentParser(description="A small broker that keeps its state in Quorate.")
    parser.add_argument("name")
    parser.add_argument("--endpoints", default=None, help="host:port,... of the cluster")
    parser.add_argument(
        "--ttl-ms", type=int, default=0, help="how long it lives without heartbeats"
    )
    given = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(run(given.name, given.endpoints, given.ttl_ms))


if __name__ == "__main__":
    main()

"""The way of a message to its subscribers: here, at other brokers, and in shared subscriptions."""

from __future__ import annotations

import asyncio
from typing import Final

from quorate.client import AsyncClient, QuorateError
from quorate.v1.cluster_pb2 import Broker
from quorate_mqtt.topic_filters import group_of, unshared

from quorate_amqtt.away import Away
from quorate_amqtt.backlog import Backlog
from quorate_amqtt.clients import Client, Clients
from quorate_amqtt.config import Settings
from quorate_amqtt.groups import Groups, Member
from quorate_amqtt.links import Links
from quorate_amqtt.messages import Message, delivery_of
from quorate_amqtt.packets import Options
from quorate_amqtt.v1 import links_pb2 as pb

#: Seconds until a call without an answer is retried.
_AGAIN_S: Final = 0.1
#: Messages of a queue that are in memory; more are read when the client has taken some.
_MOST_READ: Final = 1_000


class Router:
    """Gives messages to the clients of one tenant, wherever they are connected."""

    def __init__(self, settings: Settings, registered: Broker, queues: AsyncClient) -> None:
        self._tenant: Final = settings.tenant
        self._epoch: Final = registered.epoch
        #: A message of another broker comes no later than that.
        self._late_s: Final = settings.timeout_s
        self._groups: Final = Groups()
        #: The last message that has come from each broker, this one among them.
        self._seen: Final[dict[int, int]] = {registered.epoch: 0}
        self.clients: Final = Clients()
        self.away: Final = Away(registered.epoch)
        self.links: Final = Links(registered, settings.peers, self._receive, self._reach)
        self.backlog: Final = Backlog(
            queues,
            settings.tenant,
            settings.queued_messages,
            settings.queued_bytes,
            self._wake,
        )

    async def follow(self, q: AsyncClient) -> None:
        """Follow the brokers and the members of groups, without an end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.links.follow(q))
            tasks.create_task(self._groups.follow(q, self._tenant))
            tasks.create_task(self.backlog.run())

    def spread(self, message: Message) -> list[asyncio.Future[None]]:
        """Give a message to the subscribers of all brokers.

        Returns what must be done before it is acknowledged: it is written to the queues of clients
        that are away.
        """
        self._seen[self._epoch] += 1
        # Messages that are queued here come by no other way.
        away = self.away.match(message) if message.qos else []
        message = message._replace(origin=(self._epoch, self._seen[self._epoch]))
        written = [
            self.backlog.append(client_id, delivery, created_at_ms)
            for client_id, created_at_ms, delivery in away
        ]
        queued = {client_id for client_id, _, _ in away}
        written += self._deliver(message, queued)
        frame = _frame_of(self._tenant, message)
        frame.queued.extend(queued)
        self.links.send_all(pb.Frame(message=frame))
        for members in self._groups.chosen(message.topic):
            # It is dropped if no member can be reached: a shared message is not queued.
            any(self._share(member, message, frame) for member in members)
        return written

    def forward(self, tenant: str, message: Message) -> None:
        """Send a message to the subscribers of a tenant at other brokers."""
        self.links.send_all(pb.Frame(message=_frame_of(tenant, message)))

    def enter(self, client: Client, topic_filter: str) -> None:
        """Let a client take its turns here before the watch has delivered it."""
        if group := group_of(topic_filter):
            member = Member(group, unshared(topic_filter), client.client_id, self._epoch)
            self._groups.put(member)

    def leave(self, client: Client, topic_filter: str) -> None:
        """Let a client take no more turns, if the filter is a shared one."""
        if group := group_of(topic_filter):
            self._groups.drop(group, unshared(topic_filter), client.client_id)

    def connected(self, client: Client, filters: dict[str, Options], *, present: bool) -> None:
        """Deliver later messages to a client; tell the other brokers where its session is."""
        self.clients.set_filters(client, filters)
        client.since = dict(self._seen)
        if present and client.persistent:
            moved = pb.Moved(client_id=client.client_id, generation=client.generation)
            for epoch, number in client.since.items():
                moved.seen.add(broker_epoch=epoch, number=number)
            self.links.send_all(pb.Frame(moved=moved))

    def moved(self, client: Client) -> None:
        """Release a client that another broker serves, once no late message can come for it."""
        client.moved = True
        self._settle(client)
        asyncio.get_running_loop().call_later(self._late_s, self.let_go, client)

    def let_go(self, client: Client) -> None:
        """Release a client now; its new broker skips the messages that it already has."""
        if self.clients.get(client.client_id) is client and client.moved:
            self.clients.remove(client.client_id)
        for delivery in client.held:
            self.backlog.append(client.client_id, delivery, client.created_at_ms)
        client.held.clear()

    def _settle(self, client: Client) -> None:
        if client.got is not None:
            late = [
                delivery
                for delivery in client.held
                if delivery.message.origin[1] <= client.got.get(delivery.message.origin[0], 0)
            ]
            for delivery in late:
                self.backlog.append(client.client_id, delivery, client.created_at_ms)
            client.held.clear()

    async def fetch(self, client: Client) -> None:
        """Deliver the queue of a connected client until it is empty."""
        client.outbox.read(True)
        try:
            while client.queued:
                client.queued = False
                try:
                    await self._read(client)
                except QuorateError:
                    client.queued = True
                    await asyncio.sleep(_AGAIN_S)
        finally:
            client.outbox.read(False)

    async def _read(self, client: Client) -> None:
        async for delivery in self.backlog.read(client.client_id, client.read):
            while client.outbox.queued >= _MOST_READ:
                await asyncio.sleep(_AGAIN_S)
            client.read = delivery.number
            epoch, number = delivery.message.origin
            if client.since.get(epoch, 0) < number <= self._seen.get(epoch, 0):
                # It came here, too, when the client was connected already.
                self.backlog.delete(client.client_id, delivery.number)
            else:
                client.outbox.put_queued([delivery])

    async def save(self, client: Client) -> None:
        """Write the unacknowledged messages of a client to the queue of its session."""
        left = client.outbox.take_left()
        client.read = 0
        for delivery in left:
            self.backlog.append(client.client_id, delivery, client.created_at_ms)
        await self.backlog.flush()

    def _deliver(self, message: Message, besides: set[str]) -> list[asyncio.Future[None]]:
        written = []
        for client, delivery in self.clients.deliver(message, besides):
            if client.moved:
                client.held.append(delivery)
                self._settle(client)
            else:
                written.append(self.backlog.append(client.client_id, delivery))
        return written

    def _share(self, member: Member, message: Message, frame: pb.Message) -> bool:
        """Give a message to a member of a group, wherever it is; tell whether that was possible."""
        if member.broker_epoch == self._epoch:
            return self._take_turn(member, message)
        share = pb.Share(
            group=member.group, filter=member.filter, client_id=member.client_id, message=frame
        )
        return self.links.send(member.broker_epoch, pb.Frame(share=share))

    def _take_turn(self, member: Member, message: Message) -> bool:
        """Give a message to a member that is served here."""
        client = self.clients.get(member.client_id)
        options = None
        if client is not None and client.connection is not None:
            options = client.filters.get(f"$share/{member.group}/{member.filter}")
        if client is None or options is None:
            return False
        client.outbox.put(delivery_of(message._replace(origin=(0, 0)), [options]))
        return True

    def _receive(self, epoch: int, frame: pb.Frame) -> None:
        """Process a frame of another broker."""
        match frame.WhichOneof("content"):
            case "message":
                self._seen[epoch] = max(self._seen.get(epoch, 0), frame.message.number)
                if frame.message.tenant == self._tenant:
                    message = _message_of(frame.message, epoch)
                    self._deliver(message, set(frame.message.queued))
            case "share":
                share = frame.share
                if share.message.tenant == self._tenant:
                    member = Member(share.group, share.filter, share.client_id, self._epoch)
                    message = _message_of(share.message, epoch)
                    # It may have left meanwhile.
                    members = (member, *self._groups.others(member, self._epoch))
                    any(self._take_turn(each, message) for each in members)
            case "moved":
                self._see_moved(frame.moved)
            case "wake":
                self._wake(self._epoch, frame.wake.client_id)

    def _see_moved(self, moved: pb.Moved) -> None:
        client = self.clients.get(moved.client_id)
        if client is not None and client.generation < moved.generation:
            client.got = {each.broker_epoch: each.number for each in moved.seen}
            if client.moved:
                self._settle(client)

    def _wake(self, epoch: int, client_id: str) -> None:
        """Let the broker that serves a client read its queue."""
        if epoch != self._epoch:
            self.links.send(epoch, pb.Frame(wake=pb.Wake(client_id=client_id)))
        elif (client := self.clients.get(client_id)) is not None:
            client.queued = True
            if client.connection is not None:
                client.connection.fetch()

    def _reach(self, epochs: set[int]) -> None:
        """Note which brokers serve their clients."""
        self.away.reach({self._epoch, *epochs})


def _frame_of(tenant: str, message: Message) -> pb.Message:
    return pb.Message(
        tenant=tenant,
        topic=message.topic,
        payload=message.payload,
        qos=message.qos,
        retain=message.retain,
        properties=message.properties,
        expires_at_ms=message.expires_at_ms,
        publisher=message.publisher,
        number=message.origin[1],
    )


def _message_of(frame: pb.Message, epoch: int) -> Message:
    return Message(
        topic=frame.topic,
        payload=frame.payload,
        qos=frame.qos,
        retain=frame.retain,
        properties=frame.properties,
        expires_at_ms=frame.expires_at_ms,
        publisher=frame.publisher,
        origin=(epoch, frame.number),
    )

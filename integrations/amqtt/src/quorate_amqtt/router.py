"""The way of a message to its subscribers: here, at other brokers, and in shared subscriptions."""

from __future__ import annotations

import asyncio
from typing import Final

from quorate.client import AsyncClient
from quorate.v1.cluster_pb2 import Broker
from quorate_mqtt.topic_filters import group_of, unshared

from quorate_amqtt.clients import Client, Clients
from quorate_amqtt.config import Settings
from quorate_amqtt.connection import Connection
from quorate_amqtt.groups import Groups, Member
from quorate_amqtt.links import Links
from quorate_amqtt.messages import Message
from quorate_amqtt.v1 import links_pb2 as pb


class Router:
    """Gives messages to the clients of one tenant, wherever they are connected."""

    def __init__(self, settings: Settings, registered: Broker) -> None:
        self._tenant: Final = settings.tenant
        self._epoch: Final = registered.epoch
        self._timeout_s: Final = settings.timeout_s
        self._groups: Final = Groups()
        #: Messages that came from another broker before their clients were connected here.
        self._handed_over: Final[dict[str, list[Message]]] = {}
        self.clients: Final = Clients()
        self.links: Final = Links(registered, settings.peers, self._receive)

    async def follow(self, q: AsyncClient) -> None:
        """Follow the brokers and the members of groups, without an end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.links.follow(q))
            tasks.create_task(self._groups.follow(q, self._tenant))

    def spread(self, message: Message) -> None:
        """Give a message to the subscribers of all brokers."""
        self.clients.deliver(message)
        frame = _frame_of(self._tenant, message)
        self.links.send_all(pb.Frame(message=frame))
        for members in self._groups.chosen(message.topic):
            # Nobody takes it where no member can be reached: a shared message waits for nobody.
            any(self._share(member, message, frame) for member in members)

    def forward(self, tenant: str, message: Message) -> None:
        """Give a message to the subscribers of a tenant whose clients are at other brokers."""
        self.links.send_all(pb.Frame(message=_frame_of(tenant, message)))

    def enter(self, client: Client, topic_filter: str) -> None:
        """Let a client take its turns here before the watch has told of it."""
        if group := group_of(topic_filter):
            member = Member(group, unshared(topic_filter), client.client_id, self._epoch)
            self._groups.put(member)

    def leave(self, client: Client, topic_filter: str) -> None:
        """Let a client take no more turns, if the filter is a shared one."""
        if group := group_of(topic_filter):
            self._groups.drop(group, unshared(topic_filter), client.client_id)

    def handed_over(self, client_id: str) -> list[Message]:
        """Take what another broker has sent for a client that connects here now."""
        return self._handed_over.pop(client_id, [])

    async def hand_over(self, client: Client, connection: Connection | None, epoch: int) -> None:
        """Send what waits for a client to the broker that serves it now."""
        if connection is not None:
            # What it has not acknowledged waits again, then.
            await connection.ended.wait()
        if messages := client.outbox.take_all():
            waiting = [_frame_of(self._tenant, each) for each in messages]
            handover = pb.Handover(client_id=client.client_id, messages=waiting)
            self.links.send(epoch, pb.Frame(handover=handover))

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
        qos = None
        if client is not None and client.connection is not None:
            qos = client.filters.get(f"$share/{member.group}/{member.filter}")
        if client is None or qos is None:
            return False
        self.clients.give(client, message, qos)
        return True

    def _receive(self, epoch: int, frame: pb.Frame) -> None:
        """Carry out what another broker sends."""
        match frame.WhichOneof("content"):
            case "message":
                if frame.message.tenant == self._tenant:
                    self.clients.deliver(_message_of(frame.message))
            case "share":
                share = frame.share
                if share.message.tenant == self._tenant:
                    member = Member(share.group, share.filter, share.client_id, self._epoch)
                    message = _message_of(share.message)
                    # It may have left meanwhile.
                    members = (member, *self._groups.others(member, self._epoch))
                    any(self._take_turn(each, message) for each in members)
            case "handover":
                self._take_over(frame.handover)

    def _take_over(self, handover: pb.Handover) -> None:
        """Take what waited for a client that has connected here, or is about to be told so."""
        messages = list(map(_message_of, handover.messages))
        client = self.clients.get(handover.client_id)
        if client is not None:
            client.outbox.extend(messages)
            return
        self._handed_over[handover.client_id] = messages
        asyncio.get_running_loop().call_later(
            self._timeout_s, self._handed_over.pop, handover.client_id, None
        )


def _frame_of(tenant: str, message: Message) -> pb.Message:
    return pb.Message(tenant=tenant, topic=message.topic, payload=message.payload, qos=message.qos)


def _message_of(frame: pb.Message) -> Message:
    return Message(frame.topic, frame.payload, frame.qos)

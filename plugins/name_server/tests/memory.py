"""A node in memory whose majority a test can take away, and what brokers say to it."""

from __future__ import annotations

from typing import Any, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Rejected
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate_name_server.service import NameService
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows, service_pb2 as answers

A = TypeVar("A", bound=Message | bytes)

QUEUES = rows.Queues(read_queues=8, write_queues=8, perm=6)


class Node(MemoryNode):
    """A node that loses its majority while `alone` is set: it still answers stale reads."""

    alone = False
    #: The command after so many others is lost, once.
    lost = -1

    async def propose(self, command: Message, reply: type[A], **others: Any) -> A:
        """Refuse as a node without a leader does."""
        self.lost -= 1
        if self.alone or self.lost == -1:
            raise Rejected("UNAVAILABLE", "no leader is known")
        return await super().propose(command, reply, **others)


class Names:
    """Asks the name service of one node, and checks that nothing was refused."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.service = NameService(node)

    async def register(self, *said: pb.Registration) -> list[pb.Registered]:
        reply = await self.service.Register(pb.RegisterBrokers(brokers=said), None)
        assert not reply.refusals, reply
        return [pb.Registered.FromString(each) for each in reply.replies]

    async def refusals(self, *said: pb.Registration) -> list[str]:
        reply = await self.service.Register(pb.RegisterBrokers(brokers=said), None)
        return [each.code for each in reply.refusals]

    async def heartbeat(self, name: str = "broker-a", address: str = "10.0.0.1:10911") -> bool:
        command = pb.SendHeartbeats(brokers=[pb.Heartbeat(name=name, address=address)])
        return not (await self.service.Heartbeat(command, None)).refusals

    async def unregister(self, **named: Any) -> bool:
        leaving = pb.Unregistration(**{"name": "broker-a", "address": "10.0.0.1:10911"} | named)
        command = pb.UnregisterBrokers(brokers=[leaving])
        reply = await self.service.Unregister(command, None)
        return pb.Unregistered.FromString(reply.replies[0]).removed

    async def route(
        self, topic: str, mode: answers.ReadMode = answers.READ_MODE_UNSPECIFIED
    ) -> answers.Route | None:
        request = answers.GetRoutesRequest(topics=[topic], mode=mode)
        found = await self.service.GetRoutes(request, None)
        return found.routes[0] if found.routes else None

    async def perms(self, topic: str = "orders") -> dict[str, int]:
        """Return the permissions of a topic by broker, which all reads must agree on."""
        found = [
            {each.broker: each.queues.perm for each in route.queues} if route else {}
            for route in (
                await self.route(topic, answers.READ_MODE_CONSISTENT),
                await self.route(topic, answers.READ_MODE_AVAILABLE),
            )
        ]
        assert found[0] == found[1]
        return found[0]

    async def topics(self, **asked: Any) -> list[str]:
        """Return the topics page by page, which all reads must agree on."""
        found = []
        for mode in (answers.READ_MODE_CONSISTENT, answers.READ_MODE_AVAILABLE):
            topics: list[str] = []
            token, pages = "", 0
            while token or not pages:
                request = answers.ListTopicsRequest(mode=mode, page_token=token, **asked)
                page = await self.service.ListTopics(request, None)
                topics += page.topics
                token, pages = page.next_page_token, pages + 1
            found.append(topics)
        assert found[0] == found[1]
        return found[0]

    async def do(self, command: Message) -> BatchReply:
        reply = await self.node.propose(command, BatchReply)
        assert not reply.refusals, reply
        return reply


def registration(**said: Any) -> pb.Registration:
    """Return what a master with two topics says, but for what is given."""
    about: dict[str, Any] = {
        "cluster": "C1",
        "name": "broker-a",
        "address": "10.0.0.1:10911",
        "ha_address": "10.0.0.1:10912",
        "data_version": version(1),
        "topics": topics("orders", "bills"),
    }
    return pb.Registration(**about | said)


def version(counter: int, state: int = 0) -> rows.DataVersion:
    return rows.DataVersion(state_version=state, timestamp=1_795_366_419_098, counter=counter)


def topics(*names: str, perm: int = 6, flags: int = 0) -> list[pb.TopicQueues]:
    queues = rows.Queues(read_queues=8, write_queues=8, perm=perm, topic_sys_flag=flags)
    return [pb.TopicQueues(topic=name, queues=queues) for name in names]

"""The name server for Python programs: `NameServer` over an `AsyncClient`, and `SyncNameServer`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.client import (
    AsyncClient,
    Blocking,
    Client,
    OutcomeUnknownError,
    Records,
    RejectedError,
    UnavailableError,
    blocking,
    iterating,
)
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.resources import KV_CONFIG
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    rows_pb2 as rows,
    service_pb2 as asked,
)

R = TypeVar("R", bound=Message)

CONSISTENT: Final = asked.READ_MODE_CONSISTENT
AVAILABLE: Final = asked.READ_MODE_AVAILABLE
#: The pause before a lost watch is reopened.
_AGAIN_S: Final = 0.1
_AS_CHOSEN: Final = asked.READ_MODE_UNSPECIFIED


class NameServer:
    """Brokers, topics and their routes.

    A read takes a `mode`, `CONSISTENT` or `AVAILABLE`; the default is the operator's choice. The
    `state` of the answer describes how it was made.
    """

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        #: Settings that brokers and clients share, by namespace and key.
        self.settings: Final[Records[rows.KvConfig]] = q.records(KV_CONFIG)

    async def register(self, registration: pb.Registration) -> pb.Registered:
        """Register a member of a broker, or extend its life if its data version is unchanged."""
        [answer] = await self._each(
            "Register", pb.RegisterBrokers(brokers=[registration]), pb.Registered
        )
        return answer

    async def register_all(self, registrations: Iterable[pb.Registration]) -> BatchReply:
        """Register many members; the reply to each is `Registered`."""
        return await self._call("Register", pb.RegisterBrokers(brokers=registrations), BatchReply)

    async def heartbeat(self, name: str, address: str) -> None:
        """Extend the life of a member; NOT_FOUND if it must register again."""
        await self.heartbeat_all([pb.Heartbeat(name=name, address=address)], check=True)

    async def heartbeat_all(
        self, members: Iterable[pb.Heartbeat], *, check: bool = False
    ) -> BatchReply:
        """Extend the lives of members; `check` raises the first refusal."""
        reply = await self._call("Heartbeat", pb.SendHeartbeats(brokers=members), BatchReply)
        return _checked(reply) if check else reply

    async def unregister(self, name: str, address: str, *, registration: int = 0) -> bool:
        """Remove a member, and return whether it was registered."""
        leaving = pb.Unregistration(name=name, address=address, registration=registration)
        command = pb.UnregisterBrokers(brokers=[leaving])
        [answer] = await self._each("Unregister", command, pb.Unregistered)
        return answer.removed

    async def route(self, topic: str, *, mode: asked.ReadMode = _AS_CHOSEN) -> asked.Route | None:
        """Return the route of a topic, or None."""
        return next(iter((await self.routes([topic], mode=mode)).routes), None)

    async def routes(
        self, topics: Iterable[str], *, mode: asked.ReadMode = _AS_CHOSEN
    ) -> asked.Routes:
        """Return the routes of up to 1,000 topics, without topics that have none."""
        request = asked.GetRoutesRequest(topics=topics, mode=mode)
        return await self._call("GetRoutes", request, asked.Routes, read=True)

    async def watch_routes(self, topics: Iterable[str]) -> AsyncGenerator[asked.Route, None]:
        """Yield the routes of topics, then each changed route.

        A route without brokers means that the topic has no route now. If the node is lost, the
        watch moves to another one, and unchanged routes are not yielded again.
        """
        request = asked.WatchRoutesRequest(topics=topics)
        given: dict[str, asked.Route] = {}
        while True:
            method = f"/{_SERVICE}/WatchRoutes"
            try:
                async with aclosing(self._q.stream(method, request, asked.Routes)) as answers:
                    async for answer in answers:
                        for route in answer.routes:
                            if given.get(route.topic) != route:
                                given[route.topic] = route
                                yield route
            except (UnavailableError, OutcomeUnknownError):
                pass
            await asyncio.sleep(_AGAIN_S)

    async def brokers(
        self,
        names: Iterable[str] = (),
        *,
        cluster: str = "",
        mode: asked.ReadMode = _AS_CHOSEN,
    ) -> asked.Brokers:
        """Return brokers with their members: all of them, or by name or cluster."""
        request = asked.GetBrokersRequest(names=names, cluster=cluster, mode=mode)
        return await self._call("GetBrokers", request, asked.Brokers, read=True)

    async def topics(
        self, *, cluster: str = "", mode: asked.ReadMode = _AS_CHOSEN
    ) -> AsyncGenerator[str, None]:
        """Yield the topics that have routes, by name."""
        token = ""
        while True:
            request = asked.ListTopicsRequest(cluster=cluster, mode=mode, page_token=token)
            page = await self._call("ListTopics", request, asked.TopicPage, read=True)
            for topic in page.topics:
                yield topic
            token = page.next_page_token
            if not token:
                return

    async def wipe_write_permission(self, name: str) -> int:
        """Revoke the write permission of a broker; return the number of its topics."""
        command = pb.WipeWritePermission(names=[name])
        [answer] = await self._each("WipeWritePermission", command, pb.WritePermission)
        return answer.topics

    async def add_write_permission(self, name: str) -> int:
        """Restore the write permission of a broker; return the number of its topics."""
        command = pb.AddWritePermission(names=[name])
        [answer] = await self._each("AddWritePermission", command, pb.WritePermission)
        return answer.topics

    async def put_queues(self, queues: Iterable[pb.BrokerQueues]) -> BatchReply:
        """Put the queues of topics on brokers, without a registration."""
        return await self._call("PutQueues", pb.PutQueues(queues=queues), BatchReply)

    async def delete_topic(self, topic: str, *, cluster: str = "") -> int:
        """Delete a topic, or its queues in one cluster; return the number of its brokers."""
        command = pb.DeleteTopics(topics=[pb.TopicDeletion(topic=topic, cluster=cluster)])
        [answer] = await self._each("DeleteTopics", command, pb.DeletedTopic)
        return answer.brokers

    async def _each(self, method: str, command: Message, kind: type[R]) -> list[R]:
        reply = _checked(await self._call(method, command, BatchReply))
        return [kind.FromString(each) for each in reply.replies]

    async def _call(self, method: str, request: Message, kind: type[R], *, read: bool = False) -> R:
        return await self._q.call(f"/{_SERVICE}/{method}", request, kind, read=read)


_SERVICE: Final = asked.DESCRIPTOR.services_by_name["NameService"].full_name


def _checked(reply: BatchReply) -> BatchReply:
    for refusal in reply.refusals:
        raise RejectedError(refusal.code, refusal.message)
    return reply


class SyncNameServer(Blocking[NameServer]):
    """`NameServer` over a `Client`, without `await`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, NameServer(q.asynchronous))
        self.settings: Final = q.records(KV_CONFIG)

    register = blocking(NameServer.register)
    register_all = blocking(NameServer.register_all)
    heartbeat = blocking(NameServer.heartbeat)
    heartbeat_all = blocking(NameServer.heartbeat_all)
    unregister = blocking(NameServer.unregister)
    route = blocking(NameServer.route)
    routes = blocking(NameServer.routes)
    watch_routes = iterating(NameServer.watch_routes)
    brokers = blocking(NameServer.brokers)
    topics = iterating(NameServer.topics)
    wipe_write_permission = blocking(NameServer.wipe_write_permission)
    add_write_permission = blocking(NameServer.add_write_permission)
    put_queues = blocking(NameServer.put_queues)
    delete_topic = blocking(NameServer.delete_topic)

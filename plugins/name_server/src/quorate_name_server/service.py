"""The name service, which the gRPC service and every other door of the plugin call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Consistency, Invalid, NodeApi
from quorate.plugin.advanced import Answers, propose_valid, split_invalid
from quorate.plugin.checking import LARGEST_PAGE, check_count
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

from quorate_name_server import validation
from quorate_name_server.brokers.confirming import may_be_retried, parts_of
from quorate_name_server.brokers.registering import TABLE_NEEDED, answer_of
from quorate_name_server.config import NameServerConfig
from quorate_name_server.metrics import REGISTRATIONS
from quorate_name_server.routes.known import KnownRoutes
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as answers,
)

M = TypeVar("M", bound=Message)

#: The answer to an item of a batch.
Answer = bytes | ItemRefusal

_CONSISTENT: Final = answers.READ_MODE_CONSISTENT
_AVAILABLE: Final = answers.READ_MODE_AVAILABLE
#: The largest page of topics served from memory.
LARGEST_KNOWN_PAGE: Final = 10_000
#: The interval of the check whether memory holds all rows.
FILLING_S: Final = 0.05


class NameService:
    """Registers brokers and serves routes of topics; all instances of a node share its state."""

    def __init__(self, node: NodeApi) -> None:
        config = node.config(NameServerConfig)
        self._node: Final = node
        self._mode: Final = _AVAILABLE if config.reads == "available" else _CONSISTENT
        self._timeout_s: Final = config.register_timeout_s
        self._known: Final = node.cache(KnownRoutes)
        self._known.unconfirmed.most_bytes = config.unconfirmed_bytes

    # Members.

    async def Register(self, request: pb.RegisterBrokers, context: object) -> BatchReply:
        """Register members; the reply to each is `Registered`."""
        check_count("brokers", request.brokers, LARGEST_PAGE)
        checked = split_invalid("brokers", request.brokers, validation.check_registration)
        return await checked.execute(self._register)

    async def Heartbeat(self, request: pb.SendHeartbeats, context: object) -> BatchReply:
        """Extend the lives of members; a recently extended one needs no proposal."""
        check_count("brokers", request.brokers, LARGEST_PAGE)
        checked = split_invalid("brokers", request.brokers, validation.check_heartbeat)
        return await checked.execute(self._prolong)

    async def Unregister(self, request: pb.UnregisterBrokers, context: object) -> BatchReply:
        """Remove members; the reply to each is `Unregistered`."""
        check_count("brokers", request.brokers, LARGEST_PAGE)
        for leaving in request.brokers:
            self._known.unconfirmed.forget(leaving.name, leaving.address)
        return await propose_valid(self._node, request, "brokers", validation.check_member)

    async def _prolong(self, members: Sequence[pb.Heartbeat]) -> BatchReply:
        names = [each.name or self._known.names.get(each.address, "") for each in members]
        due = [
            position
            for position, (name, each) in enumerate(zip(names, members, strict=True))
            if not self._known.is_fresh(name, each.address)
        ]
        answer = BatchReply(items=len(members))
        if not due:
            return answer
        command = pb.SendHeartbeats(brokers=[members[position] for position in due])
        reply = await self._node.propose(command, BatchReply)
        refused = {refusal.item: refusal for refusal in reply.refusals}
        for item, position in enumerate(due):
            refusal = refused.get(item)
            if refusal is None:
                self._known.prolonged(names[position], members[position].address)
            else:
                answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
        answer.revisions.extend(reply.revisions)
        return answer

    async def _register(self, registrations: Sequence[pb.Registration]) -> BatchReply:
        sent = {
            position: each if each.unchanged else self._known.renewal(each) or each
            for position, each in enumerate(registrations)
        }
        found = await self._propose(sent, registrations)
        whole = {
            position: registrations[position]
            for position, answer in found.items()
            if isinstance(answer, ItemRefusal)
            and answer.code == TABLE_NEEDED
            and not registrations[position].unchanged
        }
        found |= await self._propose(whole, registrations)
        reply = BatchReply(items=len(registrations))
        for position in range(len(registrations)):
            answer = found[position]
            if isinstance(answer, ItemRefusal):
                reply.refusals.add(item=position, code=answer.code, message=answer.message)
                self._node.count(REGISTRATIONS.name, outcome="refused")
                reply.replies.append(b"")
            else:
                self._node.count(REGISTRATIONS.name, outcome=_outcome(answer))
                reply.replies.append(answer)
        return reply

    async def _propose(
        self, sent: Mapping[int, pb.Registration], whole: Sequence[pb.Registration]
    ) -> dict[int, Answer]:
        """Propose registrations, and return the answers by their positions among `whole`."""
        found: dict[int, Answer] = {}
        ended: set[int] = set()
        for pieces in parts_of(sent):
            # After a failed piece the data version must not be written.
            part = [each for each in pieces if each[0] not in ended]
            if not part:
                continue
            command = pb.RegisterBrokers(brokers=[each for _, each in part])
            try:
                async with asyncio.timeout(self._timeout_s):
                    reply = await self._node.propose(command, BatchReply)
            except Exception as error:
                if not may_be_retried(error):
                    raise
                for position, each in part:
                    found[position] = self._remember(each, whole[position], error)
                    ended.add(position)
                continue
            answered: list[Answer] = list(reply.replies)
            for refusal in reply.refusals:
                answered[refusal.item] = refusal
                ended.add(part[refusal.item][0])
            for (position, each), answer in zip(part, answered, strict=True):
                found[position] = answer
                if position not in ended:
                    self._known.unconfirmed.forget(each.name, each.address)
                    self._known.prolonged(each.name, each.address)
        return found

    def _remember(
        self, sent: pb.Registration, registration: pb.Registration, error: Exception
    ) -> Answer:
        """Keep a registration without a majority in memory; refuse it if there is no room."""
        if not sent.unchanged and not self._known.unconfirmed.remember(registration):
            return ItemRefusal(code="UNAVAILABLE", message=f"no majority took it: {error}")
        broker = self._known.brokers.get(registration.name)
        answer = answer_of(broker, registration.address, registration.id)
        answer.unconfirmed = True
        return answer.SerializeToString()

    # Reads.

    async def GetRoutes(self, request: answers.GetRoutesRequest, context: object) -> answers.Routes:
        """Return routes; in the mode `available` from memory."""
        validation.check_names("topics", request.topics)
        mode = request.mode or self._mode
        known, unconfirmed = self._known, self._known.unconfirmed
        age_ms = self._age_ms() if mode == _AVAILABLE else -1
        if age_ms >= 0:
            found = [known.route(topic) for topic in request.topics]
        else:
            read = await self._read(asked.ReadRoutes(topics=request.topics), answers.Route, mode)
            by_topic, age_ms = {route.topic: route for route in read.rows}, read.age_ms
            found = [by_topic.get(topic) for topic in request.topics]
        state = answers.AnswerState(mode=mode, age_ms=age_ms)
        if mode == _AVAILABLE and len(unconfirmed):
            for position, topic in enumerate(request.topics):
                route = found[position] or answers.Route(topic=topic)
                unconfirmed.merge_route(route)
                found[position] = route if route.brokers else None
            state.unconfirmed.extend(
                sorted(_unconfirmed(each for route in found if route for each in route.brokers))
            )
        return answers.Routes(routes=[route for route in found if route], state=state)

    async def WatchRoutes(
        self, request: answers.WatchRoutesRequest, context: object
    ) -> AsyncIterator[answers.Routes]:
        """Yield the routes of topics, then each changed route; from memory."""
        validation.check_names("topics", request.topics)
        if not request.topics:
            raise Invalid("topics", "must name a topic to watch")
        sent: dict[str, bytes] = {}
        with self._known.watched(request.topics) as watch:
            while True:
                topics = await watch.take()
                while self._age_ms() < 0 and sent:
                    # The rows are being listed anew: a missing row may not be deleted.
                    await asyncio.sleep(FILLING_S)
                get = answers.GetRoutesRequest(topics=topics, mode=_AVAILABLE)
                answer = await self.GetRoutes(get, context)
                found = {route.topic: route for route in answer.routes}
                changed = []
                for topic in topics:
                    route = found.get(topic) or answers.Route(topic=topic)
                    shown = _without_versions(route)
                    if sent.get(topic) != shown:
                        sent[topic] = shown
                        changed.append(route)
                if changed:
                    yield answers.Routes(routes=changed, state=answer.state)

    async def GetBrokers(
        self, request: answers.GetBrokersRequest, context: object
    ) -> answers.Brokers:
        """Return brokers with their members; in the mode `available` from memory."""
        validation.check_names("names", request.names)
        validation.check_wanted("cluster", request.cluster)
        mode = request.mode or self._mode
        query = asked.ReadBrokers(names=request.names, cluster=request.cluster)
        age_ms = self._age_ms() if mode == _AVAILABLE else -1
        if age_ms >= 0:
            found = list(self._known.select(query))
        else:
            read = await self._read(query, rows.Broker, mode)
            found, age_ms = list(read.rows), read.age_ms
        state = answers.AnswerState(mode=mode, age_ms=age_ms)
        if mode == _AVAILABLE and len(self._known.unconfirmed):
            found = self._known.unconfirmed.merge_brokers(found, query)
            state.unconfirmed.extend(sorted(_unconfirmed(found)))
        return answers.Brokers(brokers=found, state=state)

    async def ListTopics(
        self, request: answers.ListTopicsRequest, context: object
    ) -> answers.TopicPage:
        """Return a page of the topics that have routes; in the mode `available` from memory."""
        validation.check_wanted("cluster", request.cluster)
        validation.check_wanted("page_token", request.page_token)
        mode = request.mode or self._mode
        age_ms = self._age_ms() if mode == _AVAILABLE else -1
        if age_ms >= 0:
            size = min(request.page_size or LARGEST_KNOWN_PAGE, LARGEST_KNOWN_PAGE)
            topics, token = self._known.topics(request, size)
        else:
            query = asked.ReadTopics(
                cluster=request.cluster,
                flags=request.flags,
                without_flags=request.without_flags,
                after=request.page_token,
                limit=request.page_size,
            )
            read = await self._read(query, asked.FoundTopic, mode)
            token = next((each.topic for each in read.rows if each.more), "")
            topics, age_ms = [each.topic for each in read.rows if not each.more], read.age_ms
            if mode == _AVAILABLE:
                others = self._known.unconfirmed_topics(request)
                within = {each for each in others if request.page_token < each <= (token or each)}
                topics = sorted({*topics, *within})
        state = answers.AnswerState(mode=mode, age_ms=age_ms)
        if mode == _AVAILABLE:
            state.unconfirmed.extend(self._known.unconfirmed.names())
        return answers.TopicPage(topics=topics, next_page_token=token, state=state)

    def _age_ms(self) -> int:
        return self._node.cache_age_ms(KnownRoutes)

    async def _read(self, query: Message, kind: type[M], mode: answers.ReadMode) -> Answers[M]:
        consistency: Consistency = "linearizable" if mode == _CONSISTENT else "stale"
        return await self._node.read(query, kind, consistency=consistency)


def _outcome(answer: bytes) -> str:
    registered = pb.Registered.FromString(answer)
    if registered.unconfirmed:
        return "unconfirmed"
    return "changed" if registered.changed else "unchanged"


def _unconfirmed(brokers: Iterable[rows.Broker]) -> set[str]:
    return {each.name for each in brokers if any(member.unconfirmed for member in each.members)}


def _without_versions(route: answers.Route) -> bytes:
    """Encode a route without the data versions, which change with other topics too."""
    shown = answers.Route()
    shown.CopyFrom(route)
    for broker in shown.brokers:
        broker.topics = 0
        for member in broker.members:
            member.ClearField("data_version")
    return shown.SerializeToString(deterministic=True)

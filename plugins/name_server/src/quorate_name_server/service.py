"""The name service: what the gRPC service and every other door of the plugin call."""

from __future__ import annotations

from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Answers, Consistency, NodeApi
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.config import NameServerConfig
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as answers,
)

M = TypeVar("M", bound=Message)

_CONSISTENT: Final = answers.READ_MODE_CONSISTENT
_AVAILABLE: Final = answers.READ_MODE_AVAILABLE


class NameService:
    """Registers brokers and answers where topics are; any number of them share a node's state."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        reads = node.config(NameServerConfig).reads
        self._mode: Final = _AVAILABLE if reads == "available" else _CONSISTENT

    async def Register(self, request: pb.RegisterBrokers, context: object) -> BatchReply:
        """Register members of brokers; each is answered with `Registered`."""
        return await self._node.propose(request, BatchReply)

    async def Heartbeat(self, request: pb.SendHeartbeats, context: object) -> BatchReply:
        """Prolong the lives of members."""
        return await self._node.propose(request, BatchReply)

    async def Unregister(self, request: pb.UnregisterBrokers, context: object) -> BatchReply:
        """Remove members; each is answered with `Unregistered`."""
        return await self._node.propose(request, BatchReply)

    async def GetRoutes(self, request: answers.GetRoutesRequest, context: object) -> answers.Routes:
        """Look routes up."""
        mode = request.mode or self._mode
        found = await self._read(asked.ReadRoutes(topics=request.topics), answers.Route, mode)
        return answers.Routes(routes=found.rows, state=_state(mode, found.age_ms))

    async def GetBrokers(
        self, request: answers.GetBrokersRequest, context: object
    ) -> answers.Brokers:
        """Return brokers with their members."""
        mode = request.mode or self._mode
        query = asked.ReadBrokers(names=request.names, cluster=request.cluster)
        found = await self._read(query, rows.Broker, mode)
        return answers.Brokers(brokers=found.rows, state=_state(mode, found.age_ms))

    async def ListTopics(
        self, request: answers.ListTopicsRequest, context: object
    ) -> answers.TopicPage:
        """Return a page of the topics that have routes."""
        raise NotImplementedError

    async def _read(self, query: Message, kind: type[M], mode: answers.ReadMode) -> Answers[M]:
        consistency: Consistency = "linearizable" if mode == _CONSISTENT else "stale"
        return await self._node.read(query, kind, consistency=consistency)


def _state(mode: answers.ReadMode, age_ms: int) -> answers.AnswerState:
    return answers.AnswerState(mode=mode, age_ms=age_ms)

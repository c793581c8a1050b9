"""Nodes that answer as a test tells them to, on loopback ports, and a client of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message
from quorate.client import AsyncClient
from quorate.plugin.slots import even_cut
from quorate.rpc.status import DETAILS_KEY, status_of
from quorate.v1.admin_pb2 import NodeAddress, ShardPlace, TopologyRequest, TopologyResponse
from quorate.v1.command_pb2 import (
    CloseSessionRequest,
    CloseSessionResponse,
    Command,
    CommandAnswer,
    CommandReply,
    ExecuteRequest,
    ExecuteResponse,
    OpenSessionRequest,
    OpenSessionResponse,
    SealSessionRequest,
    SealSessionResponse,
)
from quorate.v1.kv_pb2 import GetPairRequest, GetPairResponse, PutPairReply
from quorate.v1.watch_pb2 import WatchRequest, WatchResponse

Context = Any
Serve = Callable[[Any, Context], Awaitable[Any]]


def reply(message: Message) -> CommandAnswer:
    """Return the answer to a command that was carried out."""
    return CommandAnswer(reply=CommandReply(payload=message.SerializeToString()))


def failing(error: Exception) -> CommandAnswer:
    """Return the answer to a command that was not."""
    return CommandAnswer(status=status_of(error))


async def fail(context: Context, error: Exception) -> None:
    """End a call as a node does."""
    status = status_of(error)
    codes = {code.value[0]: code for code in grpc.StatusCode}
    details = ((DETAILS_KEY, status.SerializeToString()),)
    await context.abort(codes[status.code], status.message, details)


class FakeNode:
    """A server that writes down what it is asked."""

    def __init__(self, name: str, cluster: FakeCluster) -> None:
        self.name = name
        self.address = ""
        self.executed: list[ExecuteRequest] = []
        self.opened: list[OpenSessionRequest] = []
        self.closed: list[CloseSessionRequest] = []
        self.sealed: list[SealSessionRequest] = []
        self.asked: list[Message] = []
        #: The streams of changes that were opened.
        self.followed = 0
        self.watched: list[WatchRequest] = []
        #: What becomes of a command.
        self.answer: Callable[[Command], CommandAnswer] = lambda command: reply(
            PutPairReply(revision=7)
        )
        #: Called with each call and before it is answered.
        self.before: Callable[[Context], Awaitable[None]] = _nothing
        #: What it knows of the cluster; None: what there is to know.
        self.told: TopologyResponse | None = None
        #: Called between the answers of a stream.
        self.between: Callable[[Context], Awaitable[None]] = _nothing
        self.get: Callable[[GetPairRequest], Awaitable[GetPairResponse]] = _no_pair
        #: What each watch gives, in their order; an exception ends it; then it stays silent.
        self.watches: list[Sequence[WatchResponse | Exception]] = []
        self._cluster = cluster
        self._server: grpc.aio.Server | None = None
        self._port = 0

    @property
    def commands(self) -> list[Command]:
        return [command for request in self.executed for command in request.commands]

    async def start(self) -> None:
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers(
            (
                _handler(
                    "quorate.v1.AdminService",
                    Topology=(self._topology, TopologyRequest),
                ),
                _handler(
                    "quorate.v1.CommandService",
                    Execute=(self._execute, ExecuteRequest),
                    OpenSession=(self._open_session, OpenSessionRequest),
                    SealSession=(self._seal_session, SealSessionRequest),
                    CloseSession=(self._close_session, CloseSessionRequest),
                ),
                grpc.method_handlers_generic_handler(
                    "quorate.v1.CommandService",
                    {
                        "ExecuteSplit": grpc.unary_stream_rpc_method_handler(
                            self._execute_split,
                            ExecuteRequest.FromString,
                            ExecuteResponse.SerializeToString,
                        )
                    },
                ),
                _handler("quorate.v1.KvService", Get=(self._get, GetPairRequest)),
                *([self._following()] if self._cluster.tells else []),
                grpc.method_handlers_generic_handler(
                    "shop.v1.Shop",
                    {
                        "Follow": grpc.unary_stream_rpc_method_handler(
                            self._follow,
                            GetPairRequest.FromString,
                            GetPairResponse.SerializeToString,
                        )
                    },
                ),
                grpc.method_handlers_generic_handler(
                    "quorate.v1.WatchService",
                    {
                        "Watch": grpc.unary_stream_rpc_method_handler(
                            self._watch, WatchRequest.FromString, WatchResponse.SerializeToString
                        )
                    },
                ),
            )
        )
        self._port = server.add_insecure_port(f"127.0.0.1:{self._port}")
        self.address = f"127.0.0.1:{self._port}"
        self._server = server
        await server.start()

    async def stop(self) -> None:
        """End, and every call and connection with it; it can be started again."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(0)

    async def _topology(self, request: TopologyRequest, context: Context) -> TopologyResponse:
        self._cluster.topologies += 1
        return self.told or self._cluster.told()

    def _following(self) -> grpc.GenericRpcHandler[Any, Any]:
        return grpc.method_handlers_generic_handler(
            "quorate.v1.AdminService",
            {
                "WatchTopology": grpc.unary_stream_rpc_method_handler(
                    self._watch_topology,
                    TopologyRequest.FromString,
                    TopologyResponse.SerializeToString,
                )
            },
        )

    async def _watch_topology(
        self, request: TopologyRequest, context: Context
    ) -> AsyncIterator[TopologyResponse]:
        """Tell what there is, and what `FakeCluster.tell` says, until that ends it."""
        self.followed += 1
        yield self._cluster.told()
        while (news := await self._cluster.news.get()) is not None:
            yield news

    async def _execute(self, request: ExecuteRequest, context: Context) -> ExecuteResponse:
        self.executed.append(request)
        await self.before(context)
        return ExecuteResponse(answers=[self.answer(command) for command in request.commands])

    async def _execute_split(
        self, request: ExecuteRequest, context: Context
    ) -> AsyncIterator[ExecuteResponse]:
        """Answer in two messages."""
        response = await self._execute(request, context)
        half = len(response.answers) // 2
        yield ExecuteResponse(answers=response.answers[:half])
        yield ExecuteResponse(answers=response.answers[half:])

    async def _open_session(
        self, request: OpenSessionRequest, context: Context
    ) -> OpenSessionResponse:
        self.opened.append(request)
        self._cluster.sessions += 1
        return OpenSessionResponse(session=self._cluster.sessions)

    async def _close_session(
        self, request: CloseSessionRequest, context: Context
    ) -> CloseSessionResponse:
        self.closed.append(request)
        return CloseSessionResponse()

    async def _seal_session(
        self, request: SealSessionRequest, context: Context
    ) -> SealSessionResponse:
        self.sealed.append(request)
        return SealSessionResponse(session=1, revisions=[3, 5])

    async def _get(self, request: GetPairRequest, context: Context) -> GetPairResponse:
        self.asked.append(request)
        await self.before(context)
        return await self.get(request)

    async def _follow(
        self, request: GetPairRequest, context: Context
    ) -> AsyncIterator[GetPairResponse]:
        """Answer once, be asked to go on, and answer again."""
        self.asked.append(request)
        await self.before(context)
        yield GetPairResponse(age_ms=1)
        await self.between(context)
        yield GetPairResponse(age_ms=2)

    async def _watch(self, request: WatchRequest, context: Context) -> AsyncIterator[WatchResponse]:
        self.watched.append(request)
        for response in self.watches.pop(0) if self.watches else ():
            if isinstance(response, Exception):
                await fail(context, response)
                return
            yield response
        await asyncio.Event().wait()


async def _nothing(context: Context) -> None:
    return


async def _no_pair(request: GetPairRequest) -> GetPairResponse:
    return GetPairResponse()


def _handler(service: str, **methods: tuple[Serve, type[Message]]) -> Any:
    return grpc.method_handlers_generic_handler(
        service,
        {
            name: grpc.unary_unary_rpc_method_handler(
                serve, request.FromString, lambda response: response.SerializeToString()
            )
            for name, (serve, request) in methods.items()
        },
    )


class FakeCluster:
    """Three nodes, two shards of `metadata`: n1 leads the first, n2 the second."""

    #: Keys of the first and of the second shard.
    first, second = b"key1", b"key10"
    reply = staticmethod(reply)
    failing = staticmethod(failing)
    fail = staticmethod(fail)

    def __init__(self) -> None:
        self.nodes = {name: FakeNode(name, self) for name in ("n1", "n2", "n3")}
        self.leaders = ["n1", "n2"]
        self.term = 1
        self.topologies = 0
        self.sessions = 0
        #: Whether nodes tell of changes; before they are started.
        self.tells = False
        #: What the next stream to ask for it is told; None ends that stream.
        self.news: asyncio.Queue[TopologyResponse | None] = asyncio.Queue()

    @property
    def endpoints(self) -> str:
        return ",".join(node.address for node in self.nodes.values())

    def client(self, **of: Any) -> AsyncClient:
        """Return a client that has not asked anything yet."""
        return AsyncClient(self.endpoints, **of)

    def told(self) -> TopologyResponse:
        return TopologyResponse(
            cluster_id=b"fake",
            nodes=[
                NodeAddress(node=name, address=node.address) for name, node in self.nodes.items()
            ],
            shards=[
                ShardPlace(
                    group="metadata",
                    number=number,
                    slots=slots,
                    version=1,
                    nodes=list(self.nodes),
                    leader=leader,
                    term=self.term,
                )
                for number, (leader, slots) in enumerate(
                    zip(self.leaders, even_cut(len(self.leaders)), strict=True)
                )
            ],
        )


@pytest.fixture
async def cluster() -> AsyncIterator[FakeCluster]:
    cluster = FakeCluster()
    try:
        for node in cluster.nodes.values():
            await node.start()
        yield cluster
    finally:
        for node in cluster.nodes.values():
            await node.stop()


@pytest.fixture
async def q(cluster: FakeCluster) -> AsyncIterator[AsyncClient]:
    async with cluster.client() as q:
        yield q


@pytest.fixture
def fake_cluster() -> type[FakeCluster]:
    return FakeCluster

"""A node in memory that is asked as a cluster is, and a cluster of one node."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Iterator, Sequence
from typing import TypeVar

import pytest
from google.protobuf.message import Message
from quorate.client import InvalidError, RejectedError
from quorate.plugin import Invalid, Rejected
from quorate.plugin.slots import even_cut
from quorate.testing import MemoryNode
from quorate.testing.cluster import Cluster
from quorate.v1.admin_pb2 import ShardPlace, TopologyResponse
from quorate.v1.batch_pb2 import BatchReply
from quorate_offset.families import GROUP

R = TypeVar("R", bound=Message)

SHARDS = 4


class MemoryClient:
    """Asks a node in memory what a client asks a cluster."""

    def __init__(self, node: MemoryNode) -> None:
        self.node = node
        #: The methods that were called, and the shard keys of the calls.
        self.called: list[tuple[str, bytes]] = []

    async def execute(
        self, command: Message, reply: type[R], *, timeout_s: float | None = None
    ) -> R:
        return await told(self.node.propose(command, reply))

    async def execute_all(
        self, batches: Sequence[Message], *, timeout_s: float | None = None
    ) -> BatchReply:
        joined = BatchReply()
        for batch in batches:
            reply = await self.execute(batch, BatchReply)
            for refusal in reply.refusals:
                joined.refusals.add(
                    item=joined.items + refusal.item, code=refusal.code, message=refusal.message
                )
            joined.replies.extend(reply.replies or [b""] * reply.items)
            joined.revisions.extend(reply.revisions)
            joined.items += reply.items
        return joined

    async def call(
        self,
        method: str,
        request: Message,
        response: type[R],
        *,
        shard_key: bytes | None = None,
        **others: object,
    ) -> R:
        service, name = method.strip("/").split("/")
        self.called.append((name, shard_key or b""))
        answering: Awaitable[R] = getattr(self.node.servicer(service), name)(copy(request), None)
        return await told(answering)

    async def stream(
        self, method: str, request: Message, response: type[R], **others: object
    ) -> AsyncGenerator[R, None]:
        service, name = method.strip("/").split("/")
        async for each in getattr(self.node.servicer(service), name)(copy(request), None):
            yield each

    async def topology(self, *, timeout_s: float | None = None) -> TopologyResponse:
        return TopologyResponse(
            shards=[
                ShardPlace(group=GROUP, number=number, slots=slots)
                for number, slots in enumerate(even_cut(SHARDS))
            ]
        )


def copy(message: R) -> R:
    same = type(message)()
    same.CopyFrom(message)
    return same


async def told(answering: Awaitable[R]) -> R:
    """Return an answer; raise what a client does."""
    try:
        return await answering
    except Rejected as error:
        raise RejectedError(error.code, error.message) from None
    except Invalid as error:
        raise InvalidError(error.field, error.reason) from None


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    settings = {"groups": {GROUP: {"shards": SHARDS}}}
    directory = tmp_path_factory.mktemp("offset")
    with Cluster(directory, nodes=1, plugins=["offset"], settings=settings) as cluster:
        yield cluster.ready()


@pytest.fixture
def tenant(request: pytest.FixtureRequest) -> str:
    """A tenant of the test's own."""
    name: str = request.node.originalname
    return name.removeprefix("test_")[:40]


@pytest.fixture
def memory() -> MemoryClient:
    return MemoryClient(
        MemoryNode(["offset", "resource", "tenant"], shards={GROUP: SHARDS}, at_ms=1_000)
    )

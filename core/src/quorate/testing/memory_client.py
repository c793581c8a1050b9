"""The client of a node in memory: the calls of `quorate.client`, without a socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from copy import deepcopy
from typing import Any, Final, TypeVar, cast

from google.protobuf.message import Message

from quorate.client import AsyncClient, InvalidError, RejectedError
from quorate.client.brokers import Brokers, SyncBrokers
from quorate.client.fencing import Fencing
from quorate.client.kv import Kv, SyncKv
from quorate.client.records import Records, SyncRecords
from quorate.client.twins import Blocking, LoopThread, blocking, iterating
from quorate.client.vocabulary import item_error, only_reply
from quorate.plugin import Invalid, Rejected
from quorate.plugin.batches import join_parts
from quorate.plugin.resource import Resource
from quorate.plugin.singles import batch_of
from quorate.plugin.slots import slot_of
from quorate.plugin.splicing import encoded
from quorate.testing.node import MemoryNode
from quorate.v1.admin_pb2 import TopologyResponse
from quorate.v1.batch_pb2 import BatchReply

R = TypeVar("R", bound=Message)


class MemoryClient:
    """Calls a `MemoryNode` as an `AsyncClient` calls a cluster; helpers accept it in its place.

    Commands enter as those of clients do. It has the methods of the services that plugins declare;
    services of nodes alone, such as watches and membership, are missing.
    """

    def __init__(self, node: MemoryNode) -> None:
        self.node: Final = node
        #: The methods that were called, and the shard keys of the calls.
        self.called: Final[list[tuple[str, bytes]]] = []
        #: Pairs, and brokers, of a node with these plugins.
        self.kv: Final = Kv(cast("AsyncClient", self))
        self.brokers: Final = Brokers(cast("AsyncClient", self))

    def records(self, resource: Resource[R]) -> Records[R]:
        """Return the rows of a resource."""
        return Records(cast("AsyncClient", self), resource)

    async def execute(
        self,
        command: Message,
        reply: type[R],
        *,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> R:
        """Execute a public command, or the item of one as a batch of one."""
        carried = None if fence is None else fence.fence
        batch = batch_of(self.node.catalog.singles, command)
        if batch is None:
            return await _told(self.node.execute(command, reply, fence=carried))
        try:
            answer = await _told(self.node.execute(batch, BatchReply, fence=carried))
        except InvalidError as error:
            raise item_error(error) from None
        return only_reply(answer, reply)

    async def execute_all(
        self,
        batches: Sequence[Message],
        *,
        fence: Fencing | None = None,
        timeout_s: float | None = None,
    ) -> BatchReply:
        """Execute batch commands, and answer their items as those of one batch."""
        return join_parts([await self.execute(batch, BatchReply, fence=fence) for batch in batches])

    async def call(
        self,
        method: str,
        request: Message,
        response: type[R],
        *,
        group: str | None = None,
        shard_key: bytes | None = None,
        read: bool = False,
        timeout_s: float | None = None,
    ) -> R:
        """Call a unary method of a plugin's service."""
        answer = await _told(self._method(method, shard_key)(deepcopy(request), None))
        return response.FromString(encoded(answer))

    async def stream(
        self,
        method: str,
        request: Message,
        response: type[R],
        *,
        group: str | None = None,
        shard_key: bytes | None = None,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[R, None]:
        """Call a method of a plugin's service that streams its answers, and yield them."""
        async for each in self._method(method, shard_key)(deepcopy(request), None):
            yield response.FromString(encoded(each))

    async def topology(self, *, timeout_s: float | None = None) -> TopologyResponse:
        """Return the shards of the node."""
        return self.node.topology()

    async def shard_of(
        self, group: str, shard_key: bytes, *, timeout_s: float | None = None
    ) -> str:
        """Return the shard of a group that holds a shard key."""
        if shard := self.likely_shard(group, shard_key):
            return shard
        raise InvalidError("group", f"{group!r} is no group of this node")

    def likely_shard(self, group: str, shard_key: bytes) -> str:
        """Return the shard that holds a shard key; "" for a group that is not here."""
        slot = slot_of(shard_key)
        for place in self.node.topology().shards:
            if place.group == group and place.slots[slot >> 3] & 1 << (slot & 7):
                return f"{group}/{place.number}"
        return ""

    def _method(self, method: str, shard_key: bytes | None) -> Any:
        service, name = method.strip("/").split("/")
        self.called.append((name, shard_key or b""))
        return getattr(self.node.servicer(service), name)


class SyncMemoryClient(Blocking[MemoryClient]):
    """The blocking twin, as `quorate.client.Client` is of `AsyncClient`."""

    def __init__(self, client: MemoryClient) -> None:
        super().__init__(LoopThread(), client)
        self.kv: Final = SyncKv(self.thread, client.kv)
        self.brokers: Final = SyncBrokers(self.thread, client.brokers)

    def records(self, resource: Resource[R]) -> SyncRecords[R]:
        """Return the rows of a resource."""
        return SyncRecords(self.thread, self.asynchronous.records(resource))

    execute = blocking(MemoryClient.execute)
    execute_all = blocking(MemoryClient.execute_all)
    call = blocking(MemoryClient.call)
    stream = iterating(MemoryClient.stream)
    topology = blocking(MemoryClient.topology)
    shard_of = blocking(MemoryClient.shard_of)

    def close(self) -> None:
        """End its thread."""

        async def nothing() -> None: ...

        self.thread.close(nothing)


async def _told(answering: Awaitable[R]) -> R:
    """Return an answer; translate refusals into the errors of a client."""
    try:
        return await answering
    except Rejected as error:
        raise RejectedError(error.code, error.message) from None
    except Invalid as error:
        raise InvalidError(error.field, error.reason) from None

"""Objects as Kubernetes keeps them in etcd: what its API server asks for, and what it must see."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import grpc
import grpc.aio
from quorate.plugin.advanced import Stub
from quorate.testing.waiting import PATIENCE_S
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

_SERVICES: Final = rpc.DESCRIPTOR.services_by_name
PREFIX: Final = b"/registry/pods/"
END: Final = b"/registry/pods0"
_CALL_S: Final = 5.0
_LOOK_S: Final = 0.05
_OPTIONS: Final = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 100),
)
#: Codes of calls that nodes that come and go do not answer.
_PASSING: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
)
_OBJECT: Final = b"x" * 1_000


class Servers:
    """The nodes of a store; one that does not answer is left for the next."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._channels: Final = [
            grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=_OPTIONS) for port in ports
        ]
        self._kv: Final = [Stub(each, _SERVICES["KV"]) for each in self._channels]
        self._watch: Final = [Stub(each, _SERVICES["Watch"]) for each in self._channels]
        self._at = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for channel in self._channels:
            await channel.close(None)

    async def ask(self, method: str, request: Any) -> Any:
        """Return the answer of a node; None: nobody knows what became of the request."""
        at = self._at
        try:
            return await getattr(self._kv[at], method)(request, timeout=_CALL_S)
        except grpc.aio.AioRpcError as error:
            if error.code() not in _PASSING:
                raise
            self.leave(at)
            await asyncio.sleep(_LOOK_S)
            return None

    async def surely(self, method: str, request: Any) -> Any:
        """Repeat a request until a node answers it."""
        async with asyncio.timeout(PATIENCE_S):
            while (answer := await self.ask(method, request)) is None:
                pass
        return answer

    def watch(self) -> tuple[int, Any]:
        """Return a stream of watches, and the number of its node."""
        return self._at, self._watch[self._at].Watch()

    def leave(self, at: int) -> None:
        """Ask another node from now on."""
        if at == self._at:
            self._at = (at + 1) % len(self._channels)


class Listing(NamedTuple):
    """All objects as of a revision."""

    revision: int
    objects: dict[bytes, mvcc.KeyValue]


async def listed(servers: Servers, limit: int) -> Listing:
    """List all objects page by page, and demand that the counts of the pages are exact."""
    found: dict[bytes, mvcc.KeyValue] = {}
    request = rpc.RangeRequest(key=PREFIX, range_end=END, limit=limit)
    total = -1
    while True:
        page: rpc.RangeResponse = await servers.surely("Range", request)
        if total < 0:
            total = page.count
            request.revision = page.header.revision
        assert page.count == total - len(found)
        assert page.more == (page.count > limit)
        found.update((each.key, each) for each in page.kvs)
        if not page.more:
            assert len(found) == total
            return Listing(request.revision, found)
        request.key = page.kvs[-1].key + b"\0"


class Writer:
    """Creates, updates and deletes objects, each only if it is as it was last seen."""

    def __init__(self, servers: Servers, names: Sequence[bytes], seed: int) -> None:
        self._servers: Final = servers
        self._rng: Final = random.Random(seed)
        #: The last known revision of each object; 0: there is none.
        self._known: Final = dict.fromkeys(names, 0)
        #: The revisions that were acknowledged, and what they changed.
        self.acknowledged: Final[list[tuple[int, bytes]]] = []
        self.refused = self.unknown = 0

    async def run(self, per_s: float, seconds: float) -> None:
        """Change objects at a rate, or as fast as they are answered."""
        began = time.monotonic()
        number = 0
        while (now := time.monotonic()) < began + seconds:
            due = began + number / per_s
            await asyncio.sleep(max(0.0, due - now))
            await self._change(self._rng.choice(list(self._known)))
            number += 1

    async def _change(self, key: bytes) -> None:
        known = self._known[key]
        deletes = bool(known) and self._rng.random() < 0.2
        operation = rpc.RequestOp()
        if deletes:
            operation.request_delete_range.key = key
        else:
            operation.request_put.key = key
            operation.request_put.value = self._rng.randbytes(16) + _OBJECT
        same = rpc.Compare(
            key=key, target=rpc.Compare.MOD, result=rpc.Compare.EQUAL, mod_revision=known
        )
        newest = rpc.RequestOp(request_range=rpc.RangeRequest(key=key))
        request = rpc.TxnRequest(compare=[same], success=[operation], failure=[newest])
        answer: rpc.TxnResponse | None = await self._servers.ask("Txn", request)
        if answer is None:
            self.unknown += 1
        elif answer.succeeded:
            self.acknowledged.append((answer.header.revision, key))
            self._known[key] = 0 if deletes else answer.header.revision
        else:
            self.refused += 1
            found = answer.responses[0].response_range.kvs
            self._known[key] = found[0].mod_revision if found else 0


class Cache:
    """The objects by a list and the events since, as an API server and its clients keep them."""

    def __init__(self, servers: Servers, began: Listing) -> None:
        self._servers: Final = servers
        self.began: Final = began
        self.objects: Final = dict(began.objects)
        self.events: Final[list[mvcc.Event]] = []
        #: Every event until here is in it.
        self.revision = began.revision
        self.streams = 0
        #: The position of the node that it follows.
        self.node = 0
        self._stream: Any = None
        self._is_created = False

    async def run(self) -> None:
        """Follow for ever, on one node after the other."""
        while True:
            self.node, self._stream = self._servers.watch()
            self.streams += 1
            self._is_created = False
            create = rpc.WatchCreateRequest(
                key=PREFIX,
                range_end=END,
                start_revision=self.revision + 1,
                prev_kv=True,
                progress_notify=True,
            )
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await self._stream.write(rpc.WatchRequest(create_request=create))
                async for response in self._stream:
                    self._take(response)
            self._stream.cancel()
            self._servers.leave(self.node)
            await asyncio.sleep(_LOOK_S)

    async def reached(self, revision: int) -> None:
        """Ask for progress until every event of a revision is in it."""
        request = rpc.WatchRequest(progress_request=rpc.WatchProgressRequest())
        until = time.monotonic() + PATIENCE_S
        while self.revision < revision:
            assert time.monotonic() < until, (
                f"stream {self.streams}, at node {self.node}, has told until {self.revision}, and "
                f"not until {revision}, of which a list was; it is created: {self._is_created}"
            )
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await self._stream.write(request)
            await asyncio.sleep(_LOOK_S)

    def _take(self, response: rpc.WatchResponse) -> None:
        assert not response.canceled, response
        self._is_created = True
        for event in response.events:
            self._apply(event)
        if not response.events and not response.created:
            # A note of progress.
            self.revision = max(self.revision, response.header.revision)

    def _apply(self, event: mvcc.Event) -> None:
        kv = event.kv
        assert kv.mod_revision > self.revision, "an event was told twice, or of another order"
        before = self.objects.pop(kv.key, None)
        assert event.prev_kv == (before or mvcc.KeyValue())
        if event.type == mvcc.Event.PUT:
            assert kv.version == (before.version + 1 if before else 1)
            assert kv.create_revision == (before.create_revision if before else kv.mod_revision)
            self.objects[kv.key] = kv
        else:
            assert before is not None
        self.revision = kv.mod_revision
        self.events.append(event)


def judge(cache: Cache, listings: Sequence[Listing], writers: Sequence[Writer]) -> None:
    """Demand that lists and events agree at every revision of a list, and that each acknowledged
    change happened once, and hardly any other."""
    acknowledged = [each for writer in writers for each in writer.acknowledged]
    happened = {(each.kv.mod_revision, each.kv.key) for each in cache.events}
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= happened
    assert len(happened) - len(acknowledged) <= sum(writer.unknown for writer in writers)
    objects = dict(cache.began.objects)
    events = iter([*cache.events, None])
    following = next(events)
    for listing in sorted(listings, key=lambda each: each.revision):
        while following is not None and following.kv.mod_revision <= listing.revision:
            objects.pop(following.kv.key, None)
            if following.type == mvcc.Event.PUT:
                objects[following.kv.key] = following.kv
            following = next(events)
        assert objects == listing.objects

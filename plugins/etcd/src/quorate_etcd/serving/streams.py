"""A stream of watches: the responses to one client, in their order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from quorate.plugin.batches import weighed_parts

from quorate_etcd.store.view import Span
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

_Create = rpc.WatchCreateRequest


class Watcher:
    """A watch of a stream. `following`: it gets each transaction as it comes."""

    def __init__(self, stream: Stream, number: int, request: rpc.WatchCreateRequest) -> None:
        self.stream: Final = stream
        self.number: Final = number
        start = request.key or b"\x00"
        # Without a key a watch has all keys up to its end.
        self.span: Final = Span.of(start, request.range_end)
        self.previous: Final = request.prev_kv
        self.fragment: Final = request.fragment
        self.progress: Final = request.progress_notify
        self._left_out: Final = frozenset(request.filters)
        #: The first revision that was not looked at for it.
        self.next = request.start_revision
        self.following = False
        #: Whether it was told of an event or of progress since the last look.
        self.told = False

    def wants(self, event: mvcc.Event) -> bool:
        """Whether an event of its keys passes its filters."""
        kind = _Create.NODELETE if event.type == mvcc.Event.DELETE else _Create.NOPUT
        return kind not in self._left_out


class Stream:
    """The responses that wait for a client. While there are too many, its watches fall behind."""

    def __init__(
        self,
        most_bytes: int,
        fragment_bytes: int,
        drained: Callable[[], None],
        connection: str = "",
    ) -> None:
        #: The other end of its connection; empty: it is of this node.
        self.connection: Final = connection
        self.watchers: Final[dict[int, Watcher]] = {}
        self._most_bytes: Final = most_bytes
        self._fragment_bytes: Final = fragment_bytes
        #: Called when there is room again.
        self._drained: Final = drained
        self._waiting: Final[deque[tuple[rpc.WatchResponse, int]]] = deque()
        self._bytes = 0
        self._arrived: Final = asyncio.Event()
        self._room: Final = asyncio.Event()
        self._room.set()
        self._failure: BaseException | None = None

    @property
    def full(self) -> bool:
        """Whether no more events are taken."""
        return self._bytes >= self._most_bytes

    async def room(self) -> None:
        """Wait while it is full."""
        await self._room.wait()

    def send(self, response: rpc.WatchResponse) -> None:
        """Add a response."""
        size = response.ByteSize() + 64
        self._waiting.append((response, size))
        self._bytes += size
        if self.full:
            self._room.clear()
        self._arrived.set()

    def send_events(
        self, watcher: Watcher, header: rpc.ResponseHeader, events: Sequence[mvcc.Event]
    ) -> None:
        """Add events of a watch, in several responses if they are large and it takes such."""
        watcher.told = True
        parts = [events]
        if watcher.fragment:
            most = (len(events), self._fragment_bytes)
            parts = list(weighed_parts(events, lambda event: (1, event.ByteSize()), most))
        for number, part in enumerate(parts, 1):
            response = rpc.WatchResponse(header=header, watch_id=watcher.number, events=part)
            response.fragment = number < len(parts)
            self.send(response)

    def fail(self, failure: BaseException) -> None:
        """End it with an error, after the waiting responses."""
        self._failure = failure
        self._arrived.set()

    async def responses(self) -> AsyncIterator[rpc.WatchResponse]:
        """Yield the responses as they come."""
        while True:
            while self._waiting:
                response, size = self._waiting.popleft()
                was_full = self.full
                self._bytes -= size
                if was_full and not self.full:
                    self._room.set()
                    self._drained()
                yield response
            if self._failure is not None:
                raise self._failure
            self._arrived.clear()
            await self._arrived.wait()

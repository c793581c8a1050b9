"""A client of etcd's API, for a test of one server or of two side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import grpc.aio
from google.protobuf import text_format
from google.protobuf.message import Message
from quorate.plugin.advanced import Stub
from quorate.testing.waiting import PATIENCE_S
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

#: Pairs of names and values.
Metadata = tuple[tuple[str, str], ...]

_SERVICES: Final = rpc.DESCRIPTOR.services_by_name


class Refused(NamedTuple):
    """The status of a refused call."""

    code: str
    text: str


class Watched:
    """What a stream of watches has said of one watch."""

    def __init__(self) -> None:
        self.said: Final[list[rpc.WatchResponse]] = []
        #: All events, in their order.
        self.events: Final[list[mvcc.Event]] = []
        #: The same, and what else was said, as text, in whichever responses.
        self.lines: Final[list[str]] = []

    def add(self, response: rpc.WatchResponse) -> None:
        """Add a response; a revision is split over two of them only if they are fragments."""
        if response.created or response.canceled:
            revision = response.header.revision if response.created else ""
            self.lines.append(
                f"created {response.created} at {revision}, canceled {response.canceled} "
                f"{response.compact_revision} {response.cancel_reason}"
            )
        if self.events and response.events and not self._fragments:
            assert response.events[0].kv.mod_revision > self.events[-1].kv.mod_revision
        self.said.append(response)
        self.events.extend(response.events)
        self.lines.extend(map(text_format.MessageToString, response.events))

    @property
    def _fragments(self) -> bool:
        return any(each.fragment for each in self.said[-1:])


class Watching:
    """A stream of watches, whose responses are collected by their watches."""

    def __init__(self, call: Any) -> None:
        self._call: Final = call
        self._status: Refused | None = None
        self._reading: Final = asyncio.create_task(self._read())
        self._changed = asyncio.Event()
        self.watches: Final[dict[int, Watched]] = {}

    async def _read(self) -> None:
        try:
            async for response in self._call:
                self.of(response.watch_id).add(response)
                self._changed.set()
        except grpc.aio.AioRpcError as error:
            self._status = Refused(error.code().name, error.details() or "")

    async def ended(self) -> Refused | None:
        """Wait for the end of the stream; return its status."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.shield(self._reading)
        return self._status

    def of(self, number: int) -> Watched:
        """Return what was said of a watch."""
        return self.watches.setdefault(number, Watched())

    async def send(self, **request: Message) -> None:
        """Send a request."""
        await self._call.write(rpc.WatchRequest(**request))  # type: ignore[arg-type]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for responses until a condition holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    async def close(self) -> None:
        """End the stream."""
        self._call.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)


class Peer:
    """A connection to a server of etcd's API."""

    def __init__(self, port: int) -> None:
        options = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
        self._channel: Final = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options)
        self.kv: Final = Stub(self._channel, _SERVICES["KV"])
        self.lease: Final = Stub(self._channel, _SERVICES["Lease"])
        self._watch: Final = Stub(self._channel, _SERVICES["Watch"])

    def watching(self, metadata: Metadata = ()) -> Watching:
        """Begin a stream of watches."""
        return Watching(self._watch.Watch(metadata=metadata))

    async def call(
        self, service: str, method: str, request: Message, metadata: Metadata = ()
    ) -> Message | Refused:
        """Return an answer, or a status."""
        try:
            call = getattr(getattr(self, service), method)
            answer: Message = await call(request, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            return Refused(error.code().name, error.details() or "")
        return answer

    async def renew(self, lease: int) -> rpc.LeaseKeepAliveResponse:
        """Renew a lease once."""
        call = self.lease.LeaseKeepAlive()
        await call.write(rpc.LeaseKeepAliveRequest(ID=lease))
        answer: rpc.LeaseKeepAliveResponse = await call.read()
        call.cancel()
        return answer

    async def close(self) -> None:
        """Close it."""
        await self._channel.close(None)

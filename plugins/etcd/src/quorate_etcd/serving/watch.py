"""The service Watch: the requests of clients on a stream of watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from quorate.plugin import Rejected
from quorate.plugin.advanced import CallContext

from quorate_etcd import errors
from quorate_etcd.auth.permissions import Need
from quorate_etcd.serving.gatekeeper import Gatekeeper
from quorate_etcd.serving.store import Store
from quorate_etcd.serving.streams import Stream, Watcher
from quorate_etcd.serving.watching import Watches
from quorate_etcd.wire import rpc_pb2 as rpc


class Watch:
    """Serves the watches of a store."""

    def __init__(self, store: Store, watches: Watches, gatekeeper: Gatekeeper) -> None:
        self._store: Final = store
        self._gatekeeper: Final = gatekeeper
        self._watches: Final = watches

    async def Watch(  # noqa: D102 - named as in its service
        self, requests: AsyncIterator[rpc.WatchRequest], context: CallContext
    ) -> AsyncIterator[rpc.WatchResponse]:
        stream = self._watches.stream(context.peer())
        reading = asyncio.create_task(self._read(stream, requests))
        try:
            async for response in stream.responses():
                yield response
        finally:
            reading.cancel()
            for watcher in list(stream.watchers.values()):
                self._watches.remove(watcher)

    async def _read(self, stream: Stream, requests: AsyncIterator[rpc.WatchRequest]) -> None:
        """Carry out the requests of a client; their end does not end the stream."""
        numbers = 0
        try:
            async for request in requests:
                await stream.room()
                match request.WhichOneof("request_union"):
                    case "create_request":
                        numbers = await self._create(stream, request.create_request, numbers)
                    case "cancel_request":
                        self._cancel(stream, request.cancel_request.watch_id)
                    case "progress_request":
                        self._watches.progress(stream)
        except Exception as error:  # noqa: BLE001 - the stream ends with it
            stream.fail(error)

    async def _create(self, stream: Stream, request: rpc.WatchCreateRequest, numbers: int) -> int:
        """Make a watch, and return the next number for one without."""
        number = request.watch_id
        if not number:
            while numbers in stream.watchers:
                numbers += 1
            number, numbers = numbers, numbers + 1
        watcher = Watcher(stream, number, request)
        reason = self._refusal(stream, watcher) or await self._denial(request)
        reason = reason or self._watches.refusal(stream)
        if reason is not None:
            refused = rpc.WatchResponse(
                header=self._store.header(self._watches.follower.revision),
                watch_id=-1,
                created=True,
                canceled=True,
                cancel_reason=reason,
            )
            stream.send(refused)
        else:
            await self._watches.add(watcher)
        return numbers

    def _refusal(self, stream: Stream, watcher: Watcher) -> str | None:
        if watcher.span.empty:
            return errors.WATCH_EMPTY_RANGE
        if watcher.next < 0:
            return errors.COMPACTED.text
        if watcher.number in stream.watchers:
            return errors.WATCH_DUPLICATE_ID
        return None

    async def _denial(self, request: rpc.WatchCreateRequest) -> str | None:
        """Return the reason to deny a watch to its caller; None: it is allowed."""
        need = Need(False, request.key, request.range_end)
        try:
            await self._gatekeeper.demand(need)
        except Rejected as refusal:
            code = "".join(part.capitalize() for part in refusal.code.split("_"))
            return f"rpc error: code = {code} desc = {refusal.message}"
        return None

    def _cancel(self, stream: Stream, number: int) -> None:
        watcher = stream.watchers.get(number)
        if watcher is not None:
            self._watches.remove(watcher)
            header = self._store.header(self._watches.follower.revision)
            stream.send(rpc.WatchResponse(header=header, watch_id=number, canceled=True))

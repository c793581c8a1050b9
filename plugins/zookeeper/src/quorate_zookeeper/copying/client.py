"""A client of ZooKeeper's protocol, for copies: requests in order, events in a queue."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final, Self

from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import AUTH_XID, NOTIFICATION_XID, PING_XID, Op
from quorate_zookeeper.wire.jute import Record

_TIMEOUT_MS: Final = 30_000
_PASSWORD_BYTES: Final = 16
_LENGTH_BYTES: Final = 4
#: A larger answer cannot come from a server of this protocol.
_MOST_BYTES: Final = 1 << 28


class AnswerError(Exception):
    """The server answered with an error code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the server answered with error {code}")
        self.code: Final = code


class Client:
    """A session with one server, until it is closed or the connection is lost."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader: Final = reader
        self._writer: Final = writer
        self._waiting: Final[deque[asyncio.Future[Record]]] = deque()
        self._xid = 0
        self._tasks: list[asyncio.Task[None]] = []
        #: The type and the path of each event; None once the connection is lost.
        self.events: Final[asyncio.Queue[tuple[int, str] | None]] = asyncio.Queue()

    @classmethod
    async def connect(cls, address: str, *, digest: str = "") -> Self:
        """Open a session at `host:port`, as `user:password` if given; raises `OSError`."""
        host, _, port = address.rpartition(":")
        client = cls(*await asyncio.open_connection(host, int(port)))
        opening = jute.int32(0) + jute.int64(0) + jute.int32(_TIMEOUT_MS) + jute.int64(0)
        client._writer.write(jute.buffer(opening + jute.buffer(bytes(_PASSWORD_BYTES)) + b"\x00"))
        try:
            answer = Record(await client._frame())
        except asyncio.IncompleteReadError:
            raise ConnectionError(f"{address} refuses the connection") from None
        answer.int32()
        timeout_s = answer.int32() / 1_000
        client._tasks = [
            asyncio.create_task(client._read()),
            asyncio.create_task(client._ping(timeout_s / 3)),
        ]
        if digest:
            proof = jute.int32(0) + jute.text("digest") + jute.buffer(digest.encode())
            await client.ask(Op.AUTH, proof, xid=AUTH_XID)
        return client

    async def ask(self, op: int, body: bytes = b"", *, xid: int | None = None) -> Record:
        """Send a request, and return the record of the answer.

        Raises `AnswerError`, and `ConnectionError` when the connection is lost.
        """
        if self._writer.is_closing():
            raise ConnectionError("the connection is lost")
        self._xid += 1
        future: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        header = jute.int32(self._xid if xid is None else xid) + jute.int32(op)
        self._writer.write(jute.buffer(header + body))
        return await future

    async def close(self) -> None:
        """End the session."""
        with suppress(ConnectionError, AnswerError):
            await self.ask(Op.CLOSE)
        for task in self._tasks:
            task.cancel()
        self._writer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _frame(self) -> bytes:
        length = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES))
        if length > _MOST_BYTES:
            raise ConnectionError(f"received an answer of {length} bytes")
        return await self._reader.readexactly(length)

    async def _read(self) -> None:
        try:
            while True:
                record = Record(await self._frame())
                xid, _, error = record.int32(), record.int64(), record.int32()
                if xid == NOTIFICATION_XID:
                    type_, _, path = record.int32(), record.int32(), record.text()
                    self.events.put_nowait((type_, path))
                elif xid != PING_XID:
                    future = self._waiting.popleft()
                    if future.done():
                        continue
                    if error:
                        future.set_exception(AnswerError(error))
                    else:
                        future.set_result(record)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writer.close()
            self.events.put_nowait(None)
            for future in self._waiting:
                if not future.done():
                    future.set_exception(ConnectionError("the connection is lost"))

    async def _ping(self, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            self._writer.write(jute.buffer(jute.int32(PING_XID) + jute.int32(Op.PING)))

"""Connections over HTTP/1.1, each of which is read, answered and bounded in time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

import h11

from quorate.http1.messages import HttpAnswer, HttpHandler, HttpRequest

_log = logging.getLogger(__name__)

#: The longest head of a request.
_HEAD_BYTES: Final = 16 << 10
#: Bytes of further requests that may wait while one is answered.
_WAITING_BYTES: Final = 64 << 10
#: The interval between two checks of connections.
_LOOK_S: Final = 1.0
#: Time for a client to read an answer that came before it had sent its whole request.
_LINGER_S: Final = 1.0
_BROKEN: Final = b"this failed; see the node's log\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Bounds of connections."""

    #: The largest body of a request.
    body_bytes: int = 4 << 20
    #: Time for a request to arrive as a whole, from the first byte on.
    request_s: float = 10.0
    #: A connection is closed after this time without a request.
    idle_s: float = 300.0
    #: Time for a client to read bytes that wait for it.
    slow_s: float = 60.0


class Room(Protocol):
    """Admits requests by their sizes."""

    def take(self, request: HttpConnection, size: int) -> str | None:
        """Count the bytes of a request that arrives; or return why there is no room for it."""

    def give(self, request: HttpConnection) -> None:
        """Give its bytes back: it has arrived, or never will."""


@dataclass(eq=False)
class HttpServer:
    """Answers the requests of the connections that it is handed."""

    handle: HttpHandler
    limits: HttpLimits
    loop: asyncio.AbstractEventLoop
    room: Room | None = None
    connections: set[HttpConnection] = field(default_factory=set, init=False)
    _looking: asyncio.TimerHandle | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)

    def connection(self, peer: str, left: Callable[[], None]) -> HttpConnection:
        """Return the protocol of a connection; `left` is called when it is gone."""
        return HttpConnection(self, peer, left)

    async def stop(self, grace_s: float) -> None:
        """Accept no more requests, and drop the connections with open ones after `grace_s`."""
        self._stopped = True
        for each in list(self.connections):
            each.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while serving := [each.serving for each in self.connections if each.serving]:
                    await asyncio.wait(serving)
        serving = [each.serving for each in self.connections if each.serving]
        for each in list(self.connections):
            each.abort()
        await asyncio.gather(*serving, return_exceptions=True)
        if self._looking is not None:
            self._looking.cancel()

    def entered(self, connection: HttpConnection) -> None:
        """Add a connection."""
        self.connections.add(connection)
        if self._stopped:
            connection.abort()
        elif self._looking is None:
            self._looking = self.loop.call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._looking = None
        if self.connections and not self._stopped:
            self._looking = self.loop.call_later(_LOOK_S, self._look)
        now = self.loop.time()
        for each in list(self.connections):
            each.look(now)


class HttpConnection(asyncio.Protocol):
    """A connection: one request after the other."""

    def __init__(self, server: HttpServer, peer: str, left: Callable[[], None]) -> None:
        self.peer: Final = peer
        #: Answers the request that has arrived.
        self.serving: asyncio.Task[None] | None = None
        self._server: Final = server
        self._left: Final = left
        self._wire: Final = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
        self._transport: asyncio.Transport
        self._head: h11.Request | None = None
        self._body: Final = bytearray()
        #: Bytes of the request that are counted.
        self._counted = 0
        #: Bytes that came while a request was answered.
        self._waiting = 0
        #: When the client must have done what it is waited for; None: it is not waited for.
        self._until: float | None = None
        self._writable: asyncio.Future[None] | None = None
        self._draining = False
        self._gone = False

    # --- its socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the connection."""
        self._transport = cast(asyncio.Transport, transport)
        self._expect(self._server.limits.request_s)
        self._server.entered(self)

    def data_received(self, data: bytes) -> None:
        """Read what has come, unless a request is being answered: then it waits."""
        if self._gone or self._wire.our_state in (h11.CLOSED, h11.ERROR, h11.MUST_CLOSE):
            return
        self._wire.receive_data(data)
        if self.serving is None:
            self._read()
            return
        self._waiting += len(data)
        if self._waiting > _WAITING_BYTES:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Close the connection when the client has closed its end."""
        return False

    def pause_writing(self) -> None:
        """Let the answer wait for the client."""
        self._writable = self._server.loop.create_future()
        self._expect(self._server.limits.slow_s)

    def resume_writing(self) -> None:
        """Continue the answer."""
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = self._until = None

    def connection_lost(self, exc: Exception | None) -> None:
        """End the request that is being answered."""
        self._gone = True
        self._server.connections.discard(self)
        if self.serving is not None:
            self.serving.cancel()
        self._give()
        self._left()

    # --- its life

    def drain(self) -> None:
        """Close the connection once its request is answered."""
        self._draining = True
        if self.serving is None:
            self._transport.close()

    def abort(self) -> None:
        """Drop the connection."""
        self._transport.abort()

    def refuse(self, why: str) -> None:
        """Refuse the request that arrives."""
        if self.serving is None:
            self._answer_early(429, f"{why}\n")

    def look(self, now: float) -> None:
        """Drop the connection if its client lets it wait for too long."""
        if self._until is not None and now > self._until:
            self._transport.abort()

    def _expect(self, within_s: float) -> None:
        self._until = self._server.loop.time() + within_s

    # --- requests

    def _read(self) -> None:
        """Read up to the end of a request, which is answered before another one is read."""
        try:
            while (event := self._wire.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Request):
                    self._begin(event)
                elif isinstance(event, h11.Data):
                    self._body.extend(event.data)
                    if len(self._body) > self._counted:
                        self._give()
                        self._count(len(self._body))
                elif isinstance(event, h11.EndOfMessage):
                    self._until = None
                    self._give()
                    self.serving = self._server.loop.create_task(self._serve())
                    return
                elif isinstance(event, h11.ConnectionClosed):
                    self._transport.close()
                    return
            if self._wire.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
        except h11.RemoteProtocolError as error:
            self._answer_early(error.error_status_hint, f"this is not HTTP/1.1: {error}\n")
        except _RefusedError as error:
            self._answer_early(error.status, f"{error}\n")

    def _begin(self, head: h11.Request) -> None:
        self._head = head
        self._body.clear()
        self._expect(self._server.limits.request_s)
        said = dict(head.headers).get(b"content-length", b"0")
        # h11 has checked that it is a number.
        self._count(int(said))

    def _count(self, size: int) -> None:
        """Count the bytes of a request, as far as they are known: all of them, or its chunks."""
        most, room = self._server.limits.body_bytes, self._server.room
        if size > most:
            text = f"a body of {size} bytes; at most {most} are allowed: send less"
            raise _RefusedError(413, text)
        self._counted = size
        if room is not None and (why := room.take(self, size)) is not None:
            raise _RefusedError(429, why)

    def _answer_early(self, status: int, text: str) -> None:
        """Answer a request that did not arrive as a whole, and close the connection."""
        self._give()
        self._until = None
        if self._wire.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._send_whole(HttpAnswer(status, text.encode()), close=True)
        if self._transport.can_write_eof():
            # A socket that is closed with unread bytes is reset, and the answer lost.
            self._transport.write_eof()
            self._server.loop.call_later(_LINGER_S, self._transport.abort)
        else:
            self._transport.close()

    def _give(self) -> None:
        if self._server.room is not None:
            self._server.room.give(self)

    # --- answers

    async def _serve(self) -> None:
        assert self._head is not None
        try:
            answer = await self._server.handle(_request(self._head, self._body, self.peer))
        except Exception:  # noqa: BLE001 - the client gets a 500
            _log.exception("cannot serve %s", self._head.target.decode("latin-1"))
            answer = HttpAnswer(500, _BROKEN)
        try:
            if isinstance(answer.body, bytes):
                self._send_whole(answer)
            else:
                await self._send_stream(answer, answer.body)
        except (h11.LocalProtocolError, ConnectionError):
            self._transport.abort()
            return
        await self._written()
        self._next()

    def _next(self) -> None:
        """Go on with the next request."""
        self.serving = self._head = None
        self._body.clear()
        if self._gone:
            return
        done = self._wire.our_state is h11.DONE and self._wire.their_state is h11.DONE
        if self._draining or not done:
            self._transport.close()
            return
        self._wire.start_next_cycle()
        self._expect(self._server.limits.idle_s)
        if self._waiting > _WAITING_BYTES:
            self._transport.resume_reading()
        self._waiting = 0
        self._read()

    def _send_whole(self, answer: HttpAnswer, *, close: bool = False) -> None:
        assert isinstance(answer.body, bytes)
        length = ("Content-Length", str(len(answer.body)))
        self._send(_response(answer, length, *([("Connection", "close")] if close else [])))
        if self._head is None or self._head.method != b"HEAD":
            self._send(h11.Data(data=answer.body))
        self._send(h11.EndOfMessage())

    async def _send_stream(self, answer: HttpAnswer, chunks: AsyncIterator[bytes]) -> None:
        self._send(_response(answer))
        try:
            async for each in chunks:
                self._send(h11.Data(data=each))
                await self._written()
        except Exception:  # noqa: BLE001 - the stream ends without its last chunk
            _log.exception("a stream of %s broke", self.peer)
            self._transport.abort()
            raise ConnectionAbortedError("the stream broke") from None
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
        self._send(h11.EndOfMessage())

    def _send(
        self, event: h11.Response | h11.InformationalResponse | h11.Data | h11.EndOfMessage
    ) -> None:
        content = self._wire.send(event)
        if content and not self._gone:
            self._transport.write(content)

    async def _written(self) -> None:
        if self._writable is not None:
            await self._writable


class _RefusedError(Exception):
    """The body of a request is too large, or there is no room for it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status: Final = status


def _request(head: h11.Request, body: bytearray, peer: str) -> HttpRequest:
    path, _, query = head.target.decode("latin-1").partition("?")
    return HttpRequest(
        method=head.method.decode("latin-1"),
        path=path,
        query=query,
        headers={name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers},
        body=bytes(body),
        peer=peer,
    )


def _response(answer: HttpAnswer, *more: tuple[str, str]) -> h11.Response:
    fields = [("Content-Type", answer.content_type), *answer.headers.items(), *more]
    return h11.Response(
        status_code=answer.status,
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields],
    )

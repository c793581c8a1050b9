"""HTTP/1.1, spoken byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from quorate.http1.messages import HttpAnswer, HttpRequest
from quorate.http1.server import HttpConnection, HttpLimits, HttpServer

_S = 30.0


class Site:
    """Answers what the paths name."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        self.requests: list[HttpRequest] = []

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        self.requests.append(request)
        self.asked.set()
        if request.path == "/break":
            raise KeyError(1)
        if request.path == "/ever":
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        if request.path.startswith("/stream"):
            return HttpAnswer(200, self._stream(request.path), "application/json")
        return HttpAnswer(200, request.method.encode() + b" " + request.body)

    async def _stream(self, path: str) -> AsyncIterator[bytes]:
        try:
            yield b"one\n"
            if path == "/stream/break":
                raise KeyError(1)
            if path == "/stream/full":
                while True:
                    yield bytes(1 << 16)
            if path == "/stream/ever":
                await asyncio.Event().wait()
            yield b"two\n"
        finally:
            self.left.set()


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, text: str) -> None:
        self.writer.write(text.replace("\n", "\r\n").encode())

    async def answer(self) -> tuple[str, bytes]:
        """Return the head of an answer and its body."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (line for line in head.splitlines() if line.lower().startswith("content-length")), ""
        )
        body = await self.reader.readexactly(int(length.partition(":")[2])) if length else b""
        return head, body

    async def rest(self) -> bytes:
        return await self.reader.read()


Connect = Callable[[], "asyncio.Future[Client]"]


@asynccontextmanager
async def serving(
    site: Site, limits: HttpLimits | None = None, room: Room | None = None
) -> AsyncIterator[tuple[HttpServer, Client]]:
    loop = asyncio.get_running_loop()
    server = HttpServer(site, limits or HttpLimits(), loop, room)
    gone = asyncio.Event()
    listening = await loop.create_server(
        lambda: server.connection("ipv4:127.0.0.1:1", gone.set), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
    try:
        async with asyncio.timeout(_S):
            yield server, Client(reader, writer)
    finally:
        writer.close()
        listening.close()
        await server.stop(0.1)
    async with asyncio.timeout(_S):
        await gone.wait()


class Room:
    """Has room for a number of bytes."""

    def __init__(self, most: int) -> None:
        self.left = most
        self.taken: dict[HttpConnection, int] = {}

    def take(self, request: HttpConnection, size: int) -> str | None:
        if size > self.left:
            return "there is no room"
        self.left -= size
        self.taken[request] = size
        return None

    def give(self, request: HttpConnection) -> None:
        self.left += self.taken.pop(request, 0)


@pytest.fixture
def site() -> Site:
    return Site()


async def test_requests_of_a_connection_are_answered_in_order(site: Site) -> None:
    """Also those that came at once; a HEAD gets no body."""
    room = Room(10)
    async with serving(site, room=room) as (_, client):
        client.send("POST /a?b=c HTTP/1.1\nHost: x\nX-Y: z\nContent-Length: 2\n\nhi")
        client.send("GET / HTTP/1.1\nHost: x\n\nHEAD / HTTP/1.1\nHost: x\nConnection: close\n\n")
        head, body = await client.answer()
        assert head.startswith("HTTP/1.1 200")
        assert body == b"POST hi"
        assert (await client.answer())[1] == b"GET "
        head = (await client.rest()).decode()
        assert head.endswith("\r\n\r\n")
        assert "content-length: 5" in head.lower()
        first = site.requests[0]
        assert (first.path, first.query, first.headers["x-y"]) == ("/a", "b=c", "z")
        assert first.peer == "ipv4:127.0.0.1:1"
    assert room.left == 10


async def test_a_request_in_chunks_counts_as_it_comes(site: Site) -> None:
    begin = "POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n5\nhello\n"
    room = Room(10)
    async with serving(site, room=room) as (_, client):
        client.send(begin + "6\n world\n")
        head, body = await client.answer()
        assert (head.split()[1], body) == ("429", b"there is no room\n")
    assert room.left == 10
    async with serving(site, room=room) as (_, client):
        client.send(begin + "5\nworld\n0\n\n")
        assert (await client.answer())[1] == b"POST helloworld"
    assert room.left == 10


async def test_a_request_comes_byte_by_byte_and_in_chunks(site: Site) -> None:
    async with serving(site) as (_, client):
        text = "POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n2\nhi\n1\n!\n0\n\n"
        for each in text:
            client.send(each)
            await client.writer.drain()
            await asyncio.sleep(0)
        assert (await client.answer())[1] == b"POST hi!"


async def test_a_client_that_asks_first_is_told_to_go_on(site: Site) -> None:
    async with serving(site) as (_, client):
        client.send("POST / HTTP/1.1\nHost: x\nContent-Length: 2\nExpect: 100-continue\n\n")
        assert (await client.answer())[0].startswith("HTTP/1.1 100")
        client.send("hi")
        assert (await client.answer())[1] == b"POST hi"


async def test_a_stream_comes_in_chunks(site: Site) -> None:
    async with serving(site) as (_, client):
        client.send("GET /stream HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\nHost: x\n\n")
        head, _ = await client.answer()
        assert "transfer-encoding: chunked" in head.lower()
        assert (
            await client.reader.readuntil(b"0\r\n\r\n") == b"4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n"
        )
        assert (await client.answer())[1] == b"GET "


async def test_a_stream_that_breaks_has_no_last_chunk(site: Site) -> None:
    async with serving(site) as (_, client):
        client.send("GET /stream/break HTTP/1.1\nHost: x\n\n")
        await client.answer()
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.reader.readuntil(b"0\r\n\r\n")


@pytest.mark.parametrize("path", ["/ever", "/stream/ever"])
async def test_the_work_for_a_client_that_leaves_ends(site: Site, path: str) -> None:
    async with serving(site) as (_, client):
        client.send(f"GET {path} HTTP/1.1\nHost: x\n\n")
        await site.asked.wait()
        client.writer.close()
        await site.left.wait()


async def test_a_failure_is_an_answer(site: Site) -> None:
    async with serving(site) as (_, client):
        client.send("GET /break HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\nHost: x\n\n")
        assert (await client.answer())[0].startswith("HTTP/1.1 500")
        assert (await client.answer())[1] == b"GET "


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("nonsense\n\n", 400),
        ("GET / HTTP/1.1\n\n", 400),
        ("GET / HTTP/1.1\nHost: x\nContent-Length: -1\n\n", 400),
        ("GET / HTTP/1.1\nHost: x\nContent-Length: 1\nContent-Length: 2\n\n", 400),
        ("GET / HTTP/1.1\nHost: x\nX: " + "x" * 400_000, 431),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: 11\n\n", 413),
        ("POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\nb\nhello world\n", 413),
        ("POST / HTTP/1.1\nHost: x\nContent-Length: 9\n\n", 429),
    ],
)
async def test_bad_requests_are_refused_before_they_are_complete(
    site: Site, text: str, status: int
) -> None:
    async with serving(site, HttpLimits(body_bytes=10), Room(8)) as (_, client):
        client.send(text)
        head, _ = await client.answer()
        assert head.startswith(f"HTTP/1.1 {status}")
        assert await client.rest() == b""
        assert not site.requests


@pytest.mark.parametrize(
    "text", ["", "GET / HT", "POST / HTTP/1.1\nHost: x\nContent-Length: 9\n\nhi"]
)
async def test_a_request_that_does_not_come_is_not_waited_for(site: Site, text: str) -> None:
    room = Room(10)
    async with serving(site, HttpLimits(request_s=0.1), room) as (_, client):
        client.send(text)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.answer()
    assert room.left == 10


async def test_an_idle_connection_is_closed(site: Site) -> None:
    async with serving(site, HttpLimits(idle_s=0.1)) as (server, client):
        client.send("GET / HTTP/1.1\nHost: x\n\n")
        await client.answer()
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.answer()
        assert not server.connections


async def test_a_client_that_reads_nothing_is_dropped(site: Site) -> None:
    async with serving(site, HttpLimits(slow_s=0.1)) as (_, client):
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send("GET /stream/full HTTP/1.1\nHost: x\n\n")
        await site.left.wait()


async def test_requests_that_wait_are_bounded(site: Site) -> None:
    """Nothing more is read of a client that sends on while it is answered."""
    async with serving(site) as (server, client):
        client.send("GET /ever HTTP/1.1\nHost: x\n\n")
        await site.asked.wait()
        [connection] = server.connections
        client.writer.write(bytes(8 << 20))
        transport = connection._transport
        while transport.is_reading():
            await asyncio.sleep(0.01)


async def test_a_stop_ends_what_goes_on(site: Site) -> None:
    async with serving(site) as (server, client):
        client.send("GET /stream/ever HTTP/1.1\nHost: x\n\n")
        await site.asked.wait()
        await server.stop(0.01)
        assert site.left.is_set()
        assert not [each for each in server.connections if not each._gone]

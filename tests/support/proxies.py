"""Proxies between processes, at which a test can hold back, delay or break what passes."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeVar

from quorate.testing.waiting import PATIENCE_S

_PIECE: Final = 1 << 16

T = TypeVar("T")


class Proxy:
    """Passes connections on to an address, from a loopback address of its own.

    With `peer_port`, connections to that port pass, too: a node says of itself which one it is, so
    it is the same one on both sides, and the proxy is at a `host` of its own.

    Its methods may be called from any thread, and have taken effect when they return.
    """

    def __init__(
        self, target: str, loop: asyncio.AbstractEventLoop, host: str, peer_port: int | None
    ) -> None:
        target_host, _, port = target.rpartition(":")
        self._target: Final = (target_host, int(port))
        self._host: Final = host
        self._peer_port: Final = peer_port
        self._loop: Final = loop
        self._servers: Final[list[asyncio.Server]] = []
        self._flows: Final = asyncio.Event()
        self._flows.set()
        self._refuses = False
        self._delay_s = 0.0
        self._left: int | None = None
        self._carried: Final[set[asyncio.Task[None]]] = set()
        #: Where it is entered, as `host:port`.
        self.address = ""
        #: How often it broke because of `cut_after`.
        self.cuts = 0

    def cut(self) -> None:
        """Drop everything silently, as if packets were lost.

        What was sent meanwhile arrives when the proxy is healed, as TCP would send it again.
        """
        self._change(self._flows.clear)

    def refuse(self) -> None:
        """Break what passes, and refuse connections."""

        def change() -> None:
            self._refuses = True
            self._break()

        self._change(change)

    def delay(self, delay_s: float) -> None:
        """Delay every piece, in both directions."""

        def change() -> None:
            self._delay_s = delay_s

        self._change(change)

    def cut_after(self, size: int) -> None:
        """Break every connection after this many more bytes to the target; then pass on again."""

        def change() -> None:
            self._left = size

        self._change(change)

    def heal(self) -> None:
        """Pass on everything again, at once."""

        def change() -> None:
            self._refuses, self._delay_s, self._left = False, 0.0, None
            self._flows.set()

        self._change(change)

    def _change(self, change: Callable[[], None]) -> None:
        async def changed() -> None:
            change()

        asyncio.run_coroutine_threadsafe(changed(), self._loop).result(PATIENCE_S)

    async def _open(self) -> None:
        # First the port that is given: any free one could be the same.
        if self._peer_port is not None:
            await self._listen(self._peer_port, (self._target[0], self._peer_port))
        self.address = f"{self._host}:{await self._listen(0, self._target)}"

    async def _listen(self, port: int, target: tuple[str, int]) -> int:
        server = await asyncio.start_server(partial(self._carry, target), self._host, port)
        self._servers.append(server)
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        carried = self._break()
        await asyncio.gather(*carried, return_exceptions=True)

    def _break(self) -> list["asyncio.Task[None]"]:
        carried = list(self._carried)
        for task in carried:
            task.cancel()
        return carried

    async def _carry(
        self,
        target: tuple[str, int],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carried.add(task)
        ends = [writer]
        # A task of a stream must not end in an error: nobody would look at it.
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._flows.wait()
                if self._refuses:
                    return
                their_reader, their_writer = await asyncio.open_connection(*target)
                ends.append(their_writer)
                await _first(
                    self._pass(reader, their_writer, counted=True),
                    self._pass(their_reader, writer, counted=False),
                )
        finally:
            self._carried.discard(task)
            for end in ends:
                end.transport.abort()

    async def _pass(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, counted: bool
    ) -> None:
        while piece := await source.read(_PIECE):
            if self._delay_s:
                await asyncio.sleep(self._delay_s)
            await self._flows.wait()
            passed = self._allowed(piece) if counted else piece
            sink.write(passed)
            await sink.drain()
            if len(passed) < len(piece):
                self.cuts += 1
                self._break()

    def _allowed(self, piece: bytes) -> bytes:
        if self._left is None:
            return piece
        if self._left >= len(piece):
            self._left -= len(piece)
            return piece
        allowed, self._left = piece[: self._left], None
        return allowed


class Proxies:
    """Opens proxies, which one thread carries; leaving the context closes them."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.new_event_loop()
        self._thread: Final = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._open: Final[list[Proxy]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for proxy in self._open:
            self._done(proxy._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def to(self, target: str, peer_port: int | None = None) -> Proxy:
        """Open a proxy to an address, and to the port of a node that other nodes connect to."""
        number = len(self._open) + 1
        own = f"127.{1 + os.getpid() % 250}.{number // 250}.{1 + number % 250}"
        proxy = Proxy(target, self._loop, "127.0.0.1" if peer_port is None else own, peer_port)
        self._open.append(proxy)
        self._done(proxy._open())
        return proxy

    def _done(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result(PATIENCE_S)


async def _first(*passing: Awaitable[None]) -> None:
    """Wait until the first of them ends, and end the others."""
    tasks = [asyncio.ensure_future(each) for each in passing]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""A channel to one server, and the methods that are called on it.

A unary call on a channel that is ready costs its caller: a `UnaryCall`, which is the future that is
awaited; a `Stream`; the bytes of the framed request; a look at a remembered header block, and one
more where it has a timeout, and one for each pair of metadata. Its answer costs a slice of what was
read, two looks at remembered blocks, and the wake of the task that awaits it. There is no task and
no timer of its own, and the calls of one turn of the loop leave in one write.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import ssl
from collections.abc import AsyncIterable, Callable, Iterable
from contextlib import suppress
from enum import Enum
from typing import Any, Final
from weakref import WeakSet

from quorate.http2.frames import LARGEST_STREAM
from quorate.http2.grpc.call_errors import ChannelClosedError
from quorate.http2.grpc.client_call import Call, StreamCall, UnaryCall, Waiting
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.deadlines import Deadlines
from quorate.http2.grpc.link import ChannelLimits, Link, Target
from quorate.http2.grpc.messages import framed
from quorate.http2.grpc.metadata import Metadata
from quorate.http2.grpc.request_heads import RequestHeads

Serialize = Callable[[Any], bytes]
Parse = Callable[[bytes], Any]
Requests = Iterable[Any] | AsyncIterable[Any]

#: How pauses between attempts grow, and vary.
_GROWTH: Final = 1.6
_JITTER: Final = 0.2


#: The channels of this process, which a child cannot share.
_CHANNELS: Final[WeakSet[Channel]] = WeakSet()


def _leave_to_parent() -> None:
    for channel in _CHANNELS:
        channel.link, channel.forked = None, True


os.register_at_fork(after_in_child=_leave_to_parent)


class State(Enum):
    """The state of a channel, as in gRPC."""

    IDLE = "idle"
    CONNECTING = "connecting"
    READY = "ready"
    #: From a failed attempt to the next successful one.
    TRANSIENT_FAILURE = "transient failure"
    SHUTDOWN = "shutdown"


class Channel:
    """Calls the methods of one server, over one connection at a time.

    It belongs to the loop that runs when it is made, unless one is given, and to its process. It
    connects on first use, and retries until it is closed. `context` has to offer
    h2 by ALPN; its owner may change it, or replace it, for later connections.
    """

    def __init__(
        self,
        target: str,
        *,
        context: ssl.SSLContext | None = None,
        server_name: str = "",
        limits: ChannelLimits | None = None,
        user_agent: str = "quorate",
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.context = context
        self.limits: Final = limits or ChannelLimits()
        self.loop: Final = loop or asyncio.get_running_loop()
        #: The reason why it is not ready; empty: it has not failed since it was ready.
        self.why = ""
        #: The connection that accepts calls, if any.
        self.link: Link | None = None
        #: Calls waiting for a connection, in their order.
        self.waiting: Final[dict[Call, None]] = {}
        #: Whether it was made in another process than this.
        self.forked = False
        self._target: Final = Target(target, server_name)
        self.heads: Final = RequestHeads(
            "http" if context is None else "https", self._target.authority, user_agent
        )
        self.deadlines: Final = Deadlines(self.loop)
        self._state = State.IDLE
        self._links: Final[set[Link]] = set()
        self._connecting: asyncio.Task[None] | None = None
        #: The next attempt does not begin before.
        self._not_before = 0.0
        self._keepalive_s = self.limits.keepalive_s
        self._looks_again = False
        self._changed: Final[list[asyncio.Future[None]]] = []
        self._quiet: asyncio.Future[None] | None = None
        _CHANNELS.add(self)

    # --- its methods

    def unary_unary(
        self, path: str, serialize: Serialize | None = None, parse: Parse | None = None
    ) -> UnaryUnary:
        """Return the callable of a method with one request and one answer."""
        return UnaryUnary(self, path, serialize, parse)

    def unary_stream(
        self, path: str, serialize: Serialize | None = None, parse: Parse | None = None
    ) -> UnaryStream:
        """Return the callable of a method with one request and a stream of answers."""
        return UnaryStream(self, path, serialize, parse)

    def stream_unary(
        self, path: str, serialize: Serialize | None = None, parse: Parse | None = None
    ) -> StreamAny:
        """Return the callable of a method with a stream of requests and one answer."""
        return StreamAny(self, path, serialize, parse, answers_stream=False)

    def stream_stream(
        self, path: str, serialize: Serialize | None = None, parse: Parse | None = None
    ) -> StreamAny:
        """Return the callable of a method with streams both ways."""
        return StreamAny(self, path, serialize, parse, answers_stream=True)

    # --- its state

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._state is State.SHUTDOWN

    def get_state(self, try_to_connect: bool = False) -> State:
        """Return its state; with `try_to_connect` an idle channel connects."""
        if try_to_connect and self._state is State.IDLE:
            self._check_process()
            self._connect()
        return self._state

    async def wait_for_state_change(self, last: State) -> None:
        """Wait until the state is another; raises `ChannelClosedError` if it cannot change."""
        while self._state is last:
            if self.closed:
                raise ChannelClosedError
            changed = self.loop.create_future()
            self._changed.append(changed)
            await changed

    async def close(self, grace_s: float | None = None) -> None:
        """Accept no more calls, and end the open ones after `grace_s`."""
        if not self.closed:
            self._set(State.SHUTDOWN)
            self.link = None
            for call in list(self.waiting):
                call.fail(Code.CANCELLED, "the channel was closed", sent=False)
            if self._connecting is not None:
                self._connecting.cancel()
                await asyncio.wait((self._connecting,))
                # Its exception would keep the channel alive, and the channel the exception.
                self._connecting = None
        if grace_s:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    while any(link.busy for link in self._links):
                        if self._quiet is None or self._quiet.done():
                            self._quiet = self.loop.create_future()
                        await asyncio.wait((self._quiet,))
        links = list(self._links)
        for link in links:
            link.close("the channel was closed")
        if links:
            await asyncio.wait([link.gone for link in links])

    async def __aenter__(self) -> Channel:
        """Return the channel."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it, and end its calls."""
        await self.close()

    # --- as its calls see it

    def take(self, call: Call, waiting: Waiting) -> None:
        """Send a call as soon as a connection takes it; raises `ChannelClosedError`."""
        if self.closed:
            raise ChannelClosedError
        self._check_process()
        call.wait(waiting)
        if self._state is State.TRANSIENT_FAILURE and not waiting.patient:
            call.fail(Code.UNAVAILABLE, self.why, sent=False)
            return
        self.waiting[call] = None
        if self.link is not None:
            self._serve_waiting()
        elif self._state is State.IDLE:
            self._connect()

    def exhausted(self) -> None:
        """Begin another connection: the streams of this one have all their numbers."""
        link = self.link
        if link is not None:
            # The server has not failed: no pause is needed.
            self._not_before = 0.0
            self.left(link, "")
            link.leave()

    def look_again(self) -> None:
        """Give the stream of a call that ends to a waiting call, in the next turn of the loop."""
        if not self._looks_again and self.link is not None:
            self._looks_again = True
            self.loop.call_soon(self._serve_waiting)

    # --- as its connections see it

    def allowed(self) -> None:
        """Begin calls that wait."""
        self.look_again()

    def left(self, link: Link, why: str) -> None:
        """Begin no more calls on a connection."""
        if link is not self.link:
            return
        self.link, self.why = None, why
        self._set(State.IDLE)
        if self.waiting:
            self._connect()

    def ended(self, link: Link) -> None:
        """Forget a connection that is closed."""
        self._links.discard(link)
        self.quiet()

    def quiet(self) -> None:
        """Look whether calls are open once more."""
        if self._quiet is not None and not self._quiet.done():
            self._quiet.set_result(None)

    def pinged_too_often(self) -> None:
        """Ping half as often from now on."""
        if self._keepalive_s is not None:
            self._keepalive_s *= 2

    # --- its parts

    def _check_process(self) -> None:
        if self.forked:
            raise RuntimeError(
                "this channel was made in another process: its connection cannot be shared; make "
                "a channel after the fork"
            )

    def _set(self, state: State) -> None:
        if state is self._state:
            return
        self._state = state
        changed = self._changed[:]
        self._changed.clear()
        for each in changed:
            if not each.done():
                each.set_result(None)

    def _connect(self) -> None:
        self._set(State.CONNECTING)
        self._connecting = self.loop.create_task(self._try_until_ready())

    async def _try_until_ready(self) -> None:
        limits = self.limits
        pause = limits.first_pause_s
        while True:
            await asyncio.sleep(self._not_before - self.loop.time())
            self._not_before = self.loop.time() + pause * random.uniform(1 - _JITTER, 1 + _JITTER)
            link = Link(self, limits, self._keepalive_s, self.loop)
            self._links.add(link)
            why = await self._try(link)
            if not why:
                break
            self.why = why
            self._set(State.TRANSIENT_FAILURE)
            self._refuse_impatient(why)
            pause = min(limits.longest_pause_s, pause * _GROWTH)
        self.link, self.why, self._connecting = link, "", None
        self._set(State.READY)
        self._serve_waiting()

    def _refuse_impatient(self, why: str) -> None:
        for call in list(self.waiting):
            if not call.patient:
                call.fail(Code.UNAVAILABLE, why, sent=False)

    async def _try(self, link: Link) -> str:
        """Connect once, and return why it has failed; empty: it has not."""
        attempt_s = self.limits.attempt_s
        why = f"no connection in {attempt_s:g} s"
        try:
            async with asyncio.timeout(attempt_s) as bound:
                await link.connect(self._target, self.context)
        except asyncio.CancelledError:
            self._drop(link)
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, calls wait for another attempt
            if not bound.expired():
                why = _reason(error)
        else:
            # It may have ended in the turn of the loop in which it stood.
            why = link.why
        if why:
            self._drop(link)
        return why

    def _drop(self, link: Link) -> None:
        """Give a connection up that never took a call."""
        link.abort()
        if not link.begun:
            self._links.discard(link)

    def _serve_waiting(self) -> None:
        """Begin as many of the calls that wait as the server lets."""
        self._looks_again = False
        while self.waiting and (link := self.link) is not None:
            if len(link.connection.streams) >= link.connection.allowed_streams:
                return
            call = next(iter(self.waiting))
            del self.waiting[call]
            if call.go(link) == LARGEST_STREAM:
                self.exhausted()


def _reason(error: Exception) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, OSError) and not isinstance(error, (ssl.SSLError, socket.gaierror)):
        # `asyncio` says where a connection has failed, and only the number says how.
        meaning = os.strerror(error.errno) if error.errno else ""
        if meaning not in text:
            return f"{meaning}: {text}"
    return text


class _Method:
    """A method of the server's."""

    __slots__ = (
        "_block",
        "_channel",
        "_heads",
        "_loop",
        "_parse",
        "_serialize",
        "_timed",
        "_timeout",
    )

    def __init__(
        self, channel: Channel, path: str, serialize: Serialize | None, parse: Parse | None
    ) -> None:
        self._channel: Final = channel
        self._loop: Final = channel.loop
        self._heads: Final = channel.heads
        self._serialize: Final = serialize
        self._parse: Final = parse
        self._block: Final = channel.heads.of_path(path)
        #: The last timeout, and the block with it: most calls of a method have the same.
        self._timeout: float | None = None
        self._timed = b""

    def _begin(
        self,
        call: Call,
        request: bytes | None,
        timeout: float | None,
        metadata: Metadata | None,
        patient: bool,
    ) -> None:
        """Send the head of a call, and its one request if it has one; or let it wait.

        Raises `ChannelClosedError`, and `MetadataError`.
        """
        channel = self._channel
        fields = b"" if not metadata else self._heads.of_metadata(metadata)
        if timeout is None:
            block = self._block
        else:
            if timeout != self._timeout:
                if timeout <= 0:
                    call.fail(Code.DEADLINE_EXCEEDED, "the deadline had passed before", sent=False)
                    return
                self._timed = self._block + self._heads.of_timeout(timeout)
                self._timeout = timeout
            block = self._timed
            call.watch(self._loop.time() + timeout)
        link = channel.link
        if (
            link is None
            or channel.waiting
            or len(link.connection.streams) >= link.connection.allowed_streams
        ):
            try:
                channel.take(call, Waiting(self._block, fields, request, patient))
            except BaseException:
                call.cancel()
                raise
            return
        number = call.send(link, block + fields, request)
        if number == LARGEST_STREAM:
            channel.exhausted()


class UnaryUnary(_Method):
    """A method with one request and one answer."""

    __slots__ = ()

    def __call__(
        self,
        request: Any,
        *,
        timeout: float | None = None,
        metadata: Metadata | None = None,
        wait_for_ready: bool = False,
    ) -> UnaryCall:
        """Call it; the answer is awaited."""
        serialize = self._serialize
        content = framed(request if serialize is None else serialize(request))
        call = UnaryCall(self._channel, self._loop, self._parse)
        self._begin(call, content, timeout, metadata, wait_for_ready)
        return call


class UnaryStream(_Method):
    """A method with one request and a stream of answers."""

    __slots__ = ()

    def __call__(
        self,
        request: Any,
        *,
        timeout: float | None = None,
        metadata: Metadata | None = None,
        wait_for_ready: bool = False,
    ) -> StreamCall:
        """Call it; the answers are read, or iterated over."""
        serialize = self._serialize
        content = framed(request if serialize is None else serialize(request))
        call = StreamCall(self._channel, self._loop, None, self._parse, answers_stream=True)
        self._begin(call, content, timeout, metadata, wait_for_ready)
        return call


class StreamAny(_Method):
    """A method with a stream of requests, and one answer or a stream of them."""

    __slots__ = ("_answers_stream",)

    def __init__(
        self,
        channel: Channel,
        path: str,
        serialize: Serialize | None,
        parse: Parse | None,
        *,
        answers_stream: bool,
    ) -> None:
        super().__init__(channel, path, serialize, parse)
        self._answers_stream: Final = answers_stream

    def __call__(
        self,
        requests: Requests | None = None,
        *,
        timeout: float | None = None,
        metadata: Metadata | None = None,
        wait_for_ready: bool = False,
    ) -> StreamCall:
        """Call it; requests come from the iterable given here, or are written to the call."""
        call = StreamCall(
            self._channel,
            self._loop,
            self._serialize,
            self._parse,
            answers_stream=self._answers_stream,
        )
        self._begin(call, None, timeout, metadata, wait_for_ready)
        if requests is not None:
            call.pump(requests)
        return call

"""Connections to nodes: one for each address, made when it is first needed, and reused."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from google.protobuf.message import Message

from quorate.client import failures
from quorate.client.errors import ClosedError, InvalidError
from quorate.client.tls import Files, Tls, why_refused
from quorate.client.tokens import BearerToken
from quorate.http2.grpc.call_errors import CallError, ChannelClosedError
from quorate.http2.grpc.channel import Channel, State, UnaryUnary
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.link import ChannelLimits
from quorate.observe.requests import SPAN_KEY
from quorate.plugin.splicing import encoded
from quorate.v1.admin_pb2 import TopologyRequest, TopologyResponse

if TYPE_CHECKING:
    from quorate.observe.traces import Traces

R = TypeVar("R", bound=Message)

#: What a node takes by default, and what stands around it.
_MESSAGE_BYTES: Final = 17 << 20
#: How long a node may take to accept a connection.
CONNECT_S: Final = 1.0
_LIMITS: Final = ChannelLimits(
    message_bytes=_MESSAGE_BYTES,
    attempt_s=CONNECT_S,
    first_pause_s=0.05,
    longest_pause_s=1.0,
    # A node that stands still is noticed while a call waits for it.
    keepalive_s=2.0,
    keepalive_timeout_s=3.0,
)

_FAILED: Final = frozenset({State.TRANSIENT_FAILURE, State.SHUTDOWN})

_REFUSED: Final = "the connection was refused"
_TOPOLOGY: Final = "/quorate.v1.AdminService/Topology"
#: How long a busy node may take to say which cluster it belongs to.
_PATIENCE_S: Final = 10.0


@dataclass(slots=True, eq=False)
class Pin:
    """The cluster that a client met first: it talks to no other one."""

    #: Its id; empty before the first topology.
    cluster: bytes = b""


class Connection:
    """The way to one node."""

    def __init__(
        self,
        address: str,
        context: ssl.SSLContext | None = None,
        token: BearerToken | None = None,
        traces: Traces | None = None,
        pin: Pin | None = None,
    ) -> None:
        self._token: Final = token
        self._traces: Final = traces
        self._pin: Final = pin or Pin()
        #: The cluster that the other end was last found to belong to, until it may be another node.
        self._found = b""
        self._checking: asyncio.Task[bytes] | None = None
        self.address: Final = address
        self.context: Final = context
        self._channel: Final = Channel(address, context=context, limits=_LIMITS)
        #: The methods that were called, by their paths and the types of their answers.
        self._methods: Final[dict[tuple[str, type[Message]], UnaryUnary]] = {}
        self._closed = False

    @property
    def failed(self) -> bool:
        """Whether the node could not be reached at the last attempt."""
        return not self._closed and self._channel.get_state() in _FAILED

    async def call(
        self,
        method: str,
        request: Message,
        response: type[R],
        timeout_s: float,
        span: str | None = "",
    ) -> R:
        """Ask once; raises `AttemptError`, which says whether anything can have been done.

        `span` is the name of the span that it is part of, if any; None: the caller's.
        """
        # Most calls find it so: they need no coroutine to wait with.
        if self._closed or self._channel.get_state() is not State.READY or not self._is_pinned:
            timeout_s = await self.stands(timeout_s)
        calling = self._methods.get((method, response))
        if calling is None:
            calling = self._channel.unary_unary(method, encoded, response.FromString)
            self._methods[method, response] = calling
        try:
            answer: R = await calling(request, timeout=timeout_s, metadata=self._metadata(span))
        except CallError as error:
            raise self._failed(error) from None
        except ChannelClosedError:
            raise ClosedError from None
        return answer

    async def stream(
        self,
        method: str,
        request: Message,
        response: type[R],
        timeout_s: float | None,
        span: str | None = "",
    ) -> AsyncGenerator[R, None]:
        """Call once, and yield the answers; raises `AttemptError`."""
        await self.stands(CONNECT_S if timeout_s is None else timeout_s)
        calling = self._channel.unary_stream(method, encoded, response.FromString)
        try:
            answers = calling(request, timeout=timeout_s, metadata=self._metadata(span))
            try:
                async for answer in answers:
                    yield answer
            finally:
                answers.cancel()
        except CallError as error:
            raise self._failed(error) from None
        except ChannelClosedError:
            raise ClosedError from None

    def _metadata(self, span: str | None) -> tuple[tuple[str, str], ...] | None:
        if span is None and self._traces is not None:
            span = self._traces.here()
        own = None if self._token is None else self._token.metadata()
        return (*(own or ()), (SPAN_KEY, span)) if span else own

    async def close(self) -> None:
        """End it, and every call on it."""
        self._closed = True
        await self._channel.close(None)

    async def stands(self, timeout_s: float) -> float:
        """Wait until the node is connected, and return the time left.

        Raises `AttemptError` if the node is unreachable, or belongs to another cluster than the
        client's: nothing was sent.
        """
        if self._closed:
            raise ClosedError
        state = self._channel.get_state(try_to_connect=True)
        if state is State.READY:
            return timeout_s if self._is_pinned else await self._check(timeout_s)
        self._found = b""
        if state in _FAILED:
            # The channel reconnects after a while; do not wait for that here.
            raise failures.unreachable(self.address, self._why())
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            async with asyncio.timeout(min(timeout_s, CONNECT_S)):
                while state is not State.READY:
                    await self._channel.wait_for_state_change(state)
                    state = self._channel.get_state(try_to_connect=True)
                    if state in _FAILED:
                        raise failures.unreachable(self.address, self._why())
        except TimeoutError:
            raise failures.unreachable(self.address, "no connection in time") from None
        except ChannelClosedError:
            raise ClosedError from None
        return await self._check(timeout_s - (loop.time() - begun))

    @property
    def _is_pinned(self) -> bool:
        """Whether it is known to lead to the cluster that was met first."""
        return self._found == self._pin.cluster

    async def _check(self, timeout_s: float) -> float:
        """Raise `AttemptError` if another cluster answers; return the time left.

        Concurrent calls on the same connection share the check.
        """
        if self._pin.cluster in (b"", self._found):
            return timeout_s
        loop = asyncio.get_running_loop()
        begun = loop.time()
        if self._checking is None or self._checking.done():
            self._checking = loop.create_task(self._find(self._pin.cluster))
        try:
            async with asyncio.timeout(min(timeout_s, CONNECT_S)):
                there = await asyncio.shield(self._checking)
        except TimeoutError:
            raise failures.unreachable(self.address, "no answer in time") from None
        if there not in (b"", self._pin.cluster):
            raise failures.other_cluster(self.address, self._pin.cluster, there)
        return timeout_s - (loop.time() - begun)

    async def _find(self, met: bytes) -> bytes:
        """Return the cluster that the other end belongs to; empty where it does not say.

        One that refuses the caller, or has no cluster yet, says so in its answer to the call.
        """
        asking = self._channel.unary_unary(
            _TOPOLOGY, TopologyRequest.SerializeToString, TopologyResponse.FromString
        )
        try:
            answer: TopologyResponse = await asking(
                TopologyRequest(), timeout=_PATIENCE_S, metadata=self._metadata("")
            )
        except (CallError, ChannelClosedError):
            return b""
        if answer.cluster_id == met:
            self._found = met
        return answer.cluster_id

    def _why(self) -> str:
        if self._closed:
            raise ClosedError
        return _REFUSED if self.context is None else why_refused(self._channel.why)

    def _failed(self, error: CallError) -> BaseException:
        if self._closed:
            return ClosedError()
        if error.code() is Code.UNAVAILABLE:
            # Another node may listen there by now.
            self._found = b""
        return failures.of_call(self.address, error)


@dataclass(eq=False)
class Connections:
    """Every connection of a client."""

    _tls: Tls | None = None
    _token: BearerToken | None = None
    #: Where spans of calls come from; None: there are none.
    traces: Traces | None = None
    #: Shared by all of them.
    pin: Pin = field(default_factory=Pin, init=False)
    #: The last ones that could be used.
    _context: ssl.SSLContext | None = field(default=None, init=False)
    _files: Files | None = field(default=None, init=False)
    _known: dict[str, Connection] = field(default_factory=dict, init=False)
    _closed: bool = field(default=False, init=False)

    def to(self, address: str) -> Connection:
        """Return the connection to an address."""
        known = self._known.get(address)
        if known is not None and not (self._tls is not None and known.failed):
            return known
        if self._closed:
            raise ClosedError
        context = self._newest_context()
        if known is None or known.context is not context:
            # One that has failed is closed with the last call that waits on it.
            known = self._known[address] = Connection(
                address, context, self._token, self.traces, self.pin
            )
        return known

    def _newest_context(self) -> ssl.SSLContext | None:
        """Return the TLS context of the files; while they are being replaced, the previous one."""
        if self._tls is not None:
            try:
                files = self._tls.files()
                if files != self._files:
                    self._context, self._files = self._tls.context(), files
            except InvalidError:
                if self._context is None:
                    raise
        return self._context

    async def close(self) -> None:
        """End all of them."""
        self._closed = True
        known = list(self._known.values())
        self._known.clear()
        await asyncio.gather(*(each.close() for each in known))

"""Limits what clients hold of a node at a time, each no more than it leaves for others.

A caller is the identity that it has proved, or else the address that it calls from. Other nodes
are not limited. Without settings a call costs the check of a flag.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final

import grpc.aio

from quorate.config.files import open_files
from quorate.config.sections import LimitsSection
from quorate.http2.grpc.server_call import ServerCall
from quorate.plugin.access import Authority, Open
from quorate.rpc import callers
from quorate.rpc.connections import Connections, address_of
from quorate.rpc.methods import Behaviour, Context, fail
from quorate.shards.refusals import ExhaustedError, SlowReaderError
from quorate.shards.routing.quotas import (
    CALLS,
    IDENTITY,
    TENANT,
    Account,
    Quotas,
    Subject,
    subject_of,
)
from quorate.shards.shard.capacity import FairShare
from quorate.shards.timing import end, every

WATCH: Final = "/quorate.v1.WatchService/Watch"
#: The interval between two checks for idle connections and unread answers.
LOOK_S: Final = 1.0
#: Time for a write to a client that has more bytes in flight than it leaves for others.
_CROWDED_S: Final = 1.0
#: Number of callers waiting for room that are woken at a time.
_WOKEN: Final = 16
#: Smaller requests and answers are bounded by the number of calls alone: most calls have them.
_SMALL_BYTES: Final = 1 << 10
#: Time for the status of a call to a client that reads nothing.
_LAST_S: Final = 1.0


@dataclass(eq=False, slots=True)
class _Held:
    """The shares that a call holds, and the time at which sending of its answer began."""

    who: str
    #: Each share with the amount held.
    shares: list[tuple[FairShare, int]] = field(default_factory=list)
    sent_from: float = 0.0
    #: Ends the call if its answer is not read; None: called already.
    break_off: Callable[[], object] | None = None
    #: The accounts that a watch counts for.
    watchers: Sequence[Account] = ()

    def take(self, share: FairShare, amount: int = 1) -> None:
        """Hold more; raises `ExhaustedError`."""
        share.take(self.who, amount)
        self.shares.append((share, amount))

    def charge(self, share: FairShare, amount: int) -> None:
        """Hold more, whether or not there is any."""
        share.charge(self.who, amount)
        self.shares.append((share, amount))

    def release(self) -> None:
        """Give everything back."""
        for share, amount in self.shares:
            share.give(self.who, amount)
        for account in self.watchers:
            account.watches -= 1


class CallLimits:
    """Limits the calls of methods, except methods of the services in `exempt`.

    It wraps a method within the layer that identifies the caller.
    """

    def __init__(
        self,
        limits: LimitsSection,
        exempt: Collection[str],
        loop: asyncio.AbstractEventLoop,
        quotas: Quotas | None = None,
        authority: Authority | None = None,
    ) -> None:
        self.quotas: Final = quotas or Quotas(loop.time)
        self._authority: Final = authority or Open()
        self._exempt: Final = frozenset(exempt)
        self._loop: Final = loop
        self._slow_s: Final = limits.slow_reader_s or None
        bounds = {
            "connections": ("connections", limits.most_connections(open_files())),
            "open_calls": ("open calls", limits.open_calls),
            "open_watches": ("open watches", limits.open_watches),
            "open_views": ("open views", limits.open_views),
            "inflight_bytes": ("bytes in flight", limits.most_inflight_bytes()),
        }
        #: By the name of the setting.
        self.shares: Final = {
            name: FairShare(what, most, f"limits.{name}")
            for name, (what, most) in bounds.items()
            if most
        }
        self._calls: Final = self.shares.get("open_calls")
        self._watches: Final = self.shares.get("open_watches")
        self._bytes: Final = self.shares.get("inflight_bytes")
        self._room: Final = None if self._bytes is None else Room(self._bytes, loop)
        #: Of views, which outlast the calls that open them.
        self.views: Final = self.shares.get("open_views")
        self.connections: Final = Connections(
            self.shares.get("connections"),
            limits.idle_connection_s,
            loop,
            self._bytes,
            self._slow_s,
        )
        #: Whether a setting bounds anything; quotas may do so besides.
        self.bounded: Final = bool(self.shares) or self.connections.on or self._slow_s is not None
        #: Calls that were ended because their clients read nothing.
        self.slow_readers = 0
        #: The methods with a single answer: their calls hold their shares until it has been sent.
        self._answer_once: frozenset[str] = frozenset()
        #: The calls with an answer being sent, by their tasks or the calls themselves.
        self._sent: Final[dict[object, _Held]] = {}
        self._looking: asyncio.Task[None] | None = None

    def start(self, answer_once: Collection[str] = ()) -> None:
        """Start the periodic checks; `answer_once` are the methods with one answer."""
        self._answer_once = frozenset(answer_once)
        self.connections.start()
        if self._slow_s is not None:
            look = every(self._loop, LOOK_S, self._end_unread, "looking at answers failed")
            self._looking = self._loop.create_task(look)

    async def stop(self) -> None:
        """Stop the periodic checks."""
        await self.connections.stop()
        await end(self._looking)

    def around(self, path: str, serve: Behaviour) -> Behaviour:
        """Refuse calls of a method that would hold too much."""
        if path.split("/")[1] in self._exempt:
            return serve

        def served(request: Any, context: Context) -> Any:
            if self.bounded or self.quotas.on:
                return self._serve(path, serve, request, context)
            return serve(request, context)

        return served

    def trust(self, context: Context) -> None:
        """Exempt the connection of a call by a node of the cluster."""
        if self.connections.on:
            self.connections.trust(context.peer())

    def _ended(self, sent_by: object) -> None:
        """Release the shares of a call after its answer was sent."""
        if (held := self._sent.pop(sent_by, None)) is not None:
            held.release()

    async def _serve(self, path: str, serve: Behaviour, request: Any, context: Context) -> Any:
        made_by = callers.caller()
        if made_by.node:
            return await serve(request, context)
        peer = context.peer()
        connection = self.connections.called(peer)
        made_by = connection.placed(made_by)
        callers.begin(made_by)
        held = _Held(made_by.name or made_by.address)
        try:
            if self.quotas.on and (accounts := self._accounts(subject_of(made_by))):
                self._charge(held, accounts, path, peer)
            self._enter(held, path, request)
        except ExhaustedError as refusal:
            self.connections.left(connection)
            held.release()
            return await fail(path, refusal, context)
        once = path in self._answer_once
        if not once and (self._bytes is not None or self._slow_s is not None):
            context = _BoundedContext(context, held.who, self._room, self._slow_s, self._count_slow)
        answer: Any = None
        try:
            answer = await serve(request, context)
            return answer
        finally:
            self.connections.left(connection)
            if once and answer is not None:
                self._sends(held, answer, context)
            else:
                held.release()

    def _accounts(self, caller: Subject) -> list[Account]:
        """Return the accounts that a call counts for: its caller's, and its caller's tenant's."""
        subjects = [caller]
        if caller.kind == IDENTITY and (tenant := self._authority.rights(caller.name).tenant):
            subjects.append(Subject(TENANT, tenant))
        found = map(self.quotas.account, subjects)
        return [each for each in found if each is not None]

    def _charge(self, held: _Held, accounts: Sequence[Account], path: str, peer: str) -> None:
        """Count a call for the quotas of its caller; raises `ExhaustedError`."""
        now = self._loop.time()
        for account in accounts:
            account.check_rate(CALLS, now)
        counted = self.quotas.counts_connections and peer in self.connections
        for account in accounts:
            if counted and account.connect(peer):
                self.connections.on_close(peer, account.peers.discard)
            if path == WATCH:
                account.open_watch()
                held.watchers = (*held.watchers, account)
        for account in accounts:
            account.take(CALLS, 1, now)

    def _enter(self, held: _Held, path: str, request: Any) -> None:
        """Take the shares that a call needs; raises `ExhaustedError`."""
        if self._calls is not None:
            held.take(self._calls)
        if self._watches is not None and path == WATCH:
            held.take(self._watches)
        share = self._bytes
        if share is not None and isinstance(request, bytes):
            size = len(request)
            # Its answer may be large: so a small request counts, too, under load.
            if size > _SMALL_BYTES or share.total > share.most // 4:
                held.take(share, max(1, size))

    def _sends(self, held: _Held, answer: Any, context: Context) -> None:
        if self._bytes is not None and (size := _size(answer)) > _SMALL_BYTES:
            held.charge(self._bytes, size)
        held.sent_from = self._loop.time()
        if isinstance(context, ServerCall):
            held.break_off = context.reset
            self._sent[context] = held
            context.when_ended(partial(self._ended, context))
            return
        task = asyncio.current_task()
        assert task is not None
        held.break_off = task.cancel
        self._sent[task] = held
        # grpcio sends the answer in the task of the call.
        task.add_done_callback(self._ended)

    def _end_unread(self) -> None:
        assert self._slow_s is not None
        full = self._bytes is not None and self._bytes.total >= self._bytes.most
        latest = self._loop.time() - (min(_CROWDED_S, self._slow_s) if full else self._slow_s)
        for held in [each for each in self._sent.values() if each.sent_from < latest]:
            if (break_off := held.break_off) is not None:
                held.break_off = None
                self._count_slow()
                break_off()

    def _count_slow(self) -> None:
        self.slow_readers += 1


class Room:
    """The bytes of answers being sent, and the callers waiting for more of them."""

    def __init__(self, share: FairShare, loop: asyncio.AbstractEventLoop) -> None:
        self.share: Final = share
        self._loop: Final = loop
        #: The first one has waited longest.
        self._waiting: Final[dict[asyncio.Future[None], str]] = {}

    def has(self, who: str, more: int = 0) -> bool:
        """Whether a caller leaves as much for others as it has, and there is any."""
        free = self.share.most - self.share.total - more
        return free > 0 and self.share.held.get(who, 0) + more <= free

    async def wait(self, who: str, within_s: float | None) -> None:
        """Return once there is room for a caller; raises `TimeoutError`."""
        async with asyncio.timeout(within_s):
            while not self.has(who):
                waiter: asyncio.Future[None] = self._loop.create_future()
                self._waiting[waiter] = who
                try:
                    # A woken caller may have had nothing to send, and wakes no other.
                    await asyncio.wait([waiter], timeout=LOOK_S)
                finally:
                    del self._waiting[waiter]

    def give(self, who: str, amount: int) -> None:
        """Release sent bytes, and wake the callers that have waited longest."""
        self.share.give(who, amount)
        found = (each for each, of in self._waiting.items() if not each.done() and self.has(of))
        for waiter in islice(found, _WOKEN):
            waiter.set_result(None)


@dataclass(eq=False, slots=True)
class _BoundedContext:
    """The context of a call that bounds the time for the client to take each message.

    Messages being written count for the bytes in flight. A client that has more of them than it
    leaves for others has to be quick. A method that reads a lot at once awaits `room` before it
    does.
    """

    _context: Context
    _who: str
    _room: Room | None
    _slow_s: float | None
    _slow: Callable[[], None]
    _ended: bool = False
    _waits: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def room(self) -> Awaitable[None] | None:
        """Return an awaitable for room for the caller; None: there is room."""
        self._waits = True
        if self._room is None or self._room.has(self._who):
            return None
        return self._has_room(self._room)

    async def _has_room(self, room: Room) -> None:
        try:
            await room.wait(self._who, self._slow_s)
        except TimeoutError:
            self._ended = True
            raise SlowReaderError(
                f"clients of {self._who} did not read the answers sent to them: there is no room "
                "for more (limits.inflight_bytes): read faster, or ask for less"
            ) from None

    async def write(self, message: Any) -> None:
        """Write a message; raises `SlowReaderError`."""
        room, within_s, size = self._room, self._slow_s, 0
        if room is not None:
            size, share = _size(message), room.share
            if not room.has(self._who, size):
                fits = self._waits or share.total + size < share.most
                crowded_s = _CROWDED_S if fits else 0.0
                within_s = crowded_s if within_s is None else min(within_s, crowded_s)
            share.charge(self._who, size)
        call = self._context
        try:
            if isinstance(call, ServerCall):
                call.put(message)
                # Most are taken at once: those need no timer.
                if not call.is_full:
                    return
                waiting = call.drained()
            else:
                waiting = call.write(message)
            async with asyncio.timeout(within_s):
                await waiting
        except TimeoutError:
            self._ended = True
            self._slow()
            raise SlowReaderError(
                f"the client did not read {size or 'some'} bytes in {within_s:g} s, as "
                "limits.slow_reader_s and limits.inflight_bytes require: read faster, or ask for "
                "less"
            ) from None
        finally:
            if room is not None:
                room.give(self._who, size)

    async def abort(self, code: Any, details: str = "", trailing_metadata: Any = ()) -> None:
        """End the call; reset it if its client, which reads nothing, does not take the status."""
        try:
            async with asyncio.timeout(_LAST_S if self._ended else None):
                await self._context.abort(code, details, trailing_metadata)
        except (TimeoutError, grpc.aio.InternalError):
            # The client does not take the status either, or has gone.
            raise asyncio.CancelledError from None


def caller_in(context: Context) -> str:
    """Return the name of a caller: its identity, or else its address."""
    return callers.caller().name or address_of(context.peer())


def _size(message: Any) -> int:
    return len(message) if isinstance(message, bytes) else message.ByteSize()

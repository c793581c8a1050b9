"""What the clients of a node may hold of it at a time, each no more than is left for others.

A caller is the identity that it has proved, or else the address that it calls from. Other nodes are
not bounded. Without settings a call pays for the look at a flag.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

import grpc.aio

from quorate.config.files import open_files
from quorate.config.sections import LimitsSection
from quorate.groups.refusals import ExhaustedError, SlowReaderError
from quorate.groups.routing.quotas import (
    CALLS,
    IDENTITY,
    TENANT,
    Account,
    Quotas,
    Subject,
    subject_of,
)
from quorate.groups.shard.capacity import FairShare
from quorate.groups.timing import end, every
from quorate.http2.grpc.server_call import ServerCall
from quorate.plugin.access import Authority, Open
from quorate.rpc import callers
from quorate.rpc.connections import Connections, address_of
from quorate.rpc.methods import Behaviour, Context, fail

WATCH: Final = "/quorate.v1.WatchService/Watch"
#: How often connections and answers that are not read are looked at.
LOOK_S: Final = 1.0
#: How long a write may take to a client that has more bytes in flight than it leaves for others.
_CROWDED_S: Final = 1.0
#: How many of those who wait for room are woken at a time.
_WOKEN: Final = 16
#: A smaller request or answer is bounded by the calls alone: most calls have such ones.
_SMALL_BYTES: Final = 1 << 10
#: How long the status of a call may take to its client that reads nothing.
_LAST_S: Final = 1.0


class _Held:
    """What a call holds, and since when its answer is being sent."""

    __slots__ = ("break_off", "sent_from", "shares", "watchers", "who")

    def __init__(self, who: str) -> None:
        self.who: Final = who
        #: In turn a share and how much of it.
        self.shares: list[tuple[FairShare, int]] = []
        self.sent_from = 0.0
        #: Ends the call whose answer is not read; None: it was called.
        self.break_off: Callable[[], object] | None = None
        #: Whose quotas a watch counts for.
        self.watchers: Sequence[Account] = ()

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
    """Bounds what it is put around; the methods of the services of `exempt` never are.

    It stands within what finds out who calls.
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
        self._calls: Final = _share("open calls", limits.open_calls, "open_calls")
        self._watches: Final = _share("open watches", limits.open_watches, "open_watches")
        self._bytes: Final = _share(
            "bytes in flight", limits.most_inflight_bytes(), "inflight_bytes"
        )
        self._room: Final = None if self._bytes is None else Room(self._bytes, loop)
        #: Of views, which outlast the calls that open them.
        self.views: Final = _share("open views", limits.open_views, "open_views")
        most = limits.most_connections(open_files())
        connections = _share("connections", most, "connections")
        self.connections: Final = Connections(
            connections, limits.idle_connection_s, loop, self._bytes, self._slow_s
        )
        #: By the name of the setting.
        self.shares: Final = {
            name: share
            for name, share in (
                ("connections", connections),
                ("open_calls", self._calls),
                ("open_watches", self._watches),
                ("open_views", self.views),
                ("inflight_bytes", self._bytes),
            )
            if share is not None
        }
        #: Whether a setting bounds anything; quotas may do so besides.
        self.bounded: Final = bool(self.shares) or self.connections.on or self._slow_s is not None
        #: Calls that were ended because their clients read nothing.
        self.slow_readers = 0
        #: The methods that answer once: their calls hold what they do until that has left.
        self._answer_once: frozenset[str] = frozenset()
        #: The calls whose answers are being sent, by the tasks or the calls themselves.
        self._sent: Final[dict[object, _Held]] = {}
        self._looking: asyncio.Task[None] | None = None

    def start(self, answer_once: Collection[str] = ()) -> None:
        """Look at what goes on from now on; `answer_once` are the methods with one answer."""
        self._answer_once = frozenset(answer_once)
        self.connections.start()
        if self._slow_s is not None:
            look = every(self._loop, LOOK_S, self._end_unread, "looking at answers failed")
            self._looking = self._loop.create_task(look)

    async def stop(self) -> None:
        """Look no more."""
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
        """Leave the connection alone on which a node of the cluster calls."""
        if self.connections.on:
            self.connections.trust(context.peer())

    def _ended(self, sent_by: object) -> None:
        """Take back what a call held whose answer was sent."""
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
        """Hold what a call takes of the node; raises `ExhaustedError`."""
        if self._calls is not None:
            held.take(self._calls)
        if self._watches is not None and path == WATCH:
            held.take(self._watches)
        share = self._bytes
        if share is not None and isinstance(request, bytes):
            size = len(request)
            # Its answer may be large: so a small one counts, too, once much is under way.
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
    """Bytes of answers that are being sent, and those who wait until they may have more."""

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
                    # One that was woken may have had nothing to send, and wakes nobody.
                    await asyncio.wait([waiter], timeout=LOOK_S)
                finally:
                    del self._waiting[waiter]

    def give(self, who: str, amount: int) -> None:
        """Take back what was sent, and wake those who have waited longest."""
        self.share.give(who, amount)
        found = (each for each, of in self._waiting.items() if not each.done() and self.has(of))
        for waiter in islice(found, _WOKEN):
            waiter.set_result(None)


class _BoundedContext:
    """The context of a call whose client has to take what is written.

    What is being written counts for the bytes in flight. A client that has more of them than it
    leaves for others has to be quick. What reads a lot at once waits for `room` before it does.
    """

    def __init__(
        self,
        context: Context,
        who: str,
        room: Room | None,
        slow_s: float | None,
        slow: Callable[[], None],
    ) -> None:
        self._context: Final = context
        self._who: Final = who
        self._room: Final = room
        self._slow_s: Final = slow_s
        self._slow: Final = slow
        self._ended = False
        self._waits = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def room(self) -> Awaitable[None] | None:
        """Return what ends once there is room for its caller; None: there is."""
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
                f"clients of {self._who} did not take what was sent to them, and there is no room "
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
        try:
            async with asyncio.timeout(within_s):
                await self._context.write(message)
        except TimeoutError:
            self._ended = True
            self._slow()
            raise SlowReaderError(
                f"the client did not take {size or 'some'} bytes in {within_s:g} s, which is what "
                "limits.slow_reader_s and limits.inflight_bytes leave it: read faster, or ask for "
                "less"
            ) from None
        finally:
            if room is not None:
                room.give(self._who, size)

    async def abort(self, code: Any, details: str = "", trailing_metadata: Any = ()) -> None:
        """End the call; one whose client reads nothing is reset when it does not take this."""
        try:
            async with asyncio.timeout(_LAST_S if self._ended else None):
                await self._context.abort(code, details, trailing_metadata)
        except (TimeoutError, grpc.aio.InternalError):
            # The client does not take the status either, or has gone.
            raise asyncio.CancelledError from None


def caller_in(context: Context) -> str:
    """Return who makes a call: the identity of the caller, or else its address."""
    return callers.caller().name or address_of(context.peer())


def _size(message: Any) -> int:
    return len(message) if isinstance(message, bytes) else message.ByteSize()


def _share(what: str, most: int, setting: str) -> FairShare | None:
    return FairShare(what, most, f"limits.{setting}") if most else None

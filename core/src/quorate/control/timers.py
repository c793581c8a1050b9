"""Finds due deadlines in the shards that this node leads, and proposes their commands."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Final

from google.protobuf.message import Message

from quorate.control.failures import Backoff, level_of, sentence_of
from quorate.plugin import Rejected, ShardRef, Timer
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import Background, end, every

_log = logging.getLogger(__name__)

#: Interval of the check for due deadlines, which is their precision.
TICK_S: Final = 0.1
#: Maximum interval between checks of a shard at rest; a shard with an earlier deadline is checked
#: in time for it.
REST_S: Final = 1.0
#: Maximum number of batches of keys to skip at a time because they cannot be proposed yet.
_BATCHES_READ: Final = 10
#: Interval of the check while keys wait for their grace.
_RECHECK_MS: Final = 1_000
#: Delay before a key whose handler left its deadline is proposed again.
_UNMOVED_S: Final = 30.0
#: Turns of the loop until calls that are ready now have been proposed.
_TURNS: Final = 3

#: Replicates a command, which is refused unless this node leads the shard in that term.
Propose = Callable[[Message, ShardRef], Awaitable[object]]


async def waiting_calls_first() -> None:
    """Let the loop process what is ready."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class Timers(Background):
    """Proposes `due(keys)` for every timer of every shard that this node leads.

    `shards` returns those that lead, the same object until any of that changes. Each timer of a
    shard has one batch in flight, and all ends with the term. `calls_first` returns once the calls
    that have arrived are proposed, so that a renewal among them precedes the command in the log.
    """

    def __init__(
        self,
        timers: Iterable[Timer],
        shards: Callable[[], Iterable[Shard]],
        propose: Propose,
        *,
        loop: asyncio.AbstractEventLoop,
        calls_first: Callable[[], Awaitable[None]] = waiting_calls_first,
    ) -> None:
        super().__init__(loop)
        self._timers: Final = tuple(timers)
        self._shards: Final = shards
        self._propose: Final = propose
        self._calls_first: Final = calls_first
        self._seen: Iterable[Shard] | None = None
        self._led: dict[ShardId, Shard] = {}
        self._terms: Final[dict[ShardId, _Term]] = {}

    async def stop(self) -> None:
        """Stop."""
        tasks = [task for term in self._terms.values() for task in term.tasks()]
        self._terms.clear()
        await end(self._task, *tasks)

    async def _run(self) -> None:
        await every(self._loop, TICK_S, self._look, "cannot look for due deadlines; trying again")

    def next_s(self) -> Mapping[str, float]:
        """Return in how many seconds each timer's next deadline in the shards led here is due.

        The number is negative for a deadline that is overdue.
        """
        found: dict[str, float] = {}
        for term in self._terms.values():
            for timer, wait_s in term.next_s():
                found[timer] = min(wait_s, found.get(timer, wait_s))
        return found

    def _look(self) -> None:
        if (shards := self._shards()) is not self._seen:
            self._follow(shards)
        for name, shard in self._led.items():
            try:
                term = self._terms.get(name)
                if term is None:
                    timers = [each for each in self._timers if each.group == name.group]
                    term = _Term(shard, timers, self._propose, self._loop, self._calls_first)
                    self._terms[name] = term
                if not term.rests():
                    term.look()
            except Exception:  # noqa: BLE001 - the deadlines of the other shards go on
                _log.exception("cannot read the deadlines of shard %s", name)

    def _follow(self, shards: Iterable[Shard]) -> None:
        """Cancel the tasks of shards that are no longer led, or led in another term."""
        groups = {each.group for each in self._timers}
        led = {shard.id: shard for shard in shards if shard.leads and shard.id.group in groups}
        for name in [*self._terms]:
            if name not in led or led[name].term != self._terms[name].ref.term:
                for task in self._terms.pop(name).tasks():
                    task.cancel()
        self._seen, self._led = shards, led


class Grace:
    """Tracks stalls in which a leader may have missed renewals, in the shard's logical time.

    Logical time shows every kind of stall: of the process, the machine, and a jump of its clock.
    """

    def __init__(self, led_since_ms: int) -> None:
        self._led_since_ms: Final = led_since_ms
        self._looked_at_ms = led_since_ms
        #: The length and the end of each stall; later ones are shorter.
        self._stalls: list[tuple[int, int]] = []

    def look(self, now_ms: int, expected_ms: int) -> None:
        """Record that the loop is running; a gap of more than `expected_ms` is a stall."""
        gap_ms = now_ms - self._looked_at_ms - expected_ms
        self._looked_at_ms = now_ms
        # A stall affects times to live up to four times its length, while they last.
        self._stalls = [
            (length_ms, ended_ms)
            for length_ms, ended_ms in self._stalls
            if length_ms > gap_ms and now_ms - ended_ms < 4 * length_ms
        ]
        if gap_ms > 0:
            self._stalls.append((gap_ms, now_ms))

    def ripe_at_ms(self, at_ms: int, ttl_ms: int) -> int:
        """Return when a deadline counts: a full time to live after the last long stall."""
        since_ms = self._led_since_ms
        for length_ms, ended_ms in self._stalls:
            if 4 * length_ms > ttl_ms:
                since_ms = ended_ms
        return max(at_ms, since_ms + ttl_ms)


class _Term:
    """The deadlines of a shard in a term that this node leads."""

    def __init__(
        self,
        shard: Shard,
        timers: Iterable[Timer],
        propose: Propose,
        loop: asyncio.AbstractEventLoop,
        calls_first: Callable[[], Awaitable[None]],
    ) -> None:
        self.ref: Final = ShardRef(shard.id.group, shard.id.number, shard.term)
        self._shard: Final = shard
        self._propose: Final = propose
        self._loop: Final = loop
        self._calls_first: Final = calls_first
        self._grace: Final = Grace(shard.now_ms())
        self._lines: Final = [_Line(timer) for timer in timers]
        #: Until when the shard may be left alone if it rests, and how many looks that has saved.
        self._skipped = 0
        self._rests_until = float("-inf")

    def tasks(self) -> list[asyncio.Task[None]]:
        return [line.task for line in self._lines if line.task is not None]

    def next_s(self) -> Iterator[tuple[str, float]]:
        """Yield in how many seconds the next deadline of each timer is due, if it has any."""
        now_ms = self._shard.now_ms()
        for line in self._lines:
            if isfinite(line.look_at_ms):
                yield line.timer.name, (line.look_at_ms - now_ms) / 1_000

    def rests(self) -> bool:
        """Whether there is nothing to look for yet: the shard rests, and nothing is due."""
        rests = self._shard.resting and self._loop.time() < self._rests_until
        if rests:
            self._skipped += 1
        return rests

    def look(self) -> None:
        now_ms = self._now_ms()
        self._propose_ripe(now_ms)
        wait_s = min((line.wait_s(now_ms) for line in self._lines), default=REST_S)
        self._rests_until = self._loop.time() + min(wait_s, REST_S) - TICK_S

    def _propose_ripe(self, now_ms: int) -> None:
        for line in self._lines:
            if line.task is not None and not line.task.done():
                continue
            if self._loop.time() < line.held_until:
                continue
            if now_ms < line.look_at_ms and self._shard.applied == line.applied:
                continue
            if self._ripe(line, now_ms):
                line.task = self._loop.create_task(self._work(line))

    def _now_ms(self) -> int:
        now_ms = self._shard.now_ms()
        self._grace.look(now_ms, round((1 + self._skipped) * TICK_S * 1_000))
        self._skipped = 0
        return now_ms

    def _leads(self) -> bool:
        return self._shard.leads and self._shard.term == self.ref.term

    async def _work(self, line: _Line) -> None:
        timer = line.timer
        while True:
            await self._calls_first()
            if not self._leads():
                return
            try:
                ripe = self._ripe(line, self._now_ms())
                if not ripe:
                    return
                await self._propose(timer.due([key for key, _ in ripe]), self.ref)
                self._note_unmoved(line, ripe)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                wait_s = line.backoff.failed()
                line.held_until = self._loop.time() + wait_s
                if self._leads():
                    self._tell(line, error, wait_s)
                return
            line.backoff.succeeded()

    def _ripe(self, line: _Line, now_ms: int) -> list[tuple[bytes, int]]:
        """Return the next batch, and record when to look again if it is empty."""
        timer, limit = line.timer, line.timer.batch
        line.forget_unmoved(self._loop.time())
        while True:
            found = self._shard.due(timer.name, now_ms, limit)
            ripe, next_ms = self._split(line, found, now_ms)
            if len(ripe) >= timer.batch or len(found) < limit:
                break
            if limit >= timer.batch * _BATCHES_READ:
                break
            limit = min(limit * 4, timer.batch * _BATCHES_READ)
        line.applied = self._shard.applied
        if ripe:
            line.look_at_ms = now_ms
        elif found:
            line.look_at_ms = min(next_ms, now_ms + _RECHECK_MS)
        else:
            next_due = self._shard.next_due(timer.name)
            line.look_at_ms = next_ms if next_due is None else next_due
        return ripe[: timer.batch]

    def _split(
        self, line: _Line, found: list[tuple[bytes, int]], now_ms: int
    ) -> tuple[list[tuple[bytes, int]], float]:
        """Return the keys to propose now, and when the next of the others is ripe."""
        ripe, next_ms = [], float("inf")
        for each in found:
            if each in line.unmoved:
                continue
            ripe_at_ms = self._ripe_at_ms(line.timer, *each)
            if ripe_at_ms <= now_ms:
                ripe.append(each)
            else:
                next_ms = min(next_ms, ripe_at_ms)
        return ripe, next_ms

    def _ripe_at_ms(self, timer: Timer, key: bytes, at_ms: int) -> int:
        if not timer.liveness:
            return at_ms
        deadline = self._shard.deadline(timer.name, key)
        ttl_ms = deadline.ttl_ms if deadline is not None else None
        return self._grace.ripe_at_ms(at_ms, ttl_ms or 0)

    def _note_unmoved(self, line: _Line, proposed: list[tuple[bytes, int]]) -> None:
        for key, at_ms in proposed:
            deadline = self._shard.deadline(line.timer.name, key)
            if deadline is not None and deadline.at_ms == at_ms:
                if not line.unmoved:
                    line.unmoved_until = self._loop.time() + _UNMOVED_S
                    _log.warning(
                        "the command of timer %s did not change the deadline of %r in shard %s;"
                        " its handler must cancel or move due deadlines; proposing it again"
                        " after %g s",
                        line.timer.name,
                        key,
                        self._shard.id,
                        _UNMOVED_S,
                    )
                line.unmoved.add((key, at_ms))

    def _tell(self, line: _Line, error: Exception, wait_s: float) -> None:
        # Refusals and errors of the cluster need no traceback.
        expected = isinstance(error, (NotProposedError, OutcomeUnknownError, Rejected))
        _log.log(
            level_of(error, line.backoff.failures),
            "timer %s of shard %s failed %d times in a row; retrying in %g s: %s",
            line.timer.name,
            self._shard.id,
            line.backoff.failures,
            wait_s,
            sentence_of(error),
            exc_info=None if expected else error,
        )


@dataclass(slots=True, eq=False)
class _Line:
    """The state of a timer of a shard."""

    timer: Timer
    task: asyncio.Task[None] | None = None
    backoff: Backoff = field(default_factory=lambda: Backoff(0.5, 30.0))
    #: When to retry after a failure, on the loop's clock.
    held_until: float = float("-inf")
    #: Nothing is due before this logical time, unless more is applied.
    look_at_ms: float = float("-inf")
    applied: int = -1
    #: Keys that were proposed and are still due at the same time.
    unmoved: set[tuple[bytes, int]] = field(default_factory=set)
    unmoved_until: float = float("inf")

    def wait_s(self, now_ms: int) -> float:
        """Return for how long there is nothing to do, unless more is applied."""
        if self.task is not None and not self.task.done():
            return 0.0
        return (self.look_at_ms - now_ms) / 1_000

    def forget_unmoved(self, now: float) -> None:
        """Retry keys that were proposed without effect, after a delay."""
        if self.unmoved and now >= self.unmoved_until:
            self.unmoved.clear()

"""Linearizable reads: they wait for a safe index, and until it is applied here."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final, NamedTuple

from quorate.consensus.reads import ReadOutcome
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import LeaderlessError, ReadTimeoutError
from quorate.shards.timing import Alarm

#: The longest pause between two attempts without a leader, as a multiple of the first: all shards
#: of a node may be without one.
_LONGEST: Final = 10


class _Reader(NamedTuple):
    future: asyncio.Future[int]
    deadline: float
    #: It waits for a leader until its deadline.
    patient: bool = True


class Barrier:
    """Requests one read index from the leader for many reads: each costs a round of messages.

    While a request is in flight, for at most `retry_s`, later reads gather for the next one. That
    waits for at most `linger_s` until it has as many reads as the previous one: concurrent readers
    stay together, and a lone reader never waits.

    A read never joins an earlier request, which could miss a write answered in between.
    """

    def __init__(
        self,
        shard: ShardId,
        loop: asyncio.AbstractEventLoop,
        ask: Callable[[int], object],
        is_leaderless: Callable[[], bool],
        *,
        applied: int,
        linger_s: float,
        retry_s: float,
    ) -> None:
        self._shard: Final = shard
        self._loop: Final = loop
        self._clock: Final = loop.time
        self._ask_index: Final = ask
        self._is_leaderless: Final = is_leaderless
        self._linger_s: Final = linger_s
        self._retry_s: Final = retry_s
        #: Until the next attempt after one without an answer.
        self._pause_s = retry_s
        self._applied = applied
        self._tokens: Final = count(1)
        self._arriving: list[_Reader] = []
        self._asking: asyncio.Handle | None = None
        #: When that is; minus infinity: in this turn of the loop.
        self._asking_at = float("-inf")
        self._lingering: asyncio.Handle | None = None
        #: When that is over: a loop need not say when a timer rings that is due at once.
        self._lingering_until = float("inf")
        #: The number of reads of the last request.
        self._together = 1
        self._asked: Final[dict[int, list[_Reader]]] = {}
        #: (index, order, waiter), the lowest index first.
        self._behind: Final[list[tuple[int, int, list[_Reader]]]] = []
        self._alarm: Final = Alarm(loop, self._expire)
        self._ended: Exception | None = None

    def __len__(self) -> int:
        """Return the number of stored reads, ended ones included."""
        return sum(1 for _ in self._waiting())

    def read(self, timeout_s: float, *, patient: bool = True) -> asyncio.Future[int]:
        """Return the applied index once a read there is linearizable.

        Unless it is patient, it raises `LeaderlessError` after `leaderless_from`.
        """
        reader = self._reader(timeout_s, patient=patient)
        if self._ended is None:
            self._arriving.append(reader)
            if not patient and self._asking is not None:
                self._ask_by(self._loop.time() + self._retry_s)
            self._gather()
        return reader.future

    def wait_for(self, index: int, timeout_s: float) -> asyncio.Future[int]:
        """Return the applied index once it is `index` or more."""
        reader = self._reader(timeout_s)
        if self._ended is None:
            self._wait(index, [reader])
        return reader.future

    def answered(self, outcomes: Sequence[ReadOutcome]) -> None:
        """Process the answers; reads without an index are retried later."""
        for outcome in outcomes:
            readers = self._asked.pop(outcome.token, [])
            if outcome.index is not None:
                self._pause_s = self._retry_s
                self._wait(outcome.index, readers)
                continue
            if self._is_leaderless():
                self._give_up(readers)
            self._arriving += [reader for reader in readers if not reader.future.done()]
            if self._arriving and self._asking is None:
                self._ask_by(self._loop.time() + self._next_pause_s())
        self._gather()

    def led(self) -> None:
        """Repeat the reads at once that failed for want of a leader: it is known now."""
        self._pause_s = self._retry_s
        if self._arriving and not self._asked:
            self._cancel()
            self._ask_soon()

    def applied(self, index: int) -> None:
        """Record the applied index, which only grows, also by a snapshot."""
        self._applied = index
        while self._behind and self._behind[0][0] <= index:
            self._serve(heappop(self._behind)[2])

    def refuse_behind(self, error: Exception) -> None:
        """Fail the reads that wait for entries that will not come."""
        for *_, readers in self._behind:
            for reader in readers:
                if not reader.future.done():
                    reader.future.set_exception(error)
        self._behind.clear()

    def end(self, error: Exception) -> None:
        """Fail all current and future reads."""
        self._ended = error
        self._alarm.stop()
        self._cancel()
        for reader in self._waiting():
            if not reader.future.done():
                reader.future.set_exception(error)
        self._arriving.clear()
        self._asked.clear()
        self._behind.clear()

    def _reader(self, timeout_s: float, *, patient: bool = True) -> _Reader:
        reader = _Reader(self._loop.create_future(), self._clock() + timeout_s, patient)
        if self._ended is not None:
            reader.future.set_exception(self._ended)
        elif reader.deadline < self._alarm.due:
            self._alarm.by(reader.deadline)
        return reader

    def _gather(self) -> None:
        if self._asking is not None or not self._arriving:
            return
        if not self._asked and len(self._arriving) >= self._together:
            self._ask_soon()
            return
        due = self._loop.time() + (self._retry_s if self._asked else self._linger_s)
        if due < self._lingering_until:
            self._cancel()
            self._lingering, self._lingering_until = self._loop.call_at(due, self._ask), due

    def _ask_soon(self) -> None:
        self._asking, self._asking_at = self._loop.call_soon(self._ask), float("-inf")

    def _ask_by(self, due: float) -> None:
        if self._asking is not None:
            if self._asking_at <= due:
                return
            self._asking.cancel()
        self._asking, self._asking_at = self._loop.call_at(due, self._ask), due

    def _next_pause_s(self) -> float:
        """Return the next pause: a short one for impatient readers."""
        if not all(reader.patient for reader in self._arriving):
            return self._retry_s
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, _LONGEST * self._retry_s)
        return pause_s

    def _cancel(self) -> None:
        for handle in (self._asking, self._lingering):
            if handle is not None:
                handle.cancel()
        self._asking = self._lingering = None
        self._lingering_until = float("inf")

    def _ask(self) -> None:
        self._cancel()
        arrived, self._arriving = self._arriving, []
        self._together = len(arrived)
        token = next(self._tokens)
        self._asked[token] = arrived
        self._ask_index(token)

    def _wait(self, index: int, readers: list[_Reader]) -> None:
        if index <= self._applied:
            self._serve(readers)
        else:
            heappush(self._behind, (index, next(self._tokens), readers))

    def _give_up(self, readers: Iterable[_Reader]) -> None:
        for reader in readers:
            if not reader.patient and not reader.future.done():
                reader.future.set_exception(LeaderlessError(self._shard))

    def _serve(self, readers: Iterable[_Reader]) -> None:
        for reader in readers:
            if not reader.future.done():
                reader.future.set_result(self._applied)

    def _waiting(self) -> Iterable[_Reader]:
        yield from self._arriving
        for readers in self._asked.values():
            yield from readers
        for _, _, readers in self._behind:
            yield from readers

    def _expire(self, now: float) -> float | None:
        again: float | None = None
        for reader in self._waiting():
            if reader.future.done():
                continue
            if reader.deadline <= now:
                reader.future.set_exception(
                    ReadTimeoutError(
                        f"shard {self._shard} did not answer a read in time; it may have no"
                        " leader, or be behind: try again, or read stale"
                    )
                )
            else:
                again = reader.deadline if again is None else min(again, reader.deadline)
        self._forget_ended()
        return again

    def _forget_ended(self) -> None:
        """Drop reads that have ended: their index may never be applied."""
        self._arriving = _open(self._arriving)
        for readers in self._asked.values():
            readers[:] = _open(readers)
        behind = [(index, order, _open(readers)) for index, order, readers in self._behind]
        self._behind[:] = [each for each in behind if each[2]]
        heapify(self._behind)


def _open(readers: list[_Reader]) -> list[_Reader]:
    return [reader for reader in readers if not reader.future.done()]

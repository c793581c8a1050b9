"""Time: deadlines that share a timer, pauses between retries, and the end of tasks."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import floor
from typing import Any, Final

_log = logging.getLogger(__name__)

#: Deadlines closer together than this share a call.
_TOGETHER_S: Final = 0.005
#: The part of an interval by which a timer may ring early.
_EARLY: Final = 0.05
FIRST_PAUSE_S: Final = 0.01
LONGEST_PAUSE_S: Final = 0.2


class Pause:
    """A pause that doubles each time, up to a limit."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        #: The number of failed attempts.
        self.count = 0
        self.longest_s = LONGEST_PAUSE_S
        self._loop: Final = loop

    @property
    def next_s(self) -> float:
        """The length of the next pause."""
        return min(FIRST_PAUSE_S * 2.0 ** min(self.count, 10), self.longest_s)

    async def until(self, deadline: float, *, latest: float = float("inf")) -> bool:
        """Wait and return True, or return False at once if the deadline comes first.

        It never waits beyond `latest`.
        """
        now = self._loop.time()
        until = min(now + self.next_s, latest)
        self.count += 1
        if until >= deadline:
            return False
        await pause(self._loop, until - now)
        return True


async def pause(loop: asyncio.AbstractEventLoop, delay_s: float) -> None:
    """Sleep, unless the delay is 0."""
    if delay_s <= 0:
        return
    over = loop.create_future()
    timer = loop.call_later(delay_s, _end, over)
    try:
        await over
    finally:
        timer.cancel()


async def until_beat(loop: asyncio.AbstractEventLoop, interval_s: float) -> None:
    """Sleep until the next multiple of an interval on the clock of the loop.

    What a node does regularly then shares turns, each of which wakes a process at rest.
    """
    now = loop.time()
    await pause(loop, (floor(now / interval_s + _EARLY) + 1) * interval_s - now)


async def every(
    loop: asyncio.AbstractEventLoop,
    interval_s: float,
    act: Callable[[], Awaitable[None] | None],
    failed: str,
) -> None:
    """Act on each beat of an interval until cancelled; `failed` is logged with exceptions."""
    while True:
        try:
            if (acting := act()) is not None:
                await acting
        except Exception:  # noqa: BLE001 - one failure must not be the last act
            _log.exception(failed)
        await until_beat(loop, interval_s)


async def end(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks, and return once they have ended; None is no task."""
    ending = [task for task in tasks if task is not None]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


@dataclass(eq=False)
class Background:
    """Work in a task of its own, from `start` to `stop`."""

    _loop: asyncio.AbstractEventLoop
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start."""
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """Stop: nothing of the work is under way afterwards."""
        await end(self._task)

    async def _run(self) -> None:
        raise NotImplementedError


class Waits:
    """Waits for a number that only grows."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def until(self, number: int) -> asyncio.Future[None]:
        """Return once the number is reached."""
        reached: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((number, reached))
        return reached

    def reached(self, number: float) -> None:
        """Complete the waits for this number and lower ones."""
        if not self._waiting:
            return
        for wanted, reached in self._waiting:
            if wanted <= number and not reached.done():
                reached.set_result(None)
        self._waiting = [each for each in self._waiting if not each[1].done()]

    def end(self, error: Exception) -> None:
        """Fail every wait."""
        for _, reached in self._waiting:
            if not reached.done():
                reached.set_exception(error)
        self._waiting.clear()


def _end(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


class Alarm:
    """Rings at the earliest time that was set.

    `ring` gets the time, and returns when to ring again, or None. Deadlines are not stored: `ring`
    checks everything that waits.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        ring: Callable[[float], float | None],
    ) -> None:
        self._loop: Final = loop
        self._ring: Final = ring
        self._timer: asyncio.TimerHandle | None = None
        #: When it rings next; later times need not be set.
        self.due = float("inf")

    def by(self, when: float) -> None:
        """Ring at `when` or earlier."""
        if when >= self.due:
            return
        self.due = when
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(0.0, when - self._loop.time()), self._rings)

    def stop(self) -> None:
        """Stop."""
        if self._timer is not None:
            self._timer.cancel()
        # From now on no time is earlier.
        self.due = float("-inf")

    def _rings(self) -> None:
        self._timer, self.due = None, float("inf")
        now = self._loop.time()
        again = self._ring(now)
        if again is not None:
            self.by(max(again, now + _TOGETHER_S))

"""Pauses between retries."""

import asyncio
from typing import Final

FIRST_PAUSE_S: Final = 0.01
LONGEST_PAUSE_S: Final = 0.2


class Pause:
    """A pause that doubles each time, up to a limit."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        #: The number of failed attempts.
        self.count = 0
        self._loop: Final = loop

    @property
    def next_s(self) -> float:
        """The length of the next pause."""
        return min(FIRST_PAUSE_S * 2.0 ** min(self.count, 10), LONGEST_PAUSE_S)

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


def _end(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)

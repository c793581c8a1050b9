"""Large requests give way to small ones: reading, applying and answering one stops the loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from quorate.shards.shard.capacity import Admission

#: A request of this size holds hundreds of items, which take milliseconds.
LARGE_BYTES: Final = 96 << 10
#: How long after a small request a node counts as lightly loaded.
_RECENT_S: Final = 0.25
#: Others wait no longer for a request that waits itself, for a leader for example.
_LONGEST_TURN_S: Final = 0.25
#: After a large request, small ones have the node to themselves for this share of its time.
_BREATH: Final = 0.5
#: What may wait; beyond it requests are refused with a retry-after.
_WAITING_BYTES: Final = 128 << 20
_WAITING: Final = 10_000
#: To refuse a large request takes reading it: it should not come again too soon.
_RETRY_AFTER_MS: Final = 2_000


class LargeRequests:
    """Lets one large request at a time be worked on while small ones come as well.

    As long as there are none, no large request waits for another.
    """

    def __init__(self, clock: Callable[[], float], *, waiting_bytes: int = _WAITING_BYTES) -> None:
        self._clock: Final = clock
        self._room: Final = Admission(
            "the queue of this node's large requests",
            max_bytes=waiting_bytes,
            max_count=_WAITING,
            retry_after_ms=_RETRY_AFTER_MS,
        )
        self._small_at = float("-inf")
        self._turn: Final = asyncio.Lock()

    def gives_way(self, size: int) -> bool:
        """Record a request of `size` bytes, and return whether it needs a turn."""
        if size < LARGE_BYTES:
            self._small_at = self._clock()
            return False
        return self._busy_s() > 0

    @asynccontextmanager
    async def turn(self, size: int) -> AsyncIterator[None]:
        """Wait for the turn of a large request: the block is worked on while it has it.

        Once no small requests come any more, nothing waits. Raises `ExhaustedError` when too much
        does.
        """
        self._room.admit(size)
        try:
            held = await self._acquired()
        finally:
            self._room.release(size)
        if not held:
            yield
            return
        loop = asyncio.get_running_loop()

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                self._turn.release()

        began = self._clock()
        late = loop.call_later(_LONGEST_TURN_S, give_back)
        try:
            yield
        finally:
            late.cancel()
            loop.call_later((self._clock() - began) * _BREATH, give_back)

    async def _acquired(self) -> bool:
        """Wait for the turn, and return True; False as soon as no small requests come."""
        acquiring = asyncio.ensure_future(self._turn.acquire())
        try:
            while not acquiring.done() and (left := self._busy_s()) > 0:
                await asyncio.wait((acquiring,), timeout=left)
            return acquiring.done()
        except asyncio.CancelledError:
            if acquiring.done() and not acquiring.cancelled():
                self._turn.release()
            raise
        finally:
            if not acquiring.done():
                acquiring.cancel()

    def _busy_s(self) -> float:
        """For how long small requests still count as coming."""
        return self._small_at + _RECENT_S - self._clock()

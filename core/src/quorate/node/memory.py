"""Gives freed memory back to the system, which the C library would keep for later."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from quorate.shards.timing import every

#: Interval between checks of the resident memory.
LOOK_S: Final = 2.0
#: Growth over the minimum that is worth a search for free memory.
WORTH_BYTES: Final = 48 << 20
#: Maximum pause before the next search after one that found little.
LONGEST_PAUSE_S: Final = 60.0

_STATM: Final = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 if the system does not report it."""
    try:
        pages = int(_STATM.read_bytes().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class FreedMemory:
    """Has the C library release free memory while the node holds much more than its minimum.

    Large requests are freed in pieces between memory that stays in use, so that the C library
    releases nothing by itself.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        resident: Callable[[], int] = resident_bytes,
        give_back: Callable[[], object] | None = None,
    ) -> None:
        self._loop: Final = loop
        self._resident: Final = resident
        self._give_back: Final = give_back or _trim()
        self._least = resident()
        #: Looks until the next search, and after it.
        self._waits, self._pause = 0, 1

    async def run(self) -> None:
        """Check periodically until cancelled; return at once if the C library cannot trim."""
        if self._give_back is not None:
            await every(self._loop, LOOK_S, self.look, "freed memory could not be given back")

    async def look(self) -> None:
        """Release free memory, if it may be much."""
        resident = self._resident()
        self._least = min(self._least, resident)
        if resident - self._least < WORTH_BYTES:
            self._waits, self._pause = 0, 1
        elif self._waits:
            self._waits -= 1
        elif self._give_back is not None:
            # In a thread, without the interpreter's lock.
            await asyncio.to_thread(self._give_back)
            found = resident - self._resident() >= WORTH_BYTES
            # A node that really needs more is not searched at every check.
            self._pause = 1 if found else min(2 * self._pause, round(LONGEST_PAUSE_S / LOOK_S))
            self._waits = self._pause - 1


def _trim() -> Callable[[], object] | None:
    """Return glibc's `malloc_trim`; None with other libraries."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return None if trim is None else lambda: trim(0)

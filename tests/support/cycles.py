"""What is left to the collector of garbage: objects in cycles, which it may reach late or never."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType

#: Turns of the loop in which a call that was answered comes to its end.
_TURNS = 50


async def _ended() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0.001)


@asynccontextmanager
async def no_frame_in_a_cycle() -> AsyncIterator[None]:
    """Assert that no frame of ours is in a cycle after the block: each may hold a request."""
    await _ended()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield
        await _ended()
        gc.collect()
        found = Counter(
            f"{each.f_code.co_filename}:{each.f_code.co_qualname}"
            for each in gc.garbage
            if isinstance(each, FrameType) and "/src/quorate" in each.f_code.co_filename
        )
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not found, f"left to the collector: {found}"

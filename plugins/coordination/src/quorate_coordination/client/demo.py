"""The part of `quorate demo`: programs that wait for locks, and hold them for a while."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

from quorate.client import AsyncClient, QuorateError
from quorate.plugin.advanced import DemoScene

from quorate_coordination.client import Coordination

_LOCKS: Final = ("demo/rebalance", "demo/compaction", "demo/nightly-report")
#: Programs that want each of them, one of which has it.
_RIVALS: Final = 3
#: How long a lock is held, at the least and at the most.
_HELD_S: Final = (5.0, 20.0)
_AGAIN_S: Final = 1.0


async def demo(q: AsyncClient, scene: DemoScene) -> AsyncGenerator[str, None]:
    """Have programs hold locks in turn; each step counts."""
    coordination = Coordination(q)
    held = asyncio.Event()
    rivals = [
        asyncio.create_task(_hold(coordination, name, f"worker-{number + 1}", held))
        for name in _LOCKS
        for number in range(_RIVALS)
    ]
    try:
        await held.wait()
        yield f"locks {', '.join(_LOCKS)}, each wanted by {_RIVALS} programs"
        while True:
            await coordination.counter("demo/steps").add()
            yield ""
    finally:
        for each in rivals:
            each.cancel()
        await asyncio.gather(*rivals, return_exceptions=True)


async def _hold(coordination: Coordination, name: str, owner: str, held: asyncio.Event) -> None:
    while True:
        # One that is lost, by a node that was killed, is wanted again.
        with suppress(QuorateError):
            async with coordination.lock(name, owner=owner):
                held.set()
                await asyncio.sleep(random.uniform(*_HELD_S))
        await asyncio.sleep(_AGAIN_S)

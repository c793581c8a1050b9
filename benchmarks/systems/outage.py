"""For how long a writer is not served when the leader is killed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from itertools import pairwise

from systems.system import AttemptFailedError, System

#: How long the writer is served before the kill and after the outage.
_CALM_S = 1.0
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """What one writer saw that tries one write at a time on node after node."""

    #: From the kill until a write was acknowledged that was sent behind it.
    outage_s: float
    #: The longest time between two acknowledged writes.
    gap_s: float


async def kill_leader(system: System) -> Outage:
    """Kill the leader beneath a writer, and start it again when that is served."""
    acknowledged: list[tuple[float, float]] = []

    async def write() -> None:
        while True:
            began = time.perf_counter()
            try:
                await system.write()
            except AttemptFailedError:
                continue
            acknowledged.append((began, time.perf_counter()))

    writer = asyncio.create_task(write())
    try:
        await _served(acknowledged, time.perf_counter())
        await asyncio.sleep(_CALM_S)
        leader = await asyncio.to_thread(system.leader)
        killed = time.perf_counter()
        await asyncio.to_thread(system.kill, leader)
        outage_s = await _served(acknowledged, killed) - killed
        await asyncio.sleep(_CALM_S)
    finally:
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
    ends = [end for _, end in acknowledged]
    gap_s = max(later - sooner for sooner, later in pairwise(ends))
    await asyncio.to_thread(system.revive, leader)
    return Outage(outage_s=outage_s, gap_s=gap_s)


async def _served(acknowledged: list[tuple[float, float]], since: float) -> float:
    """Wait for the first write that was sent after a time, and return when it was acknowledged."""
    seen = len(acknowledged)
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            for began, end in acknowledged[seen:]:
                if began >= since:
                    return end
            seen = len(acknowledged)
            await asyncio.sleep(0.002)

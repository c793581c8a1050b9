"""Bounded load on a cluster: a number of concurrent calls, until a count or a time is reached."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

_QUANTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where a load ends, and how much of it is there at once."""

    calls: int
    seconds: float
    concurrency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a load did, and how long each call took."""

    items: int
    elapsed_s: float
    latencies_s: Sequence[float]

    def row(self, name: str) -> Mapping[str, object]:
        """Return the figures as they are shown."""
        ordered = sorted(self.latencies_s)
        return {
            "load": name,
            "calls": len(ordered),
            "items": self.items,
            "seconds": round(self.elapsed_s, 3),
            "items_per_s": round(self.items / self.elapsed_s) if self.elapsed_s else 0,
            **{f"p{each}_ms": _ms(quantile(ordered, each)) for each in _QUANTILES},
            "max_ms": _ms(ordered[-1] if ordered else 0.0),
        }


def quantile(ordered: Sequence[float], percent: int) -> float:
    """Return the smallest value that is not below `percent` of all; 0 where there is none."""
    if not ordered:
        return 0.0
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


async def run(
    call: Callable[[int], Awaitable[int]], bounds: Bounds, done: Callable[[int], None]
) -> Measured:
    """Make calls, which are numbered and return how many items they moved.

    The first error ends the load and is raised.
    """
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    items = 0
    begun = loop.time()
    numbers = iter(range(bounds.calls))

    async def worker() -> None:
        nonlocal items
        for number in numbers:
            sent = loop.time()
            if sent - begun >= bounds.seconds:
                return
            moved = await call(number)
            items += moved
            latencies.append(loop.time() - sent)
            done(1)

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(bounds.concurrency, bounds.calls)):
                workers.create_task(worker())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return Measured(items=items, elapsed_s=loop.time() - begun, latencies_s=latencies)


def _ms(seconds: float) -> float:
    return round(seconds * 1_000, 2)

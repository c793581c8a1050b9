"""Loads of systems, measured once they are warm."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from systems.system import Meter, System

#: A system is warm when its best rate rose by at most this factor over this number of windows.
RISES: Final = 1.03
CALM_WINDOWS: Final = 3
WINDOW_S: Final = 1.0
#: The longest time that a system is warmed up for one measurement.
WARM_UP_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one measurement gave."""

    #: Pairs written or read.
    per_s: float
    p50_ms: float
    p99_ms: float
    #: Processor time of the three servers, and of the process that asks, for one pair.
    server_us: float
    asker_us: float
    #: The share of one core that the process took that asks; near 1, it is the limit.
    asker_share: float
    failures: int


async def measure(system: System, kind: str, in_flight: int, seconds: float) -> Figures | None:
    """Measure once; None when the system has no such operation."""
    load = system.load(kind)
    if load is None:
        return None
    await load.run(in_flight, seconds / 4)
    gc.collect()
    meter = Meter(system.pids())
    took = await load.run(in_flight, seconds)
    used = meter.read()
    asker_s = took.askers_s or used.asker_s
    if len(took.latencies_s) < 2:
        raise RuntimeError(f"{system.name} answered no {kind}; {took.failures} failed")
    pairs = len(took.latencies_s) * load.pairs
    cut = statistics.quantiles(took.latencies_s, n=100)
    return Figures(
        per_s=pairs / took.seconds,
        p50_ms=cut[49] * 1e3,
        p99_ms=cut[98] * 1e3,
        server_us=used.servers_s / pairs * 1e6,
        asker_us=asker_s / pairs * 1e6,
        asker_share=0.0 if took.askers_s else asker_s / took.seconds,
        failures=took.failures,
    )


async def warm_up(system: System, kind: str, in_flight: int) -> bool:
    """Repeat a load until its rate no longer rises; False: it still rose at the bound."""
    load = system.load(kind)
    if load is None:
        return True
    best, calm, end = 0.0, 0, time.monotonic() + WARM_UP_S
    while calm < CALM_WINDOWS and time.monotonic() < end:
        took = await load.run(in_flight, WINDOW_S)
        rate = len(took.latencies_s) / took.seconds
        calm = 0 if rate > best * RISES else calm + 1
        best = max(best, rate)
    return calm >= CALM_WINDOWS


def middle(of: Sequence[Figures]) -> Figures:
    """Return the medians of the rounds."""
    rows = [asdict(each) for each in of]
    columns = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return Figures(**{**columns, "failures": sum(each.failures for each in of)})

"""Systems that are asked at one port, and what a load on one of them gave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from figures import percentiles, resident_each_mb

from systems.system import Used


@dataclass(frozen=True)
class Asked:
    """A system: where it is asked, and the processes that serve it."""

    name: str
    address: str
    pids: Sequence[int]
    #: Returns what its servers logged.
    said: Callable[[], str] = str

    @property
    def host_and_port(self) -> tuple[str, int]:
        """The parts of its address."""
        host, port = self.address.split(":")
        return host, int(port)

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection."""
        return await asyncio.open_connection(*self.host_and_port, limit=1 << 24)


@dataclass(frozen=True)
class Row:
    """What was measured of a system."""

    load: str
    system: str
    per_s: float
    #: Ours divided by the other one's.
    ratio: float
    p50_ms: float
    p99_ms: float
    longest_ms: float
    cpu_us: float
    #: Of all its processes.
    memory_mb: float


def row_of(
    load: str,
    system: Asked,
    took: Sequence[float],
    used: Used,
    *,
    done: int = 0,
    longest_s: float = 0.0,
) -> Row:
    """Return the figures of a load; `done` are its operations, if they are not as many as times."""
    done = done or len(took)
    # Of one time, too, there are percentiles.
    p50_ms, p99_ms = percentiles([*took, *took])
    cpu_us, _ = used.each_us(done)
    return Row(
        load=load,
        system=system.name,
        per_s=done / used.seconds,
        ratio=0.0,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        longest_ms=(longest_s or max(took)) * 1e3,
        cpu_us=cpu_us,
        memory_mb=sum(resident_each_mb(system.pids)),
    )

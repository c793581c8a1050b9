"""What benchmarks of plugins make of what they have measured, and how they print it."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

E = TypeVar("E")


def percentiles(took: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile in ms."""
    cut = statistics.quantiles(took, n=100)
    return cut[49] * 1e3, cut[98] * 1e3


def resident_mb(pids: Iterable[int]) -> float:
    """Return what the largest of these processes holds in memory."""
    return max(map(_resident_kb, pids)) / 1024


def slices(sequence: Sequence[E], size: int) -> Iterator[Sequence[E]]:
    """Cut a sequence into pieces of one size; the last one may be smaller."""
    for first in range(0, len(sequence), size):
        yield sequence[first : first + size]


def show(found: Sequence[DataclassInstance]) -> None:
    """Print a table, a line each."""
    rows = [asdict(each) for each in found]
    if rows:
        widths = {name: max(len(name), 15) for name in rows[0]}
        print("  ".join(f"{name:>{width}}" for name, width in widths.items()))
        for row in rows:
            cells = (
                f"{value:>{widths[name]},.2f}"
                if isinstance(value, float)
                else f"{value:>{widths[name]}}"
                for name, value in row.items()
            )
            print("  ".join(cells))
        print()


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    return text.split(",")


def run(measuring: Coroutine[Any, Any, E]) -> E:
    """Measure on a loop of its own."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measuring)


def _resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError(f"process {pid} has ended")

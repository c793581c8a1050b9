"""The options of benchmarks, what they make of what they have measured, and how they print it."""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import platform
import pstats
import statistics
import sys
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

E = TypeVar("E")
R = TypeVar("R", bound="DataclassInstance")


class Options(argparse.ArgumentParser):
    """The options of a program: some numbers, --directory on the disk to measure, and --json.

    A number is given by its default, which may have a text of help beside it.
    """

    def __init__(self, description: str | None, **numbers: float | tuple[float, str]) -> None:
        super().__init__(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self.add_argument("--directory", type=Path, help="on the disk that is measured")
        self.add_argument("--json", action="store_true")
        for name, given in numbers.items():
            default, told = given if isinstance(given, tuple) else (given, "")
            self.add_argument(
                f"--{name.replace('_', '-')}",
                type=type(default),
                default=default,
                help=f"{told} (default: {default:,})".strip(),
            )

    def add_names(self, option: str, among: Sequence[str], default: Sequence[str] = ()) -> None:
        """Add an option of names with commas between them; by default it is all of them."""

        def names(text: str) -> list[str]:
            found = text.split(",")
            if unknown := sorted({*found} - {*among}):
                raise argparse.ArgumentTypeError(
                    f"no {', '.join(unknown)}: choose among {', '.join(among)}"
                )
            return found

        self.add_argument(option, type=names, default=list(default or among), metavar="NAMES")


def percentiles(took: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile in ms."""
    cut = statistics.quantiles(took, n=100, method="inclusive")
    return cut[49] * 1e3, cut[98] * 1e3


def resident_mb(pids: Iterable[int]) -> float:
    """Return what the largest of these processes holds in memory."""
    return max(resident_each_mb(pids))


def resident_each_mb(pids: Iterable[int]) -> tuple[float, ...]:
    """Return what each of these processes holds in memory."""
    return tuple(_kb(pid, "VmRSS") / 1024 for pid in pids)


def own_each_mb(pids: Iterable[int]) -> tuple[float, ...]:
    """Return what each of these processes holds in memory that is no page of a file."""
    return tuple(_kb(pid, "RssAnon") / 1024 for pid in pids)


def largest_mb(pids: Iterable[int]) -> float:
    """Return the most that one of these processes has held in memory since it was started."""
    return max(_kb(pid, "VmHWM") for pid in pids) / 1024


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
            print("  ".join(f"{cell(value):>{widths[name]}}" for name, value in row.items()))
        print()


def report(*parts: Sequence[DataclassInstance], as_json: bool) -> None:
    """Print tables, or all their rows as JSON."""
    if as_json:
        rows = [asdict(each) for part in parts for each in part]
        print(json.dumps({"python": platform.python_version(), "rows": rows}, indent=2))
    else:
        for part in parts:
            show(part)


def cell(value: Any) -> str:
    """Return a figure as text; of several, one for each node."""
    if isinstance(value, tuple):
        return "/".join(f"{each:,.0f}" for each in value)
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


def tell(progress: str) -> None:
    """Tell how far a measurement has come, beside what it prints."""
    print(progress, file=sys.stderr, flush=True)


def numbers(text: str) -> list[int]:
    """Read numbers with commas between them."""
    return [int(each) for each in text.split(",")]


def compared(rows: Sequence[R], ours: str) -> list[R]:
    """Return the rows, with our rate divided by the other system's where both have the load."""
    told: Sequence[Any] = rows
    rate = {row.load: row.per_s for row in told if row.system != ours}
    return [
        replace(row, ratio=row.per_s / rate[row.load])
        if row.system == ours and row.load in rate
        else row
        for row in told
    ]


@contextmanager
def profiled(functions: int = 25) -> Iterator[None]:
    """Print where the time of the block goes, the longest functions first."""
    with cProfile.Profile() as profile:
        yield
    pstats.Stats(profile).sort_stats("tottime").print_stats(functions)


def run(measuring: Coroutine[Any, Any, E], seconds: float | None = None) -> E:
    """Measure on a loop of its own; raises `TimeoutError` after so many seconds."""

    async def bounded() -> E:
        try:
            async with asyncio.timeout(seconds) as bound:
                return await measuring
        except TimeoutError as error:
            if not bound.expired():
                raise
            raise TimeoutError(
                f"not done after {seconds:g} s: give more, or ask for less"
            ) from error

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(bounded())


def _kb(pid: int, figure: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{figure}:"):
            return int(line.split()[1])
    raise RuntimeError(f"process {pid} has ended")

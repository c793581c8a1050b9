from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from quorate.cli.bench import Bounds, Measured, quantile, run


def bounds(calls: int = 100, seconds: float = 60.0, concurrency: int = 4) -> Bounds:
    return Bounds(calls=calls, seconds=seconds, concurrency=concurrency)


@pytest.mark.parametrize(
    ("percent", "value"), [(50, 50.0), (95, 95.0), (99, 99.0), (100, 100.0), (1, 1.0), (0, 1.0)]
)
def test_a_quantile_is_a_value_that_was_measured(percent: int, value: float) -> None:
    assert quantile([float(each) for each in range(1, 101)], percent) == value


def test_the_quantile_of_nothing_is_zero() -> None:
    assert quantile([], 99) == 0.0


def test_the_figures_are_those_of_all_calls() -> None:
    measured = Measured(items=30, elapsed_s=2.0, latencies_s=[0.003, 0.001, 0.002])

    assert measured.row("batch") == {
        "load": "batch",
        "calls": 3,
        "items": 30,
        "seconds": 2.0,
        "items_per_s": 15,
        "p50_ms": 2.0,
        "p95_ms": 3.0,
        "p99_ms": 3.0,
        "max_ms": 3.0,
    }


async def test_every_number_is_called_once_and_so_many_at_once() -> None:
    called: list[int] = []
    told: list[int] = []
    most = inside = 0

    async def call(number: int) -> int:
        nonlocal most, inside
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        called.append(number)
        inside -= 1
        return 2

    measured = await run(call, bounds(calls=50, concurrency=4), told.append)

    assert sorted(called) == list(range(50))
    assert (measured.items, len(measured.latencies_s), sum(told), most) == (100, 50, 50, 4)


async def test_time_ends_a_load_before_its_count() -> None:
    async def call(number: int) -> int:
        await asyncio.sleep(0.2)
        return 1

    measured = await run(call, bounds(calls=1_000_000, seconds=0.5), lambda _: None)

    assert 0 < len(measured.latencies_s) < 1_000_000


async def test_the_first_error_ends_the_load() -> None:
    called: list[int] = []

    async def call(number: int) -> int:
        called.append(number)
        await asyncio.sleep(0)
        if number == 5:
            raise LookupError("five")
        return 1

    with pytest.raises(LookupError, match="five"):
        await run(call, bounds(), lambda _: None)
    assert all(later > earlier for earlier, later in pairwise(called))
    assert len(called) < 20

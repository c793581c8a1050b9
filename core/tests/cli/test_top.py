"""The screen of `quorate top`: its lines, and its keys."""

from __future__ import annotations

import asyncio
import os
import pty

import pytest
from quorate.cli.top import Screen, _next, pressed, spark


def parts(**rates: float) -> dict[str, list[dict[str, object]]]:
    return {
        "alarms": [],
        "nodes": [{"node": "n1", "version": "1", "state": "ready", "open_calls": 4}],
        "shards": [
            {"shard": name, "leader": "n1", "lag": ["n2 3"], "commands/s": rate}
            for name, rate in rates.items()
        ],
        "writes": [{"shard": "b", "node": "n1", "p50_ms": 1.0, "p99_ms": 2.0}],
        "calls": [{"method": "quorate.v1.KvService/Get", "calls_per_s": 2.0, "open": 0}],
    }


def test_a_shard_has_one_line_with_its_last_rates() -> None:
    screen = Screen(2.0)
    screen.lines(parts(a=1, b=0))
    lines = screen.lines(parts(a=2, b=8))

    assert list(lines) == ["alarms", "nodes", "shards", "calls"]
    assert [row["shard"] for row in lines["shards"]] == ["b", "a"]
    assert lines["shards"][0] == {
        "shard": "b",
        "leader": "n1",
        "commands/s": 8,
        "p50_ms": 1.0,
        "p99_ms": 2.0,
        "lag": "n2 3",
        "rates": "▁█",
    }
    assert lines["calls"][0]["method"] == "KvService/Get"
    assert lines["calls"][0]["calls/s"] == 2.0
    assert lines["nodes"][0]["calls"] == 4
    screen.take("s")
    assert [row["shard"] for row in screen.lines(parts(a=2, b=8))["shards"]] == ["a", "b"]


def test_of_many_shards_the_busiest_are_shown() -> None:
    lines = Screen(2.0).lines(parts(**{f"s{number}": number for number in range(100)}))

    assert [row["shard"] for row in lines["shards (20 of 100)"]][:2] == ["s99", "s98"]
    assert len(lines["shards (20 of 100)"]) == 20


@pytest.mark.parametrize(
    ("values", "bars"), [((), ""), ((0.0, 0.0), "▁▁"), ((0.0, 7.0, 3.5), "▁█▅")]
)
def test_a_spark_is_as_high_as_its_value(values: tuple[float, ...], bars: str) -> None:
    assert spark(values) == bars


async def test_keys_change_the_interval_pause_and_end() -> None:
    screen, keys = Screen(0.3), asyncio.Queue[str]()
    for key in "p+-px":
        keys.put_nowait(key)

    assert await _next(keys, screen)
    assert (screen.every_s, screen.paused) == (0.3, False)
    keys.put_nowait("-")
    assert await _next(keys, screen)
    assert screen.every_s == 0.2
    keys.put_nowait("p")
    keys.put_nowait("q")
    assert not await _next(keys, screen)
    assert screen.paused


async def test_keys_are_read_without_enter_and_the_terminal_is_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import termios

    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    with os.fdopen(theirs) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with pressed() as keys:
            os.write(ours, b"s")
            assert await asyncio.wait_for(keys.get(), 60) == "s"
        assert termios.tcgetattr(stdin.fileno()) == before
    os.close(ours)

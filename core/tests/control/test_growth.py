"""When shards are split by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from quorate.control.growth import Bounds, Growth
from quorate.plugin import Rejected, ShardRef
from quorate.plugin.shard_id import ShardId
from quorate.topology.commands.splits import OTHER

from core.tests.control.conftest import Stage

SHARD = ShardId("toy", 0)
PAUSE_S = 100.0


class Grown:
    """A shard with rows and writes as a test says."""

    def __init__(self, bounds: Bounds) -> None:
        self.stage = Stage()
        self.leads = True
        self.term = 1
        self.rows = 0
        self.writes = 0
        self.foreign = False
        self.split: list[int] = []
        self.refusals: list[Rejected] = []
        families = {"toy.rows": SimpleNamespace(name="toy.rows", group="toy")}
        self.growth = Growth(
            cast(Any, SimpleNamespace(get=lambda _: self.shard)),
            cast(Any, SimpleNamespace(families=families)),
            {"toy": bounds},
            self.begin,
            self.stage.loop,
        )

    @property
    def shard(self) -> Any:
        return SimpleNamespace(
            id=SHARD,
            leads=self.leads,
            counters=SimpleNamespace(entry_commands=SimpleNamespace(total=self.writes)),
            applier=SimpleNamespace(foreign=self.foreign),
            data=SimpleNamespace(families=("toy.rows",), iterate=self.iterate),
        )

    def iterate(self, _: str, start: bytes, __: None) -> Iterator[tuple[bytes, bytes]]:
        keys = (b"%06d" % number for number in range(self.rows))
        return ((key, b"v" * 4) for key in keys if key >= start)

    async def begin(self, shard: ShardId, most: int) -> None:
        assert shard == SHARD
        if self.refusals:
            raise self.refusals.pop(0)
        self.split.append(most)

    def look(self) -> str:
        """Have the controller look at it, a pause after the last time."""
        (controller,) = self.growth.controllers
        run = controller.run_once(cast(Any, None), ShardRef("toy", 0, self.term))
        self.stage.run(lambda: self.stage.loop.create_task(run))
        self.stage.pass_time(PAUSE_S)
        return self.growth.excess(SHARD)


def bounds(rows: int | None = None, size: int | None = None, writes: int | None = None) -> Bounds:
    return Bounds(rows=rows, bytes=size, writes=writes, shards=8, pause_s=PAUSE_S)


@pytest.mark.parametrize(
    ("bound", "rows"), [(bounds(rows=1_200), 1_201), (bounds(size=12_000), 1_201)]
)
def test_a_shard_with_too_many_rows_is_split(bound: Bounds, rows: int) -> None:
    grown = Grown(bound)
    grown.look()
    grown.rows = rows - 1
    grown.look()
    assert grown.split == []
    grown.rows = rows
    assert grown.look() == ""
    assert grown.split == [8]


def test_a_busy_shard_is_split_for_what_it_does_in_a_whole_pause() -> None:
    grown = Grown(bounds(writes=10))
    grown.writes = 1_000_000
    grown.look()
    grown.writes += 1_000
    grown.look()
    assert grown.split == []
    grown.writes += 1_001
    grown.look()
    assert grown.split == [8]


@pytest.mark.parametrize("why", ["new", "other term", "foreign"])
def test_a_shard_that_just_came_or_was_split_is_left_alone(why: str) -> None:
    grown = Grown(bounds(rows=1))
    grown.rows = 2
    if why != "new":
        grown.rows = 0
        grown.look()
        grown.rows = 2
    grown.term = 2 if why == "other term" else 1
    grown.foreign = why == "foreign"
    grown.look()
    assert grown.split == []
    grown.foreign = False
    grown.look()
    assert grown.split == [8]


def test_a_split_waits_for_that_of_another_shard() -> None:
    grown = Grown(bounds(rows=1))
    grown.rows = 2
    grown.look()
    grown.refusals = [Rejected(OTHER, "toy/7 is being split")] * 3
    grown.look()
    assert (grown.split, grown.refusals) == ([8], [])


def test_why_a_shard_is_not_split_is_said() -> None:
    grown = Grown(bounds(rows=1))
    grown.rows = 2
    grown.look()
    grown.refusals = [Rejected("FAILED_PRECONDITION", "group toy has 8 shards")]
    said = grown.look()
    assert said == "more than 1 rows; it is not split: group toy has 8 shards"
    grown.rows = 0
    assert grown.look() == ""


def test_nothing_is_begun_once_the_shard_is_led_elsewhere() -> None:
    grown = Grown(bounds(rows=1))
    grown.rows = 2
    grown.look()
    grown.leads = False
    grown.look()
    assert grown.split == []

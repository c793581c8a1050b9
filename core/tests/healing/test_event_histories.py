"""The events of a shard are counted from its rows, and the oldest go when they are too many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from quorate.healing.event_histories import EventBytes
from quorate.storage.data.shard_data import ShardData
from quorate.storage.events import LOW_KEY, ROWS_END, event_key

MOST = 64_000
#: A run, with the key of its entry.
SIZE = MOST // 64


class Rows:
    """Holds the events of entries."""

    def __init__(self) -> None:
        self.events: dict[bytes, bytes] = {}
        self.low: bytes | None = None

    def add(self, *indexes: int, size: int = SIZE) -> None:
        for index in indexes:
            self.events[event_key(index)] = bytes(size - 8)

    def trim(self, index: int) -> None:
        self.low = event_key(index)
        self.events = {key: value for key, value in self.events.items() if key > self.low}

    def get(self, family: str, key: bytes) -> bytes | None:
        assert key == LOW_KEY
        return self.low

    def iterate(self, family: str, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        assert end == ROWS_END
        return iter([(key, value) for key, value in self.events.items() if start <= key < end])


@pytest.fixture
def rows() -> Rows:
    return Rows()


def counted(size: EventBytes, rows: Any) -> EventBytes:
    while not size.count(cast(ShardData, rows)):
        pass
    return size


def test_nothing_goes_up_to_the_bound(rows: Rows) -> None:
    rows.add(*range(1, 65))
    size = counted(EventBytes(MOST), rows)
    assert (size.total, size.next, size.excess()) == (MOST, 65, None)


def test_the_oldest_go_until_an_eighth_is_free(rows: Rows) -> None:
    rows.add(*range(1, 66))
    size = counted(EventBytes(MOST), rows)
    assert size.excess() == 9
    rows.trim(9)
    assert counted(size, rows).excess() is None
    assert size.total == 56 * SIZE


def test_what_comes_is_counted_once(rows: Rows) -> None:
    rows.add(1, 2)
    size = counted(EventBytes(MOST), rows)
    rows.add(3)
    assert counted(size, rows).total == 3 * SIZE
    assert counted(size, rows).total == 3 * SIZE


def test_entries_that_are_trimmed_by_age_count_no_more(rows: Rows) -> None:
    rows.add(*range(1, 11))
    size = counted(EventBytes(MOST), rows)
    rows.trim(4)
    assert counted(size, rows).total == 6 * SIZE


def test_the_newest_entries_stay_however_large(rows: Rows) -> None:
    rows.add(1, size=2 * MOST)
    rows.add(2, 3, size=100)
    assert counted(EventBytes(MOST), rows).excess() == 1
    rows.trim(1)
    size = counted(EventBytes(MOST), rows)
    assert (size.total, size.excess()) == (200, None)

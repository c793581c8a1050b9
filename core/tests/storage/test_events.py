from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from quorate.consensus.journal import Position
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.events import (
    LOW_KEY,
    Emitted,
    EventLog,
    EventRow,
    HistoryGoneError,
    Kind,
    RowChange,
    StoredEvent,
    decode,
    event_key,
    rows_of,
    time_key,
    timed_index,
)
from quorate.storage.families import EVENTS

_PARTS = {
    Kind.PUT: 1,
    Kind.REPLACED: 2,
    Kind.DELETED: 0,
    Kind.DELETED_OVER: 1,
    Kind.EMITTED: 1,
}
_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["a.rows", "b.rows"]),
        st.sampled_from([each for each in Kind if each is not Kind.INGESTED]),
        st.integers(0, 2**63),
        st.binary(max_size=5),
        st.binary(max_size=5),
        st.binary(max_size=5),
    ),
    max_size=12,
)


def put(row: EventRow, family: str, key: bytes, revision: int, value: bytes = b"v") -> None:
    row.begin(family, Kind.PUT)
    row.parts.extend((key, revision.to_bytes(8) + value))


def log(*entries: int, low: int = 0, applied: int | None = None) -> EventLog:
    """A log in which each of these entries put the keys ax and b of two families."""
    data = ShardData.open(MemoryHome(), [])
    batch = Batch()
    for index in entries:
        row = EventRow()
        for position, family in enumerate(("a.rows", "b.rows")):
            for key in (b"ax", b"b"):
                put(row, family, key, index << 20 | position)
        batch.put(EVENTS, event_key(index), row.encode(index * 10))
        batch.put(EVENTS, time_key(index), b"")
    if low:
        batch.put(EVENTS, LOW_KEY, event_key(low))
    newest = max(entries, default=0) if applied is None else applied
    data.commit(batch, AppliedRecord(Position(newest, 1), 0, b"", 0, 0, 0))
    return EventLog(data)


def behind(index: int) -> int:
    return ((index + 1) << 20) - 1


@given(_EVENTS, st.integers(-9, 2**40), st.sampled_from([b"", b"\x01"]))
def test_what_is_encoded_is_read_back(
    events: list[tuple[str, Kind, int, bytes, bytes, bytes]], at_ms: int, prefix: bytes
) -> None:
    row, expected = EventRow(), []
    for family, kind, revision, key, value, previous in events:
        row.begin(family, kind)
        head = revision.to_bytes(8)
        change: RowChange | Emitted
        if kind is Kind.EMITTED:
            row.parts.append(head + value)
            change = Emitted(family, value)
        else:
            deleted = kind in (Kind.DELETED, Kind.DELETED_OVER)
            over = kind in (Kind.REPLACED, Kind.DELETED_OVER)
            row.parts.extend((key, head if deleted else head + value))
            row.parts.extend([previous] if over else [])
            change = RowChange(family, key, None if deleted else value, previous if over else None)
        expected.append(StoredEvent(revision, at_ms, change))
    encoded = row.encode(at_ms)

    assert list(decode(encoded)) == expected
    assert list(decode(encoded, {"a.rows": prefix})) == [
        event
        for event in expected
        if (isinstance(event.change, Emitted) and event.change.type == "a.rows")
        or (
            isinstance(event.change, RowChange)
            and event.change.family == "a.rows"
            and event.change.key.startswith(prefix)
        )
    ]


def test_what_is_taken_back_leaves_no_trace() -> None:
    row = EventRow()
    put(row, "a.rows", b"k", 1)
    encoded, savepoint = row.encode(5), row.savepoint()
    put(row, "a.rows", b"l", 2)
    put(row, "b.rows", b"m", 3)
    row.rollback_to(savepoint)

    assert row.encode(5) == encoded


def test_changes_of_one_kind_are_one_run() -> None:
    row = EventRow()
    for number in range(100):
        put(row, "a.rows", b"k", number)

    assert len(row.runs) == 1


def test_a_row_that_is_cut_or_too_long_is_refused() -> None:
    row = EventRow()
    put(row, "a.rows", b"k", 1)
    encoded = row.encode(5)
    for broken in (b"", encoded[:-1], encoded + b"x", b"\x09" + encoded[1:], encoded[:20]):
        with pytest.raises(ValueError, match="an event row of"):
            list(decode(broken))


def test_reading_goes_on_behind_what_was_read() -> None:
    events = log(2, 5, 6, applied=8)
    first, position = events.read(0, max_rows=4, max_bytes=1 << 20)
    rest, end = events.read(position, max_rows=99, max_bytes=1 << 20)

    assert [event.revision >> 20 for event in first] == [2] * 4
    assert position == behind(2)
    assert [event.revision >> 20 for event in rest] == [5] * 4 + [6] * 4
    assert {event.at_ms for event in rest} == {50, 60}
    assert end == behind(8)
    assert events.read(end, max_rows=99, max_bytes=1) == ([], end)
    assert events.read(behind(99), max_rows=99, max_bytes=1) == ([], behind(99))


def test_reading_begins_behind_a_command_within_an_entry() -> None:
    found, _ = log(2).read(2 << 20, max_rows=99, max_bytes=1 << 20)

    assert {event.revision for event in found} == {2 << 20 | 1}


def test_reading_filters_by_family_and_prefix() -> None:
    selection = {"b.rows": b"a", "c.rows": b""}
    found, position = log(1, 2).read(0, selection, max_rows=99, max_bytes=1 << 20)

    assert [event.change for event in found] == [RowChange("b.rows", b"ax", b"v")] * 2
    assert position == behind(2)


@pytest.mark.parametrize(("rows", "size"), [(2, 1 << 20), (99, 200)])
def test_a_read_that_finds_nothing_still_looks_at_a_bounded_number_and_comes_further(
    rows: int, size: int
) -> None:
    events = log(*range(1, 10))
    found, position = events.read(0, {"c.rows": b""}, max_rows=rows, max_bytes=size)

    assert not found
    assert position == behind(2)


def test_history_that_is_gone_is_told() -> None:
    events = log(7, 9, low=6)

    assert events.oldest == 7
    assert events.newest == 9
    for revision in (0, 5 << 20, behind(6) - 1):
        with pytest.raises(HistoryGoneError, match="list the rows again") as caught:
            events.read(revision, max_rows=9, max_bytes=1)
        assert caught.value.oldest == 7
    found, _ = events.read(behind(6), max_rows=9, max_bytes=1)
    assert found
    assert log(1).oldest == 1
    assert log(1).read(0, max_rows=9, max_bytes=1)[0]


def test_a_note_of_time_is_no_event_row() -> None:
    assert timed_index(time_key(7)) == 7
    assert time_key(1) > event_key(2**64 - 1)


def test_who_reads_past_rows_that_came_from_files_lists_them_anew() -> None:
    data = ShardData.open(MemoryHome(), [])
    before, files = EventRow(), EventRow()
    put(before, "a.rows", b"k", behind(6))
    files.begin("a.rows", Kind.INGESTED)
    batch = Batch()
    batch.put(EVENTS, event_key(7), before.encode(70))
    batch.put(EVENTS, event_key(8), files.encode(80))
    data.commit(batch, AppliedRecord(Position(8, 1), 0, b"", 0, 0, 0))
    events = EventLog(data)
    with pytest.raises(HistoryGoneError, match="revision"):
        events.read(behind(6), {"a.rows": b""}, max_rows=10, max_bytes=1_000)
    assert events.read(behind(6), {"b.rows": b""}, max_rows=10, max_bytes=1_000)[0] == []
    assert events.read(behind(8), {"a.rows": b""}, max_rows=10, max_bytes=1_000)[0] == []
    assert list(rows_of(files.encode(80))) == [("a.rows", {})]

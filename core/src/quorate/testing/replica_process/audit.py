"""Whether all that a replica holds tells the same story."""

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from quorate.plugin import Reader, keys
from quorate.storage.data.shard_data import ShardData
from quorate.storage.events import EventLog, RowChange
from quorate.testing.replica_process.domain import COUNTERS, ITEMS, MARKS, counter_key, worker
from quorate.testing.replica_process.v1.domain_pb2 import Counter

_END: Final = b"\xff" * 8
_PAGE: Final = 100_000


def audit(data: ShardData, reader: Reader) -> dict[str, Any]:
    """Compare rows, events, marks and counters with each other and with the applied index.

    It holds while every item of the replica was put by a `Work`, and its history is complete.
    `works` are the numbers of each client's works that have left their traces.
    """
    rows = {row.key: (row.value, row.revision) for row in _rows(reader, ITEMS)}
    counters = {row.key: (row.value, row.revision) for row in _rows(reader, COUNTERS)}
    replayed, newest = _replayed(data)
    marks = {keys.unpack(row.key): row.value for row in _rows(reader, MARKS)}
    found: list[str] = []
    if (rows, counters) != (replayed[ITEMS], replayed[COUNTERS]):
        found.append("the rows are not those that the events tell of")
    if newest > reader.revision:
        found.append(f"an event has revision {newest}, and {reader.revision} is applied")
    if any(int.from_bytes(times, "big") != 1 for times in marks.values()):
        found.append("a work was applied more than once")
    works: dict[str, list[int]] = {}
    for client, number in marks:
        works.setdefault(str(client), []).append(int(number))
    totals = Tally(str(client) for client, _ in marks)
    for client, total in totals.items():
        value, _ = counters.get(counter_key(worker(int(client))), (b"", 0))
        if Counter.FromString(value).total != total:
            found.append(f"client {client} has left {total} marks and another counter")
    return {"found": found, "works": works, "items": len(rows), "revision": reader.revision}


def _replayed(data: ShardData) -> tuple[dict[str, dict[bytes, tuple[bytes, int]]], int]:
    """Return the rows that the events leave behind, and the newest revision among these."""
    log = EventLog(data)
    rows: dict[str, dict[bytes, tuple[bytes, int]]] = {ITEMS: {}, COUNTERS: {}}
    selection = {family: b"" for family in rows}
    position, newest = 0, 0
    while True:
        events, behind = log.read(position, selection, max_rows=10_000, max_bytes=16 << 20)
        if behind == position:
            return rows, newest
        position = behind
        for revision, _, event in events:
            newest = revision
            if not isinstance(event, RowChange):
                continue
            if event.value is None:
                rows[event.family].pop(event.key, None)
            else:
                rows[event.family][event.key] = (event.value, revision)


def _rows(reader: Reader, family: str) -> Iterator[Any]:
    start = b""
    while page := list(reader.scan(family, start, _END, limit=_PAGE)):
        yield from page
        start = page[-1].key + b"\x00"

"""The deadlines of a shard, by time to find those that are due, and by key to move them.

Both kinds of keys begin with the timer's name, which has no zero byte, and a zero byte.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from operator import add
from struct import Struct
from typing import Final, NamedTuple

from quorate.apply.layers import Layer, Rows
from quorate.storage.families import DEADLINE_KEYS, DEADLINES

#: Times sort as unsigned numbers, those before 1970 first.
_TIME: Final = Struct(">Q")
_OFFSET: Final = 1 << 63
_LAST: Final = (1 << 64) - 1
_DEADLINE: Final = Struct(">qq")
_NO_TTL: Final = -1


class Deadline(NamedTuple):
    """The deadline of a key in logical time, and how long a renewal lasts."""

    at_ms: int
    ttl_ms: int | None = None


def deadline_of(rows: Rows, timer: str, key: bytes) -> Deadline | None:
    """Return the deadline of a key, if any."""
    value = rows.get(DEADLINE_KEYS, _start(timer) + key)
    if value is None:
        return None
    at_ms, ttl_ms = _DEADLINE.unpack(value)
    return Deadline(at_ms, None if ttl_ms == _NO_TTL else ttl_ms)


def keyed(rows: Rows, timer: str, begin: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the keys that begin with some bytes and have a deadline, with the time of it."""
    start = _start(timer)
    for name, value in rows.iterate(DEADLINE_KEYS, start + begin, None):
        if not name.startswith(start + begin):
            return
        yield name[len(start) :], _DEADLINE.unpack(value)[0]


def schedule(layer: Layer, timer: str, key: bytes, deadline: Deadline | None) -> None:
    """Set the deadline of a key, or cancel it with None.

    A time out of range becomes the first or last possible one.
    """
    start = _start(timer)
    old = layer.get(DEADLINE_KEYS, start + key)
    value = None
    if deadline is not None:
        ttl_ms = _NO_TTL if deadline.ttl_ms is None else _bounded(deadline.ttl_ms)
        deadline = Deadline(_bounded(deadline.at_ms), ttl_ms)
        value = _DEADLINE.pack(*deadline)
    if value == old:
        return
    if old is not None:
        layer.delete(DEADLINES, _due_key(start, _DEADLINE.unpack(old)[0], key))
    if value is None or deadline is None:
        layer.delete(DEADLINE_KEYS, start + key)
    else:
        layer.put(DEADLINE_KEYS, start + key, value)
        layer.put(DEADLINES, _due_key(start, deadline.at_ms, key), b"")


def schedule_each(layer: Layer, timer: str, times: Mapping[bytes, int | None]) -> None:
    """Set or cancel the deadlines of many keys, as `schedule` does, none with a time to live."""
    start = _start(timer)
    names = [start + key for key in times]
    found = layer.get_many(DEADLINE_KEYS, names)
    keyed, due_keys = layer.table(DEADLINE_KEYS).rows, layer.table(DEADLINES).rows
    #: Of each time the value by key, and the start of the keys by time: few times are of many keys.
    values: dict[int | None, bytes | None] = {None: None}
    time_starts: dict[int | None, bytes] = {}
    for at_ms in set(times.values()) - values.keys():
        bounded_ms = _bounded(at_ms or 0)
        values[at_ms] = _DEADLINE.pack(bounded_ms, _NO_TTL)
        time_starts[at_ms] = _due_key(start, bounded_ms, b"")
    if found.count(None) == len(found) and None not in times.values():
        # Deadlines of thousands of new keys are set without a step for each.
        keyed.update(zip(names, map(values.__getitem__, times.values()), strict=True))
        starts = map(time_starts.__getitem__, times.values())
        due_keys.update(zip(map(add, starts, times), repeat(b"")))
        return
    for (key, at_ms), name, old in zip(times.items(), names, found, strict=True):
        value = values[at_ms]
        if value == old:
            continue
        if old is not None:
            due_keys[_due_key(start, _DEADLINE.unpack(old)[0], key)] = None
        keyed[name] = value
        if value is not None:
            due_keys[time_starts[at_ms] + key] = b""


def due(
    rows: Rows,
    timer: str,
    now_ms: int,
    limit: int,
    low_ms: int,
    owns: Callable[[bytes], bool] | None = None,
) -> list[tuple[bytes, int]]:
    """Return the first due keys with their deadlines, in the order of time.

    `owns` selects the keys to return; None: all.

    The caller knows that none is due before `low_ms`, where skipping deleted rows costs time.
    """
    start = _start(timer)
    # After every key that is due in this millisecond.
    last = min(now_ms + 1 + _OFFSET, _LAST)
    found: list[tuple[bytes, int]] = []
    begin = start + _TIME.pack(low_ms + _OFFSET)
    if last <= low_ms + _OFFSET:
        return found
    for key, _ in rows.iterate(DEADLINES, begin, start + _TIME.pack(last)):
        [time] = _TIME.unpack_from(key, len(start))
        due_key = key[len(start) + _TIME.size :]
        if owns is not None and not owns(due_key):
            continue
        found.append((due_key, time - _OFFSET))
        if len(found) == limit:
            break
    return found


def timers_moved(layer: Layer) -> dict[str, int]:
    """Return the earliest deadline that a layer sets, by timer."""
    table = layer.tables.get(DEADLINES)
    keys = [] if table is None else [key for key, row in table.rows.items() if row is not None]
    earliest: dict[str, int] = {}
    while keys:
        first = min(keys)
        end = first.index(b"\x00") + 1
        earliest[first[: end - 1].decode()] = _TIME.unpack_from(first, end)[0] - _OFFSET
        if max(keys).startswith(first[:end]):
            # They are all of this timer, as nearly always.
            break
        keys = [key for key in keys if not key.startswith(first[:end])]
    return earliest


#: Smaller than every deadline.
NEVER_BEFORE: Final = -_OFFSET
#: Larger than every deadline that can be found.
EVER_AFTER: Final = _OFFSET - 2


def _start(timer: str) -> bytes:
    return timer.encode() + b"\x00"


def _bounded(time_ms: int) -> int:
    return max(NEVER_BEFORE, min(time_ms, EVER_AFTER))


def _due_key(start: bytes, at_ms: int, key: bytes) -> bytes:
    return start + _TIME.pack(at_ms + _OFFSET) + key

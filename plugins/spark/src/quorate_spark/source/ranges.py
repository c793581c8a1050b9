"""Key ranges that can match a query, and their division among tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)
from quorate.plugin import keys
from quorate.plugin.advanced import Column, Table
from quorate.plugin.moments import from_us, to_us

#: More values than these are not looked for one by one.
MOST_RANGES: Final = 256
_INTERPOLATED: Final = 8
_BEGIN: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Of a key in these, each number is a timestamp of its own.
_PUSHED_UNITS: Final = frozenset({"s", "ms", "us"})


class KeyRange(NamedTuple):
    """Keys with `start <= key < end`; None is after every key."""

    start: bytes
    end: bytes | None


def pushed(table: Table, offered: Iterable[Filter]) -> tuple[Filter, ...]:
    """Return the filters that the reader carries out itself: those of columns of the key."""
    return tuple(each for each in offered if _of_key(table, each))


def of_filters(table: Table, filters: Sequence[Filter]) -> list[KeyRange]:
    """Return the ranges that hold every key which the filters let pass; they may hold more."""
    chosen: list[tuple[object, ...]] = [()]
    for column in table.key:
        [declared] = [each for each in table.columns if each.name == column]
        mine = [_stored(declared, each) for each in filters if each.attribute == (column,)]
        values = _equal_to(mine)
        if values is None or len(chosen) * max(len(values), 1) > MOST_RANGES:
            return _merged(_between(table, before, mine) for before in chosen)
        chosen = [(*before, value) for before, value in product(chosen, values)]
    return _merged(_beginning(table.to_key(*values)) for values in chosen)


def passes(batch: pa.RecordBatch, filters: Sequence[Filter]) -> pa.RecordBatch:
    """Return the rows that the filters let pass."""
    for each in filters:
        batch = batch.filter(_mask(batch, each))
    return batch


def divided(whole: KeyRange, first: bytes, last: bytes, parts: int) -> list[KeyRange]:
    """Divide a range into parts of about as many keys, if they lie evenly between both ends."""
    low = max(whole.start, first)
    high = min(last, whole.end) if whole.end is not None else last
    if parts < 2 or low >= high:
        return [whole]
    common = next(
        (at for at, (a, b) in enumerate(zip(low, high, strict=False)) if a != b),
        min(len(low), len(high)),
    )
    begin, beyond = (_number(key[common:]) for key in (low, high))
    cuts = [
        low[:common] + (begin + (beyond - begin) * part // parts).to_bytes(_INTERPOLATED)
        for part in range(1, parts)
    ]
    inner = sorted({cut for cut in cuts if low < cut <= high})
    starts = [whole.start, *inner]
    return [KeyRange(*each) for each in zip(starts, [*inner, whole.end], strict=True)]


def overlap(one: KeyRange, first: bytes, last: bytes) -> bool:
    """Return whether a range can hold any of the keys between both, which are keys themselves."""
    return one.start <= last and (one.end is None or first < one.end)


def _of_key(table: Table, offered: Filter) -> bool:
    if not isinstance(
        offered,
        EqualTo
        | In
        | GreaterThan
        | GreaterThanOrEqual
        | LessThan
        | LessThanOrEqual
        | StringStartsWith,
    ):
        return False
    if len(offered.attribute) != 1 or offered.attribute[0] not in table.key:
        return False
    [column] = [each for each in table.columns if each.name == offered.attribute[0]]
    value = offered.value
    values = value if isinstance(offered, In) else (value,)
    if column.moment:
        return column.moment in _PUSHED_UNITS and all(
            isinstance(each, datetime) and each.tzinfo is not None for each in values
        )
    return all(isinstance(each, str | bytes | int) for each in values)


def _stored(column: Column, offered: Filter) -> Filter:
    """Return a filter of moments as one of the numbers that keys have; any other as it is."""
    unit = column.moment
    if unit is None:
        return offered
    if isinstance(offered, EqualTo | In):
        values = offered.value if isinstance(offered, In) else (offered.value,)
        found = map(_us, values)
        # No key has a part of its unit.
        exact = (from_us(us, unit) for us in found if to_us(from_us(us, unit), unit) == us)
        return In(offered.attribute, tuple(exact))
    if isinstance(offered, GreaterThan | GreaterThanOrEqual | LessThan | LessThanOrEqual):
        us = _us(offered.value)
        number = from_us(us, unit)
        if isinstance(offered, GreaterThanOrEqual | LessThan) and to_us(number, unit) < us:
            number += 1
        return replace(offered, value=number)
    return offered


def _us(moment: datetime) -> int:
    return (moment - _BEGIN) // timedelta(microseconds=1)


def _equal_to(filters: Sequence[Filter]) -> list[object] | None:
    """Return the values that a column may have; None when no filter names them."""
    found: set[object] | None = None
    for each in filters:
        if isinstance(each, EqualTo | In):
            named = set(each.value) if isinstance(each, In) else {each.value}
            found = named if found is None else found & named
    return None if found is None else sorted(found)  # type: ignore[type-var]


def _between(table: Table, before: tuple[object, ...], filters: Sequence[Filter]) -> KeyRange:
    start, end = _beginning(table.to_key(*before))
    for each in filters:
        if isinstance(each, GreaterThan | GreaterThanOrEqual):
            start = max(start, table.to_key(*before, each.value))
        elif isinstance(each, LessThan):
            end = _smaller(end, table.to_key(*before, each.value))
        elif isinstance(each, LessThanOrEqual):
            end = _smaller(end, _beginning(table.to_key(*before, each.value)).end)
        elif isinstance(each, StringStartsWith):
            start = max(start, table.to_key(*before, each.value))
            beyond = _behind_all(each.value)
            if beyond is not None:
                end = _smaller(end, table.to_key(*before, beyond))
    return KeyRange(start, end)


def _beginning(key: bytes) -> KeyRange:
    return KeyRange(key, keys.after(key) if key.strip(b"\xff") else None)


def _behind_all(text: str) -> str | None:
    """Return the smallest text that is larger than all that begin with this one."""
    for at in range(len(text) - 1, -1, -1):
        code = ord(text[at]) + 1
        if 0xD800 <= code <= 0xDFFF:
            code = 0xE000
        if code <= 0x10FFFF:
            return text[:at] + chr(code)
    return None


def _smaller(one: bytes | None, other: bytes | None) -> bytes | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _merged(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """Return ranges in the order of their keys, no key in two of them."""
    merged: list[KeyRange] = []
    for each in sorted(ranges, key=lambda one: one.start):
        if each.end is not None and each.end <= each.start:
            continue
        last = merged[-1] if merged else None
        if last is not None and (last.end is None or each.start <= last.end):
            end = None if last.end is None or each.end is None else max(last.end, each.end)
            merged[-1] = KeyRange(last.start, end)
        else:
            merged.append(each)
    return merged


def _mask(batch: pa.RecordBatch, filtered: Filter) -> pa.Array:
    column = batch.column(filtered.attribute[0])
    if isinstance(filtered, In):
        return pc.is_in(column, value_set=pa.array(filtered.value, column.type))
    value: object = filtered.value
    if isinstance(filtered, StringStartsWith):
        return pc.starts_with(column, filtered.value)
    compare = {
        EqualTo: pc.equal,
        GreaterThan: pc.greater,
        GreaterThanOrEqual: pc.greater_equal,
        LessThan: pc.less,
        LessThanOrEqual: pc.less_equal,
    }[type(filtered)]
    return compare(column, pa.scalar(value, column.type))


def _number(key: bytes) -> int:
    return int.from_bytes(key[:_INTERPOLATED].ljust(_INTERPOLATED, b"\0"))

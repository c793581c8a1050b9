"""The history of one key: its changes and its deadlines."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from quorate.apply.deadlines import keyed
from quorate.apply.entries import index_of, revision_of
from quorate.apply.layers import Rows
from quorate.plugin import keys
from quorate.storage.events import (
    LOW_KEY,
    ROWS_END,
    IngestedError,
    RowChange,
    decode,
    event_key,
    index_of_key,
    oldest_entry,
)
from quorate.storage.families import EVENTS

#: What is looked at in one turn of the loop: entries, and their bytes.
_ENTRIES: Final = 2_000
_BYTES: Final = 2 << 20
#: Deadlines of a key that are returned.
_DEADLINES: Final = 20


class Change(NamedTuple):
    """A change of a row: `put`, `deleted`, or `loaded` where rows of its family came from files."""

    revision: int
    at_ms: int
    operation: str


class History(NamedTuple):
    """The changes of a key before a revision, as far as they were looked for."""

    #: The newest first.
    changes: list[Change]
    #: None after this revision is missing.
    complete_after: int
    #: Nothing older is kept.
    complete: bool


def changes(rows: Rows, family: str, key: bytes, before: int) -> History:
    """Return the changes of a key before a revision, or the newest ones with 0.

    A page of them, which ends with a whole entry: continue before `complete_after`.
    """
    found: list[Change] = []
    name = family.encode()
    newest = before - 1 if before else (1 << 64) - 1
    end = event_key(index_of(newest) + 1) if before else ROWS_END
    looked = size = 0
    for index_key, value in rows.iterate(EVENTS, event_key(0), end, reverse=True):
        if name in value:
            try:
                of_entry = [c for c in _of_key(value, family, key) if c.revision <= newest]
                found += reversed(of_entry)
            except IngestedError:
                at = index_of_key(index_key)
                return History([*found, Change(revision_of(at, 0), 0, "loaded")], 0, True)
        looked, size = looked + 1, size + len(value)
        if looked >= _ENTRIES or size >= _BYTES:
            return History(found, revision_of(index_of_key(index_key), 0), False)
    return History(found, revision_of(oldest_entry(rows.get(EVENTS, LOW_KEY)), 0), True)


def deadlines(rows: Rows, timers: Iterable[str], key: bytes) -> Iterator[tuple[str, bytes, int]]:
    """Yield timer, key and time of the deadlines of a key, or of keys that begin with its parts."""
    for timer in timers:
        of_timer = (
            (timer, each, at_ms)
            for each, at_ms in keyed(rows, timer, key)
            if each == key or _extends(each, key)
        )
        yield from islice(of_timer, _DEADLINES)


def _of_key(value: bytes, family: str, key: bytes) -> Iterator[Change]:
    for event in decode(value, {family: key}):
        change = event.change
        if isinstance(change, RowChange) and change.key == key:
            operation = "deleted" if change.value is None else "put"
            yield Change(event.revision, event.at_ms, operation)


def _extends(longer: bytes, key: bytes) -> bool:
    try:
        parts = keys.unpack(key)
        return bool(parts) and keys.unpack(longer)[: len(parts)] == parts
    except ValueError:
        return False

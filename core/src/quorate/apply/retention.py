"""Trims the event log, by the count of entries and by their logical age."""

from itertools import islice
from struct import Struct
from typing import Final

from quorate.apply.layers import Layer
from quorate.storage.events import (
    LOW_KEY,
    TIMES,
    event_key,
    time_key,
    timed_index,
)
from quorate.storage.families import EVENTS

_TIME: Final = Struct(">q")
#: How many notes of an entry's time a full log holds.
_NOTES: Final = 64
#: So many notes are passed at once; the next trimming goes on.
_PASSED_AT_ONCE: Final = 256


def step_of(retained_entries: int) -> int:
    """Return after how many entries the log is trimmed again."""
    return max(1, retained_entries // _NOTES)


def trim(layer: Layer, index: int, now_ms: int, retained_entries: int, retained_ms: int) -> None:
    """Forget the entries that are both too many and too old.

    It runs with every entry whose index is a multiple of `step_of`, and looks at the times that
    were noted at the ones before.
    """
    low = None
    passed = []
    for key, value in islice(layer.iterate(EVENTS, *TIMES), _PASSED_AT_ONCE):
        marked = timed_index(key)
        [at_ms] = _TIME.unpack(value)
        if marked > index - retained_entries or at_ms >= now_ms - retained_ms:
            break
        low = marked
        passed.append(key)
    if low is not None:
        kept = layer.get(EVENTS, LOW_KEY)
        first = b"" if kept is None else kept
        layer.delete_range(EVENTS, first, event_key(low + 1))
        layer.put(EVENTS, LOW_KEY, event_key(low))
        for key in passed:
            layer.delete(EVENTS, key)
    layer.put(EVENTS, time_key(index), _TIME.pack(now_ms))

"""Trims the event log: by the number of entries and their logical age, and by its bytes.

The first rule is every replica's own, and the same on each. The bytes are counted by the leader
alone, and what goes for them are effects of an entry: so replicas cannot differ, whatever their
settings and releases.
"""

from itertools import islice
from struct import Struct
from typing import Final

from quorate.apply.layers import Layer
from quorate.storage.events import LOW_KEY, TIMES, event_key, time_key, timed_index
from quorate.storage.families import EVENTS

_TIME: Final = Struct(">q")
#: The number of recorded times in a full log.
_NOTES: Final = 64
#: Maximum number of recorded times per trimming; the next one continues.
_PASSED_AT_ONCE: Final = 256


def step_of(retained_entries: int) -> int:
    """Return the number of entries between trimmings."""
    return max(1, retained_entries // _NOTES)


def trim(layer: Layer, index: int, now_ms: int, retained_entries: int, retained_ms: int) -> None:
    """Delete events that exceed both the number of entries and the age.

    It runs at every entry whose index is a multiple of `step_of`, and compares the times that
    earlier runs recorded.
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

"""The stored rows, deadlines and events of a shard, as plugins see them."""

from collections.abc import Iterable, Iterator

from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

from quorate.apply import deadlines
from quorate.apply.deadlines import Deadline
from quorate.apply.layers import Rows
from quorate.apply.scope import Family
from quorate.plugin import Row, RowEvent
from quorate.plugin.advanced import EmittedEvent, Event
from quorate.storage.events import RowChange, StoredEvent
from quorate.storage.families import DEADLINE_KEYS
from quorate.storage.rows import revision_of, value_of


def rows_in(rows: Rows, family: Family) -> Iterator[Row]:
    """Yield all rows of a family, in the order of their keys."""
    for key, stored in rows.iterate(family.name, b"", None):
        if family.public:
            yield Row(key, value_of(stored), revision_of(stored))
        else:
            yield Row(key, stored, 0)


def deadlines_in(rows: Rows) -> dict[tuple[str, bytes], Deadline]:
    """Return the pending deadlines, by timer and key."""
    found: dict[tuple[str, bytes], Deadline] = {}
    for stored, _ in rows.iterate(DEADLINE_KEYS, b"", None):
        name, _, key = stored.partition(b"\x00")
        timer = name.decode()
        deadline = deadlines.deadline_of(rows, timer, key)
        if deadline is not None:
            found[timer, key] = deadline
    return found


def events_of(stored: Iterable[StoredEvent]) -> Iterator[Event]:
    """Yield the events of stored events; the module of an emitted message must be imported."""
    for _, _, change in stored:
        if isinstance(change, RowChange):
            yield RowEvent(
                family=change.family,
                key=change.key,
                value=change.value,
                previous=change.previous,
            )
        else:
            kind = GetMessageClass(Default().FindMessageTypeByName(change.type))
            yield EmittedEvent(message=kind.FromString(change.payload))

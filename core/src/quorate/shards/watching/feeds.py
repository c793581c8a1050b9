"""Feeds: the rows of a shard at a revision, then every change after it.

Nothing is pushed. A feed reads the shard's event log from its own position, page by page on demand:
a slow reader holds one page, and gets `Lost` when the history it needs was trimmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, starmap
from typing import Final, NamedTuple, Protocol

from google.protobuf import descriptor_pool, message_factory

from quorate.apply.entries import index_of, whole
from quorate.plugin import RowEvent
from quorate.plugin.advanced import EmittedEvent, Event
from quorate.plugin.keys import after
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.shard import Shard
from quorate.shards.watching.waking import Waking
from quorate.storage.events import EventLog, HistoryGoneError, RowChange, StoredEvent
from quorate.storage.rows import revision_of, value_of

#: The families of a watch, each with the prefix that keys must have, and, with an empty one, the
#: full names of messages that are emitted.
Selection = Mapping[str, bytes]


class Seen(NamedTuple):
    """A row or a change; a listed row stands at the revision that wrote it."""

    revision: int
    event: Event
    #: The logical time of the command; 0 for a listed row.
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """The next changes of a shard, complete up to a revision."""

    events: Sequence[Seen]
    revision: int
    #: These are rows of the list, and more follow.
    listing: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """The feed cannot continue, for this reason: its reader must list again."""

    reason: str
    #: Whether a feed of another replica could continue from this position.
    only_here: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a feed: after a revision of a generation."""

    generation: int
    revision: int


class Feed(Protocol):
    """A shard's part of a watch; it wakes its reader when there may be more."""

    @property
    def generation(self) -> int:
        """The generation of the shard; 0 before the first page."""

    def take(self) -> Page | Lost | None:
        """Return the next page, or None if there is none yet."""

    def age_ms(self) -> int | None:
        """Return the staleness of this feed, or None if unknown."""

    def close(self) -> None:
        """Stop, and release everything."""


#: Opens a feed of a shard after `start`, or without it with the rows, at a revision or later, with
#: what wakes its reader. After a disconnect it continues by itself from its position.
OpenFeed = Callable[[ShardId, Selection, Start | None, int, Callable[[], None]], Feed]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
    """Limits of a page, which has at least one event or command."""

    rows: int = 500
    bytes: int = 1 << 20


class LocalFeed:
    """Reads a replica on this node."""

    def __init__(
        self,
        replica: Shard,
        selection: Selection,
        start: Start | None,
        not_before: int,
        wake: Callable[[], None],
        limits: PageLimits,
        waking: Waking,
        prompt: bool = True,
    ) -> None:
        #: Whether the reader wants to know at once how far it has come.
        self.prompt = prompt
        self._wake: Final = wake
        self._replica: Final = replica
        self._selection: Final = dict(selection)
        self._selected: Final = tuple(self._selection.items())
        self._not_before: Final = not_before
        self._limits: Final = limits
        self._waking: Final = waking
        self._log = EventLog(replica.data)
        #: The position after the last page; None until the list is complete.
        self._position: int | None = None if start is None else start.revision
        #: The first entry that may have something to read; None: none up to `Waking.upto` has.
        self._unread: int | None = None if start is None else _whole_index(start.revision) + 1
        self._rows: Iterator[tuple[int, RowEvent]] | None = None
        self._listed_at = 0
        self._lost: Lost | None = None
        if start is not None and start.generation < self.generation:
            self._lost = Lost(f"shard {replica.id} was restored or recovered")
        waking.add(self, self._selection, listing=start is None)
        self._cancel: Final = replica.on_replace(self._replaced)

    @property
    def generation(self) -> int:
        """The generation of the shard."""
        return self._replica.data.record.generation

    def take(self) -> Page | Lost | None:
        """Return the next page, or None if there is none yet."""
        if self._lost is None:
            try:
                return self._list() if self._position is None else self._follow(self._position)
            except HistoryGoneError as error:
                self._lose(str(error))
        return self._lost

    def age_ms(self) -> int | None:
        """Return the staleness of the replica's state."""
        age_ms = self._replica.staleness().age_ms
        return None if age_ms < 0 else age_ms

    def close(self) -> None:
        """Stop, and release everything."""
        self._lose("the watch was closed")
        self._cancel()
        self._waking.remove(self, self._selection)

    def wake(self) -> None:
        """Wake the reader."""
        self._wake()

    def mark(self, index: int) -> None:
        """Record that an entry may have something to read."""
        if self._unread is None:
            self._unread = index
        self.wake()

    def _replaced(self) -> None:
        self._lose(
            f"the database of shard {self._replica.id} on this node is closed or replaced",
            only_here=True,
        )
        self.wake()

    def _lose(self, reason: str, *, only_here: bool = False) -> None:
        self._lost = self._lost or Lost(reason, only_here)
        # An iterator holds the old database.
        self._rows = None

    def _list(self) -> Page | Lost | None:
        if self._rows is None:
            applied = whole(self._replica.data.applied)
            if applied < self._not_before:
                return None
            self._listed_at = applied
            self._rows = self._begin_list()
        page = _page(self._rows, self._limits)
        if page:
            # The changes since the list began must be there when it ends.
            if index_of(self._listed_at) < self._log.oldest - 1:
                self._lose("the list took longer than the history is kept")
                return self._lost
            return Page(page, self._listed_at, listing=True)
        self._rows = None
        self._position = self._listed_at
        self._unread = index_of(self._listed_at) + 1
        self._waking.listed(self)
        return Page((), self._listed_at)

    def _begin_list(self) -> Iterator[tuple[int, RowEvent]]:
        """Take a consistent view of all families at the applied revision."""
        data, rows = self._replica.data, self._replica.own_rows
        views = [
            (family, rows.iterate(family, prefix, _behind(prefix)))
            for family, prefix in self._selection.items()
            if family in data.families
        ]
        return chain.from_iterable(starmap(_rows, views))

    def _follow(self, position: int) -> Page | None:
        upto = whole(self._waking.upto)
        if self._unread is None:
            # Nothing that was applied since is for this feed.
            if upto <= position:
                return None
            self._position = upto
            return Page((), upto)
        index = max(self._unread - 1, _whole_index(position))
        index = self._replica.data.touched.unchanged_to(self._selection, index)
        events, revision = self._waking.read(
            max(position, whole(index)), self._selected, self._limits.rows, self._limits.bytes
        )
        self._unread = None if revision >= upto else _whole_index(revision) + 1
        if revision == position:
            return None
        self._position = revision
        return Page([seen for event in events if (seen := _seen(event)) is not None], revision)


def _whole_index(revision: int) -> int:
    """Return the index of the last entry that is complete at a revision."""
    index = index_of(revision)
    return index if revision == whole(index) else index - 1


def _rows(family: str, view: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[int, RowEvent]]:
    for key, stored in view:
        yield revision_of(stored), RowEvent(family=family, key=key, value=value_of(stored))


def _seen(stored: StoredEvent) -> Seen | None:
    """Return the event for the reader, if any."""
    change = stored.change
    if isinstance(change, RowChange):
        family, key, value, previous = change
        row = RowEvent(family=family, key=key, value=value, previous=previous)
        return Seen(stored.revision, row, stored.at_ms)
    event = emitted(change.type, change.payload)
    return None if event is None else Seen(stored.revision, event, stored.at_ms)


def emitted(name: str, payload: bytes) -> EmittedEvent | None:
    """Return the event of a message; None if its plugin is not on this node."""
    try:
        described = descriptor_pool.Default().FindMessageTypeByName(name)
    except KeyError:
        return None
    return EmittedEvent(message=message_factory.GetMessageClass(described).FromString(payload))


def _behind(prefix: bytes) -> bytes | None:
    """Return the end of the keys with a prefix; None if there is no key after them."""
    return after(prefix) if prefix.strip(b"\xff") else None


def _page(rows: Iterator[tuple[int, RowEvent]], limits: PageLimits) -> list[Seen]:
    page: list[Seen] = []
    room = limits.bytes
    for revision, row in islice(rows, limits.rows):
        page.append(Seen(revision, row))
        room -= len(row.key) + len(row.value or b"")
        if room < 0:
            break
    return page

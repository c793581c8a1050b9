"""Wakes the feeds of a replica that have something to read, by one look at each entry."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from quorate.apply.entries import index_of, whole
from quorate.shards.shard.shard import Shard
from quorate.storage.events import EventLog, HistoryGoneError, RowChange, StoredEvent

#: How soon the reader of a prompt feed learns of entries without events for it.
PASSING_S: Final = 0.05
#: How soon the others do, where nothing else is set.
ROUND_S: Final = 10.0
#: Feeds are woken a few at a time: each may let its reader write to a client.
_TURN_S: Final = 0.004
_TURN_PROMPT: Final = 16
_TURN_PATIENT: Final = 4
#: What is looked at of the entries of one turn; beyond it every feed reads for itself.
_MOST_EVENTS: Final = 10_000
_MOST_BYTES: Final = 1 << 20


#: Families, or messages, each with a prefix.
Selected = tuple[tuple[str, bytes], ...]


class WokenFeed(Protocol):
    """A feed that follows a replica."""

    @property
    def prompt(self) -> bool:
        """Whether its reader wants to know at once how far it has come."""

    def mark(self, index: int) -> None:
        """Record that an entry may have something for it, and wake the reader."""

    def wake(self) -> None:
        """Wake the reader."""


class _Rounds:
    """Wakes feeds again and again while entries are applied, each once in a round.

    A round begins `after_s` after an entry, and lasts `spread_s` or longer: at most `most` feeds
    are woken in a turn.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, after_s: float, spread_s: float, most: int
    ) -> None:
        self.feeds: Final[dict[WokenFeed, None]] = {}
        self._loop: Final = loop
        self._after_s: Final = after_s
        self._spread_s: Final = spread_s
        self._most: Final = most
        self._left: Final[deque[WokenFeed]] = deque()
        self._turn_feeds = 1
        self._turn_s = _TURN_S
        #: Whether entries were applied since the round began.
        self._again = False
        self._timer: asyncio.TimerHandle | None = None

    def passed(self) -> None:
        """Record that an entry was applied."""
        if self._timer is not None:
            self._again = True
        elif self.feeds:
            self._timer = self._loop.call_later(self._after_s, self._begin)

    def stop(self) -> None:
        """Wake no feed any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self) -> None:
        self._again = False
        self._left.extend(self.feeds)
        count = len(self._left) or 1
        self._turn_feeds = self._most
        if self._spread_s:
            self._turn_feeds = min(self._most, 1 + int(count * _TURN_S / self._spread_s))
        self._turn_s = max(_TURN_S, self._spread_s * self._turn_feeds / count)
        self._turn()

    def _turn(self) -> None:
        for _ in range(min(self._turn_feeds, len(self._left))):
            feed = self._left.popleft()
            if feed in self.feeds:
                feed.wake()
        self._timer = self._loop.call_later(self._turn_s, self._turn if self._left else self._end)

    def _end(self) -> None:
        self._timer = None
        if self._again:
            self.passed()


class Waking:
    """The feeds of a replica, by their selections.

    An entry up to `upto` that has something for a feed was reported to it.
    """

    def __init__(
        self,
        replica: Shard,
        loop: asyncio.AbstractEventLoop,
        closed: Callable[[], object],
        round_s: float = ROUND_S,
    ) -> None:
        self._replica: Final = replica
        self._closed: Final = closed
        self.upto = replica.data.applied
        #: By family, or message, and prefix.
        self._feeds: Final[dict[str, dict[bytes, dict[WokenFeed, None]]]] = {}
        #: How many prefixes have each length, by family.
        self._lengths: Final[dict[str, Counter[int]]] = {}
        #: Those that list rows and may wait for newer ones.
        self._listing: Final[dict[WokenFeed, None]] = {}
        self._prompt: Final = _Rounds(loop, PASSING_S, 0.0, _TURN_PROMPT)
        self._patient: Final = _Rounds(loop, _TURN_S, round_s, _TURN_PATIENT)
        #: What was last asked for in this turn of the loop, and found.
        self._read: tuple[object, tuple[Sequence[StoredEvent], int]] | None = None
        self._loop: Final = loop
        self._ended = False
        self._cancels: Final = (
            replica.subscribe(lambda _: self._applied()),
            replica.on_replace(self.close),
        )

    def add(
        self, feed: WokenFeed, selection: Mapping[str, bytes], *, listing: bool = False
    ) -> None:
        """Wake a feed from now on; a listing feed at every entry, until it is `listed`."""
        if listing:
            self._listing[feed] = None
        for family, prefix in selection.items():
            prefixes = self._feeds.setdefault(family, {})
            if prefix not in prefixes:
                prefixes[prefix] = {}
                self._lengths.setdefault(family, Counter())[len(prefix)] += 1
            prefixes[prefix][feed] = None
        (self._prompt if feed.prompt else self._patient).feeds[feed] = None

    def remove(self, feed: WokenFeed, selection: Mapping[str, bytes]) -> None:
        """Wake a feed no more."""
        for family, prefix in selection.items():
            prefixes = self._feeds.get(family, {})
            feeds = prefixes.get(prefix, {})
            if feeds.pop(feed, self) is None and not feeds:
                del prefixes[prefix]
                lengths = self._lengths[family]
                lengths[len(prefix)] -= 1
                if not lengths[len(prefix)]:
                    del lengths[len(prefix)]
                if not prefixes:
                    del self._feeds[family], self._lengths[family]
        for rounds in (self._prompt, self._patient):
            rounds.feeds.pop(feed, None)
        self._listing.pop(feed, None)
        if not self._prompt.feeds and not self._patient.feeds:
            self.close()

    def listed(self, feed: WokenFeed) -> None:
        """Record that a feed has listed all rows."""
        self._listing.pop(feed, None)

    def read(
        self, after: int, selection: Selected, most_rows: int, most_bytes: int
    ) -> tuple[Sequence[StoredEvent], int]:
        """Read the selected events after a revision, as `EventLog.read` does.

        Feeds that select the same are woken together and stand at the same place: what the first
        one reads in a turn of the loop, the others get.
        """
        data = self._replica.data
        asked = after, data.applied, selection, most_rows, most_bytes
        if self._read is None or self._read[0] != asked:
            if self._read is None:
                self._loop.call_soon(self._forget)
            found = EventLog(data).read(
                after, dict(selection), max_rows=most_rows, max_bytes=most_bytes
            )
            self._read = asked, found
        return self._read[1]

    def _forget(self) -> None:
        self._read = None

    def close(self) -> None:
        """Wake no feed any more: none is left, or their database is closed or replaced."""
        if self._ended:
            return
        self._ended = True
        self._closed()
        for cancel in self._cancels:
            cancel()
        self._prompt.stop()
        self._patient.stop()

    # What was applied.

    def _applied(self) -> None:
        data = self._replica.data
        after, self.upto = self.upto, max(self.upto, data.applied)
        if self.upto == after:
            return
        for feed in list(self._listing):
            feed.wake()
        changed = data.touched.those_changed(self._feeds, after)
        self._mark_whole(changed, after)
        self._look(changed, after)
        self._prompt.passed()
        self._patient.passed()

    def _mark_whole(self, families: Iterable[str], after: int) -> None:
        """Mark the feeds of whole families."""
        for family in families:
            for feed in list(self._feeds[family].get(b"", ())):
                feed.mark(after + 1)

    def _look(self, families: Iterable[str], after: int) -> None:
        """Mark the feeds of prefixes that have something in the entries after an index."""
        wanted = {each: b"" for each in families if any(self._feeds[each])}
        if not wanted:
            return
        log = EventLog(self._replica.data)
        try:
            events, revision = log.read(
                whole(after), wanted, max_rows=_MOST_EVENTS, max_bytes=_MOST_BYTES
            )
        except HistoryGoneError:
            events, revision = [], whole(after)
        for event in events:
            if isinstance(event.change, RowChange):
                self._mark(event.change.family, event.change.key, index_of(event.revision))
        if revision < whole(self.upto):
            for family in wanted:
                for feeds in self._feeds[family].values():
                    for feed in list(feeds):
                        feed.mark(index_of(revision) + 1)

    def _mark(self, family: str, key: bytes, index: int) -> None:
        prefixes = self._feeds[family]
        for length in self._lengths[family]:
            if length and (feeds := prefixes.get(key[:length])) is not None:
                for feed in list(feeds):
                    feed.mark(index)

"""The watches of a store on this node.

A watch either follows, and gets each transaction as it comes, or is behind: it began in the past,
or its client reads too slowly. What is behind is read from the history, for all such watches at a
time, until they meet those that follow. No watch is told of a revision twice, and none is left out.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final

from quorate.plugin import Metric, Rejected

from quorate_etcd import errors
from quorate_etcd.serving.following import Follower, Transaction
from quorate_etcd.serving.index import Index
from quorate_etcd.serving.store import Store
from quorate_etcd.serving.streams import Stream, Watcher
from quorate_etcd.store.view import Span, pair_of, span_of
from quorate_etcd.v1 import queries_pb2 as asked, rows_pb2 as rows
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

_log = logging.getLogger(__name__)

_RETRY_S: Final = 0.2
_SWEPT_S: Final = 0.05
_OBSERVE_S: Final = 5.0
#: How long a new watch waits for a node that is behind; longer than a call waits for a leader.
_BEHIND_S: Final = 10.0
#: Ranges by which the history is filtered; for more it is read whole.
_MOST_SPANS: Final = 64
#: Watches and events that are looked at between two turns of the loop.
_AT_A_TIME: Final = 2_000
#: Versions that are read at a time.
_VERSIONS_AT_A_TIME: Final = 200
#: Of a revision that is too large: events by which its watches are found.
_SHOWN: Final = 100

WATCHES: Final = Metric(
    name="quorate_etcd_watches",
    kind="gauge",
    help="Watches that this node holds for the clients of etcd.",
    labels=("store",),
)
WATCHES_REFUSED: Final = Metric(
    name="quorate_etcd_watches_refused_total",
    kind="counter",
    help="Watches that were refused, as their connection or this node had too many.",
    labels=("store",),
)

_Place = tuple[int, int]


class _TooLargeError(Exception):
    """The changes of a revision do not fit into an answer."""

    def __init__(self, found: Sequence[mvcc.Event]) -> None:
        super().__init__("a revision is too large for watches")
        self.revision: Final = found[-1].kv.mod_revision
        #: The keys of some of its changes.
        self.keys: Final = [each.kv.key for each in found[-_SHOWN:]]


class Watches:
    """Sends the watches of a store the changes of their keys."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self._index: Final = Index()
        #: Those that are behind.
        self._behind: Final[dict[Watcher, None]] = {}
        self._wake: Final = asyncio.Event()
        self._count = 0
        #: The number of watches of each client's connection.
        self._of_connections: Final = Counter[str]()
        self.follower: Final = Follower(store, self._happened, self._lost)

    def __len__(self) -> int:
        return self._count

    async def run(self) -> None:
        """Serve the watches for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.follower.run())
            tasks.create_task(self._bring_forward())
            tasks.create_task(self._note_progress())
            tasks.create_task(self._observe())

    def stream(self, connection: str = "") -> Stream:
        """Return a new stream of a connection; those of this node itself have none."""
        config = self._store.config
        fragment_bytes = config.request_bytes + (512 << 10)
        return Stream(config.watch_buffer_bytes, fragment_bytes, self._wake.set, connection)

    def refusal(self, stream: Stream) -> str | None:
        """Return the reason to refuse a further watch of a stream; None: there is room for it."""
        config, connection = self._store.config, stream.connection
        if connection and self._of_connections[connection] >= config.connection_watches:
            reason = (
                f"{errors.PREFIX}the connection has {config.connection_watches:,} watches "
                "(connection_watches of [plugins.etcd]): watch ranges, or open another one"
            )
        elif self._count >= config.watches:
            reason = (
                f"{errors.PREFIX}this node has {config.watches:,} watches (watches of "
                "[plugins.etcd]): connect to another one"
            )
        else:
            return None
        self._store.node.count(WATCHES_REFUSED.name, store=self._store.name)
        return reason

    async def add(self, watcher: Watcher) -> None:
        """Answer the creation of a watch, and begin it."""
        stream = watcher.stream
        # It counts while it waits.
        stream.watchers[watcher.number] = watcher
        self._count += 1
        self._of_connections[stream.connection] += 1
        try:
            compacted = await self._catch_up()
        except BaseException:
            self.remove(watcher)
            raise
        now = self.follower.revision
        stream.send(
            rpc.WatchResponse(header=self._store.header(now), watch_id=watcher.number, created=True)
        )
        if not watcher.next:
            watcher.next = now + 1
        if watcher.next < compacted:
            self._cancel_compacted(watcher, compacted)
        elif watcher.next > now:
            self._follow(watcher)
        else:
            self._fall_behind(watcher, watcher.next)

    async def _catch_up(self) -> int:
        """Wait until this node follows the store, and has passed on what is answered by now.

        Returns the revision from which on a watch may begin.

        Without a leader it waits for one, as streams do. A node that is behind for long refuses:
        its clients find another one.
        """
        while True:
            try:
                async with asyncio.timeout(_BEHIND_S):
                    standing = await self._store.stand()
                    await self.follower.reached(standing.revision)
            except TimeoutError:
                errors.TIMED_OUT_APPLIED.refuse()
            except Rejected as refusal:
                if refusal.message != errors.TIMED_OUT.text:
                    raise
            else:
                return standing.compacted

    def remove(self, watcher: Watcher) -> None:
        """End a watch."""
        if watcher.stream.watchers.pop(watcher.number, None) is None:
            return
        self._count -= 1
        connection = watcher.stream.connection
        self._of_connections[connection] -= 1
        if not self._of_connections[connection]:
            del self._of_connections[connection]
        self._behind.pop(watcher, None)
        if watcher.following:
            self._index.remove(watcher)

    def progress(self, stream: Stream) -> None:
        """Tell a client how far its watches are, if all of them have been told everything."""
        now = self.follower.revision
        if self.follower.live and all(
            each.following and each.next <= now + 1 for each in stream.watchers.values()
        ):
            stream.send(rpc.WatchResponse(header=self._store.header(now), watch_id=-1))

    # Those that follow.

    def _follow(self, watcher: Watcher) -> None:
        watcher.following = True
        self._index.add(watcher)

    def _fall_behind(self, watcher: Watcher, following: int) -> None:
        if watcher.following:
            watcher.following = False
            self._index.remove(watcher)
        watcher.next = following
        self._behind[watcher] = None
        self._wake.set()

    def _lost(self) -> None:
        for watcher in self._index.all():
            self._fall_behind(watcher, max(watcher.next, self.follower.revision + 1))

    async def _happened(self, transactions: Sequence[Transaction]) -> None:
        if not self._count:
            return
        found: dict[_Place, mvcc.KeyValue] = {}
        room = self._store.config.range_bytes
        while room > 0 and (needed := self._needed(transactions, found)):
            while needed and room > 0:
                some = needed[:_VERSIONS_AT_A_TIME]
                query = asked.FindVersions(
                    store=self._store.name,
                    places=[rows.Place(revision=revision, sub=sub) for revision, sub in some],
                )
                read = await self._store.read(
                    query, asked.Versions, consistency="stale", applied=self.follower.applied
                )
                # Large ones come in several answers.
                found.update(zip(some, read.kvs, strict=False))
                needed = needed[len(read.kvs) :]
                room -= read.ByteSize()
        # Nothing is awaited from here on: a watch that is added now begins behind them all.
        for each in transactions:
            self._tell(each, found)

    def _needed(
        self, transactions: Sequence[Transaction], found: dict[_Place, mvcc.KeyValue]
    ) -> list[_Place]:
        """Return the places of the versions that are to be read for the watches of now."""
        needed: dict[_Place, None] = {}
        for revision, changes, *_ in transactions:
            for change in changes:
                previous = change.HasField("previous")
                large = not change.deleted and not change.HasField("value")
                if not previous and not large:
                    continue
                watchers = self._index.matching(change.key)
                if large and next(watchers, None) is not None:
                    needed[revision, change.sub] = None
                    watchers = self._index.matching(change.key)
                if previous and any(each.previous for each in watchers):
                    needed[change.previous.revision, change.previous.sub] = None
        return [place for place in needed if place not in found]

    def _tell(self, transaction: Transaction, found: dict[_Place, mvcc.KeyValue]) -> None:
        revision = transaction.revision
        told: dict[Watcher, list[mvcc.Event]] = {}
        # What is swept they read from the history.
        lacking = {
            each
            for sweep in transaction.sweeps
            for each in self._index.all()
            if each.next <= revision and each.span.meets(span_of(sweep))
        }
        for change in transaction.changes:
            watchers = [each for each in self._index.matching(change.key) if each.next <= revision]
            if not watchers:
                continue
            event = _event(revision, change, found)
            with_previous: mvcc.Event | None = None
            for watcher in watchers:
                if event is None or (watcher.previous and _lacks_previous(change, found)):
                    lacking.add(watcher)
                elif watcher.wants(event):
                    if watcher.previous and with_previous is None:
                        with_previous = _with_previous(event, change, found)
                    shown = with_previous if watcher.previous else event
                    told.setdefault(watcher, []).append(shown or event)
        if not told and not lacking:
            return
        header = self._store.header(revision)
        for watcher, events in told.items():
            if watcher in lacking or watcher.stream.full:
                lacking.add(watcher)
            else:
                watcher.stream.send_events(watcher, header, events)
                watcher.next = revision + 1
        for watcher in lacking:
            self._fall_behind(watcher, revision)

    # Those that are behind.

    async def _bring_forward(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while await self._bring_some():
                    pass
            except Exception as error:  # noqa: BLE001 - a later attempt may succeed
                if not hasattr(error, "code"):
                    _log.warning("cannot read the history for watches: %s", error, exc_info=error)
                await asyncio.sleep(_RETRY_S)
                self._wake.set()

    async def _bring_some(self) -> bool:
        """Bring watches forward by one part of the history; return whether any are left."""
        ready = [each for each in self._behind if not each.stream.full]
        if not ready:
            return False
        if not self.follower.live:
            # It will be where the store is then.
            await self.follower.reached(0)
        start = min(each.next for each in ready)
        try:
            changes = await self._changes(self._history(ready, start))
        except _TooLargeError as found:
            self._cancel_large(ready, found)
            return True
        if changes.until < start:
            # A sweep is being written out.
            await asyncio.sleep(_SWEPT_S)
        looked_at = 0
        for watcher in ready:
            if watcher in self._behind and watcher.next <= max(changes.until, changes.compacted):
                await self._bring(watcher, changes)
            looked_at += 1 + len(changes.events)
            if looked_at >= _AT_A_TIME:
                looked_at = 0
                await asyncio.sleep(0)
        if not self.follower.live:
            # It goes on with the newest transaction, and not after this one.
            return True
        for watcher in ready:
            if watcher in self._behind and watcher.next > self.follower.revision:
                del self._behind[watcher]
                self._follow(watcher)
        return True

    async def _changes(self, query: asked.History) -> asked.Changes:
        """Return changes of whole revisions, which large ones are read for in parts.

        Raises `_TooLargeError` for a revision with more than an answer may have.
        """
        changes, room = asked.Changes(), self._store.config.range_bytes
        while not changes.until or query.at:
            read = await self._store.read(
                query, asked.Changes, consistency="stale", applied=self.follower.applied
            )
            room -= read.ByteSize()
            if room < 0 and changes.events:
                raise _TooLargeError(changes.events)
            changes.MergeFrom(read)
            query.at = changes.next
            changes.ClearField("next")
            # What this node itself reads takes no turn of the loop.
            await asyncio.sleep(0)
        return changes

    def _history(self, ready: Sequence[Watcher], start: int) -> asked.History:
        spans = list(islice(dict.fromkeys(each.span for each in ready), _MOST_SPANS + 1))
        if len(spans) > _MOST_SPANS:
            spans = [Span(b"\x00", None)]
        query = asked.History(
            store=self._store.name,
            ranges=[asked.KeyRange(key=key, range_end=end or b"\x00") for key, end in spans],
            previous=any(each.previous for each in ready),
        )
        setattr(query, "from", start)
        return query

    async def _bring(self, watcher: Watcher, changes: asked.Changes) -> None:
        if watcher.next < changes.compacted:
            self._cancel_compacted(watcher, changes.compacted)
            return
        if watcher.stream.full:
            return
        events: list[mvcc.Event] = []
        for first in range(0, len(changes.events), _AT_A_TIME):
            if first:
                await asyncio.sleep(0)
            events += (
                event if watcher.previous else _without_previous(event)
                for event in changes.events[first : first + _AT_A_TIME]
                if event.kv.mod_revision >= watcher.next
                and watcher.span.holds(event.kv.key)
                and watcher.wants(event)
            )
        if watcher not in self._behind:
            return
        if events:
            header = self._store.header(changes.revision)
            watcher.stream.send_events(watcher, header, events)
        # A sweep that is older than a leap of the revision may be to be written out yet.
        watcher.next = max(watcher.next, changes.until + 1)

    def _cancel_compacted(self, watcher: Watcher, compacted: int) -> None:
        self.remove(watcher)
        watcher.stream.send(
            rpc.WatchResponse(
                header=self._store.header(0),
                watch_id=watcher.number,
                canceled=True,
                compact_revision=compacted,
            )
        )

    def _cancel_large(self, ready: Sequence[Watcher], found: _TooLargeError) -> None:
        """Cancel watches of a revision: those that ask for previous pairs, if there are any."""
        previous = any(each.previous for each in ready)
        concerned = [
            each
            for each in ready
            if each in self._behind and each.next <= found.revision and each.previous == previous
        ]
        seen = [each for each in concerned if any(map(each.span.holds, found.keys))]
        reason = (
            f"{errors.PREFIX}revision {found.revision} has more than "
            f"{self._store.config.range_bytes:,} bytes for this watch (range_bytes of "
            "[plugins.etcd]): watch smaller ranges, or without prev_kv"
        )
        for watcher in seen or concerned:
            self.remove(watcher)
            watcher.stream.send(
                rpc.WatchResponse(
                    header=self._store.header(self.follower.revision),
                    watch_id=watcher.number,
                    canceled=True,
                    cancel_reason=reason,
                )
            )

    async def _observe(self) -> None:
        while True:
            self._store.node.observe(WATCHES.name, self._count, store=self._store.name)
            await asyncio.sleep(_OBSERVE_S)

    async def _note_progress(self) -> None:
        while True:
            await asyncio.sleep(self._store.config.progress_interval_s)
            now = self.follower.revision
            for watcher in self._index.all() if self.follower.live else ():
                due = watcher.progress and not watcher.told and not watcher.stream.full
                if due and watcher.next <= now + 1:
                    header = self._store.header(now)
                    watcher.stream.send(rpc.WatchResponse(header=header, watch_id=watcher.number))
                watcher.told = False


def _event(
    revision: int, change: rows.Change, found: dict[_Place, mvcc.KeyValue]
) -> mvcc.Event | None:
    """Return the event of a change; None: its value was not read, or is gone by a compaction."""
    if change.deleted:
        kv = mvcc.KeyValue(key=change.key, mod_revision=revision)
        return mvcc.Event(type=mvcc.Event.DELETE, kv=kv)
    if not change.HasField("value"):
        read = found.get((revision, change.sub))
        return mvcc.Event(kv=read) if read is not None and read.key else None
    return mvcc.Event(kv=pair_of(change.key, change, revision, change.value))


def _lacks_previous(change: rows.Change, found: dict[_Place, mvcc.KeyValue]) -> bool:
    """Whether the previous pair of a change was not read: there were too many."""
    place = change.previous
    return change.HasField("previous") and (place.revision, place.sub) not in found


def _with_previous(
    event: mvcc.Event, change: rows.Change, found: dict[_Place, mvcc.KeyValue]
) -> mvcc.Event:
    if not change.HasField("previous"):
        return event
    kv = found[change.previous.revision, change.previous.sub]
    return mvcc.Event(type=event.type, kv=event.kv, prev_kv=kv) if kv.key else event


def _without_previous(event: mvcc.Event) -> mvcc.Event:
    return mvcc.Event(type=event.type, kv=event.kv) if event.HasField("prev_kv") else event

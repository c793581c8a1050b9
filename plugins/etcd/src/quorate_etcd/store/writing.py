"""A transaction of a store: all its changes get one revision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from quorate.plugin import Txn

from quorate_etcd import errors
from quorate_etcd.families import (
    COMPACTION,
    KEYS,
    LEASE_KEYS,
    PAST,
    REVISIONS,
    TRANSACTIONS,
    attached_key,
    past_key,
    revision_key,
)
from quorate_etcd.store import sweeping
from quorate_etcd.store.view import Span, View, tail_key
from quorate_etcd.v1 import rows_pb2 as rows

#: How far the revisions of a store leap at a restore: no client has seen those after it.
LEAP: Final = 1 << 30
#: The part of a value that is in the row of its change.
_IN_ROW: Final = 1_000_000
#: The size up to which a value is in the event of its transaction.
_IN_EVENT: Final = 4_096
#: The size of an event; a transaction with larger changes has several.
_EVENT_BYTES: Final = 16_384
#: Keys longer than this do not fit into the rows of their versions.
MOST_KEY_BYTES: Final = 4_000


class Writing:
    """Changes the keys of a store in one revision, which `commit` makes the newest."""

    def __init__(self, txn: Txn, store: str) -> None:
        self._txn: Final = txn
        self.view: Final = View(txn, store)
        self._prefix: Final = self.view.prefix
        self._changes: Final[list[rows.Change]] = []
        #: The number of the next change, and the length of the keys that were deleted before it.
        self._sub = self._bytes = 0
        #: The versions before the transaction of the keys that it has changed.
        self._before: Final[dict[bytes, rows.Place | None]] = {}
        self.begin()
        #: Whether it goes on after revisions that a restore has taken back.
        self.leapt: Final = self.view.row.generation != txn.generation
        if self.leapt:
            # Go on after all revisions that were given out since the backup was taken.
            row, generation = self.view.row, txn.generation
            self.leap(row.revision + LEAP * max(1, generation - row.generation))
            row.generation = generation

    def begin(self) -> None:
        """Begin the next transaction, after all of the one before was committed."""
        self._changes.clear()
        self._sub = self._bytes = 0
        self._before.clear()
        self.view.begin()
        #: The revision of the changes.
        self.revision = self.view.row.revision + 1

    def leap(self, revision: int) -> None:
        """Go on after a revision, and make it the compacted one."""
        self.view.row.revision = self.view.latest = revision
        self.revision = revision + 1
        # Watches that have seen what it takes back end.
        self.release(revision, math.inf)
        self.schedule_cleaning()

    def compact(self, revision: int) -> None:
        """Make history before a revision unreadable, and let it be deleted."""
        self.release(revision, self._txn.proposed_at_ms)
        self.schedule_cleaning()

    def release(self, compacted: int, now_ms: float) -> None:
        """Keep the history from a compaction on, and that of sweeps which is to stay by now."""
        row, kept = self.view.row, self.view.kept
        row.compacted = compacted
        while row.swept and row.swept[0].until_ms <= now_ms:
            del row.swept[0]
        if row.HasField("walked") and row.walked.revision == kept < self.view.kept:
            # The ends of keys in this revision were left so far, and go now.
            row.walked.sub = 0
            row.ClearField("walked_key")

    def schedule_cleaning(self) -> None:
        """Let compacted history be deleted from the next look of the timer on."""
        self._txn.schedule(COMPACTION, self._prefix, self._txn.proposed_at_ms + 1)

    @property
    def changed(self) -> bool:
        """Whether there are any."""
        return self._sub > 0

    def put(self, key: bytes, value: bytes, lease: int) -> rows.Version | None:
        """Write a key; returns the version that it ended, if any."""
        ended = self.view.stored(key)
        if ended is not None and sweeping.write_out(self._txn, self.view, key, ended):
            ended = None
        place = rows.Place(revision=self.revision, sub=self._sub, large=len(value) > _IN_ROW)
        made = rows.Version(
            place=place,
            create_revision=self.revision if ended is None else ended.create_revision,
            version=1 if ended is None else ended.version + 1,
            lease=lease,
        )
        self._end(key, ended)
        self._txn.put(KEYS, self._prefix + key, made.SerializeToString())
        if lease:
            self._txn.put(LEASE_KEYS, attached_key(self._prefix, lease, key), b"")
        revision = rows.Revision(
            key=key,
            value=value[:_IN_ROW],
            create_revision=made.create_revision,
            version=made.version,
            lease=lease,
            large=place.large,
        )
        change = rows.Change(
            key=key, create_revision=made.create_revision, version=made.version, lease=lease
        )
        if len(value) <= _IN_EVENT:
            change.value = value
        self._note(change, revision, ended)
        if place.large:
            named = revision_key(self._prefix, place.revision, place.sub)
            self._txn.put(REVISIONS, tail_key(named), value[_IN_ROW:])
        return ended

    def delete(self, key: bytes, ended: rows.Version) -> None:
        """End a key, of which the newest version is given."""
        self._bytes += len(key)
        self._end(key, ended)
        self._txn.delete(KEYS, self._prefix + key)
        self._note(rows.Change(key=key, deleted=True), rows.Revision(key=key, deleted=True), ended)

    def _end(self, key: bytes, ended: rows.Version | None) -> None:
        if ended is None:
            return
        past = past_key(self._prefix, key, self.revision, self._sub)
        self._txn.put(PAST, past, ended.SerializeToString())
        if ended.lease:
            self._txn.delete(LEASE_KEYS, attached_key(self._prefix, ended.lease, key))

    def _note(
        self, change: rows.Change, revision: rows.Revision, ended: rows.Version | None
    ) -> None:
        change.sub = self._sub
        if change.key in self._before:
            # A nested transaction may delete what another one has put.
            if ended is not None:
                revision.replaced.CopyFrom(ended.place)
        else:
            self._before[change.key] = None if ended is None else ended.place
        before = self._before[change.key]
        if before is not None:
            change.previous.CopyFrom(before)
            revision.previous.CopyFrom(before)
        named = revision_key(self._prefix, self.revision, self._sub)
        self._txn.put(REVISIONS, named, revision.SerializeToString())
        self._changes.append(change)
        self._next()

    def _next(self) -> None:
        self._sub += 1
        self.view.latest = self.revision

    def takes(self, named: Sequence[bytes]) -> bool:
        """Whether keys can be deleted one by one; others are to be swept."""
        size = sum(map(len, named))
        return not named or (
            self._sub + len(named) <= sweeping.MOST_DIRECT
            and self._bytes + size <= sweeping.MOST_DIRECT_BYTES
        )

    def sweep(self, span: Span, count: int, lease: int = 0) -> None:
        """End `count` keys in one change: all keys of a span, or those of a lease in it.

        Keys that the transaction itself has changed go one by one.
        """
        if count > sweeping.MOST_SWEPT:
            errors.REQUEST_TOO_LARGE.refuse()
        if not self.has_room(count):
            errors.TOO_MANY_REQUESTS.refuse()
        for key in [each for each in self._before if span.holds(each)]:
            if (version := self.view.newest(key)) is not None:
                self.delete(key, version)
        pending = self.view.row.sweeps
        sweep = pending.add(start=span.start, lease=lease, keys=count)
        if span.end is not None:
            sweep.end = span.end
        sweep.place.revision, sweep.place.sub = self.revision, self._sub
        self._next()
        self.schedule_cleaning()

    def has_room(self, count: int) -> bool:
        """Whether a sweep of `count` keys fits beside the pending ones."""
        pending = self.view.row.sweeps
        left = sweeping.MOST_SWEPT - sum(each.keys for each in pending)
        return len(pending) < sweeping.MOST_PENDING and count <= left

    def demand_lease(self, lease: int) -> None:
        """Refuse to attach a key to a lease that is not there."""
        if lease and self.view.lease(lease) is None:
            errors.LEASE_NOT_FOUND.refuse()

    def commit(self) -> None:
        """Make the revision of the changes the newest; without changes only the row is written."""
        row = self.view.row
        row.revision += self.changed
        parts: list[list[rows.Change]] = [[]]
        room = _EVENT_BYTES
        for change in self._changes:
            size = change.ByteSize()
            if room < size and parts[-1]:
                parts.append([])
                room = _EVENT_BYTES
            parts[-1].append(change)
            room -= size
        for number, part in enumerate(parts, 1):
            event = rows.Transaction(changes=part, more=number < len(parts))
            event.MergeFrom(row)
            self._txn.put(TRANSACTIONS, self._prefix, event.SerializeToString())

"""A store as a reader sees it: its revisions, and the versions of its keys at any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Final, NamedTuple

from quorate.plugin import Reader, keys

from quorate_etcd import errors
from quorate_etcd.families import (
    KEYS,
    LEASE_KEYS,
    LEASES,
    PAST,
    REVISIONS,
    TRANSACTIONS,
    attached_key,
    end_of,
    lease_key,
    revision_key,
    store_key,
)
from quorate_etcd.v1 import rows_pb2 as rows
from quorate_etcd.wire import mvcc_pb2 as mvcc

#: Rows that are read at a time, and pairs while they are large: one has up to some megabytes.
_AT_A_TIME: Final = 100
_LARGE_AT_A_TIME: Final = 8
_LARGE: Final = 1 << 16
#: Swept keys that one command or query passes over: a leader evaluates it in one go.
MOST_PASSED: Final = 50_000
#: What is appended to the key of a change for the row with the end of its value, and, before a key,
#: for the end of that key by a sweep.
_TAIL: Final = b"\x01"
_SWEPT: Final = b"\x02"
#: The revision of a store without a row.
FIRST: Final = 1
NEVER_COMPACTED: Final = -1


class Span(NamedTuple):
    """Keys from `start` on, and below `end`; None: all from `start` on."""

    start: bytes
    end: bytes | None

    @classmethod
    def of(cls, key: bytes, range_end: bytes) -> Span:
        """Return the keys that a request names by a key and the end of a range."""
        if not range_end:
            return cls(key, keys.successor(key))
        return cls(key, None if range_end == b"\x00" else range_end)

    @property
    def empty(self) -> bool:
        """Whether no key is in it."""
        return self.end is not None and self.end <= self.start

    def holds(self, key: bytes) -> bool:
        """Whether a key is in it."""
        return self.start <= key and (self.end is None or key < self.end)

    def meets(self, other: Span) -> bool:
        """Whether a key is in both."""
        return (self.end is None or other.start < self.end) and (
            other.end is None or self.start < other.end
        )

    @property
    def single(self) -> bool:
        """Whether one key is in it."""
        return self.end == keys.successor(self.start)


class Found(NamedTuple):
    """A version of a key."""

    key: bytes
    version: rows.Version


class View:
    """The rows of one store, as of one reader."""

    def __init__(self, reader: Reader, store: str) -> None:
        self.prefix: Final = store_key(store)
        self._reader: Final = reader
        #: Whether the store was written before.
        self.exists = False
        self.row: Final = self._row()
        #: That of the newest versions; a transaction sets it with its first change.
        self.latest = self.row.revision
        #: Keys that a range may pass over while a sweep is pending, and where it has stopped then.
        self.most_looked: int | None = None
        self.stopped = b""
        #: Swept keys that were passed over so far.
        self._passed = 0
        self.begin()

    def begin(self) -> None:
        """Begin a transaction: nothing of it was looked at yet."""
        #: Keys of ranges that it was held against so far.
        self.looked_at = 0
        #: Keys of its ranges, and bytes of the answers to these, so far.
        self.ranged = self.ranged_bytes = 0

    def _row(self) -> rows.Transaction:
        stored = self._reader.get(TRANSACTIONS, self.prefix)
        if stored is None:
            return rows.Transaction(
                revision=FIRST, compacted=NEVER_COMPACTED, cleaned=NEVER_COMPACTED
            )
        row = rows.Transaction.FromString(stored)
        self.exists = True
        del row.changes[:]
        return row

    @property
    def revision(self) -> int:
        """The revision of the last transaction."""
        return self.row.revision

    @property
    def compacted(self) -> int:
        """The first revision that can be read."""
        return self.row.compacted

    @property
    def kept(self) -> int:
        """The first revision that watches can read: what was swept lately stays for them."""
        swept = self.row.swept
        return min(self.compacted, swept[0].revision - 1) if swept else self.compacted

    def demand(self, revision: int) -> None:
        """Refuse a revision that is not there yet, or not any more."""
        if revision > self.revision:
            errors.FUTURE_REVISION.refuse()
        if revision < self.compacted:
            errors.COMPACTED.refuse()

    def lease(self, lease: int) -> rows.Lease | None:
        """Return a lease, or None."""
        stored = self._reader.get(LEASES, lease_key(self.prefix, lease))
        return None if stored is None else rows.Lease.FromString(stored)

    def attached(self, lease: int, most: int, start: bytes = b"") -> list[bytes]:
        """Return the rows of the first keys of a lease from one on; sweeps may have ended some."""
        # Its keys are packed behind its number, which is never the beginning of another number.
        first, end = (
            attached_key(self.prefix, lease, start),
            lease_key(self.prefix, lease) + b"\xff",
        )
        return [row.key for row in self._reader.scan(LEASE_KEYS, first, end, limit=most)]

    def swept(self, key: bytes, version: rows.Version, at: int | None = None) -> rows.Sweep | None:
        """Return the sweep that has ended a version, up to a revision or the newest one."""
        place = version.place
        for sweep in self.row.sweeps:
            if at is not None and sweep.place.revision > at:
                break
            if (
                (place.revision, place.sub) < (sweep.place.revision, sweep.place.sub)
                and sweep.lease in (0, version.lease)
                and sweep.start <= key
                and (not sweep.HasField("end") or key < sweep.end)
            ):
                return sweep
        return None

    def stored(self, key: bytes) -> rows.Version | None:
        """Return the newest version of a key, which a sweep may have ended."""
        stored = self._reader.get(KEYS, self.prefix + key)
        return None if stored is None else rows.Version.FromString(stored)

    def newest(self, key: bytes) -> rows.Version | None:
        """Return the newest version of a key, or None if there is no such key."""
        version = self.stored(key)
        if version is not None and self.row.sweeps and self.swept(key, version) is not None:
            return None
        return version

    def versions(self, span: Span, at: int, limit: int) -> Iterator[Found]:
        """Yield at most `limit` keys of a span with their versions at a revision, in their order.

        Those of the latest revision take less.
        """
        if span.empty:
            return
        if at >= self.latest:
            yield from self._newest(span, limit)
            return
        kept = (each for each in self._newest(span, None, at) if each.version.place.revision <= at)
        for _, found in zip(
            range(limit), merge(kept, self._ended(span, at), key=itemgetter(0)), strict=False
        ):
            yield found

    def _newest(self, span: Span, limit: int | None, at: int | None = None) -> Iterator[Found]:
        """Yield the keys of a span that no sweep up to a revision has ended."""
        if not self.row.sweeps:
            yield from self._stored(span, limit)
            return
        yield from islice(self._left(span, at), limit)

    def _left(self, span: Span, at: int | None) -> Iterator[Found]:
        for looked, found in enumerate(self._stored(span, None)):
            if looked == self.most_looked:
                self.stopped = found.key
                return
            if self.swept(*found, at) is None:
                yield found
                continue
            self._passed += 1
            if self._passed > MOST_PASSED:
                # The sweep will have been written out soon.
                errors.TOO_MANY_REQUESTS.refuse()

    def _stored(self, span: Span, limit: int | None) -> Iterator[Found]:
        if span.single:
            version = self.stored(span.start)
            if version is not None and limit != 0:
                yield Found(span.start, version)
            return
        prefix, end = self.prefix, self.end(span.end)
        position = prefix + span.start
        size = len(prefix)
        while limit is None or limit > 0:
            most = _AT_A_TIME if limit is None else min(limit, _AT_A_TIME)
            read = list(self._reader.scan(KEYS, position, end, limit=most))
            for row in read:
                yield Found(row.key[size:], rows.Version.FromString(row.value))
            if len(read) < most:
                return
            position = keys.successor(read[-1].key)
            if limit is not None:
                limit -= most

    def _ended(self, span: Span, at: int) -> Iterator[Found]:
        """Yield keys with their versions at a revision that have ended after it."""
        prefix = self.prefix
        position = prefix + keys.pack(span.start)
        end = end_of(prefix) if span.end is None else prefix + keys.pack(span.end)
        while True:
            read = list(self._reader.scan(PAST, position, end, limit=_AT_A_TIME))
            decided = b""
            for row in read:
                named, ended = row.key[:-12], int.from_bytes(row.key[-12:-4])
                if named == decided or ended <= at:
                    continue
                # The first one that ended after the revision: no other was the newest then.
                decided = named
                version = rows.Version.FromString(row.value)
                if version.place.revision <= at:
                    [key] = keys.unpack(named[len(prefix) :])
                    assert isinstance(key, bytes)
                    yield Found(key, version)
            if len(read) < _AT_A_TIME:
                return
            named = read[-1].key[:-12]
            # Beyond the rest of a key that is decided; else to the first row that decides it.
            position = (
                keys.successor(named + b"\xff" * 12)
                if named == decided
                else max(named + (at + 1).to_bytes(8), keys.successor(read[-1].key))
            )

    def count(self, span: Span, most: int) -> int:
        """Return how many keys a span has, or `most` if there are more."""
        if any(span.meets(span_of(each)) for each in self.row.sweeps):
            return sum(1 for _ in self._newest(span, most))
        start, end = self.prefix + span.start, self.end(span.end)
        return sum(1 for _ in self._reader.scan(KEYS, start, end, limit=most))

    def end(self, end: bytes | None) -> bytes:
        """Return the end of the rows of keys below one; None: of all keys."""
        return end_of(self.prefix) if end is None else self.prefix + end

    def values(self, places: Sequence[rows.Place]) -> list[bytes | None]:
        """Return the values at places in their order; None: it is deleted."""
        named = [revision_key(self.prefix, each.revision, each.sub) for each in places]
        found = self._reader.get_values(REVISIONS, named)
        return [
            None if stored is None else self._whole(key, rows.Revision.FromString(stored))
            for key, stored in zip(named, found, strict=True)
        ]

    def _whole(self, key: bytes, row: rows.Revision) -> bytes:
        tail = self._reader.get(REVISIONS, key + _TAIL) if row.large else None
        return row.value if tail is None else row.value + tail

    def pairs(self, found: Sequence[Found], *, values: bool = True) -> list[mvcc.KeyValue]:
        """Return versions of keys as clients get them."""
        whole: Iterable[bytes | None] = (
            self.values([each.version.place for each in found]) if values else [b""] * len(found)
        )
        return [
            pair_of(key, version, version.place.revision, value or b"")
            for (key, version), value in zip(found, whole, strict=True)
        ]

    def pairs_within(
        self, found: Sequence[Found], size: int, *, values: bool = True
    ) -> Iterator[mvcc.KeyValue]:
        """Yield the first pairs, up to the one with which they exceed a size."""
        first, most = 0, _LARGE_AT_A_TIME if values else _AT_A_TIME
        while first < len(found):
            read = self.pairs(found[first : first + most], values=values)
            for pair in read:
                yield pair
                size -= pair.ByteSize()
                if size < 0:
                    return
            first += len(read)
            largest = max(len(pair.value) for pair in read)
            most = _LARGE_AT_A_TIME if largest > _LARGE else _AT_A_TIME

    def pairs_at(self, places: Sequence[rows.Place]) -> list[mvcc.KeyValue]:
        """Return the pairs at places in their order; an empty one is deleted."""
        named = [revision_key(self.prefix, each.revision, each.sub) for each in places]
        stored = self._reader.get_values(REVISIONS, named)
        return [
            mvcc.KeyValue()
            if each is None
            else self._pair(key, place.revision, rows.Revision.FromString(each))
            for key, place, each in zip(named, places, stored, strict=True)
        ]

    def _pair(self, key: bytes, revision: int, row: rows.Revision) -> mvcc.KeyValue:
        if row.deleted:
            return mvcc.KeyValue(key=row.key, mod_revision=revision)
        return pair_of(row.key, row, revision, self._whole(key, row))

    def changes(self, position: bytes) -> Iterator[tuple[bytes, int, rows.Revision, mvcc.KeyValue]]:
        """Yield changes from a row on: its key, the revision, the row, and the pair."""
        end = end_of(self.prefix)
        size = len(self.prefix)
        while True:
            read = list(self._reader.scan(REVISIONS, position, end, limit=_AT_A_TIME))
            for stored in read:
                if is_tail(stored.key, size):
                    continue
                revision = int.from_bytes(stored.key[size : size + 8])
                row = rows.Revision.FromString(stored.value)
                yield stored.key, revision, row, self._pair(stored.key, revision, row)
            if len(read) < _AT_A_TIME:
                return
            position = keys.successor(read[-1].key)


def pair_of(
    key: bytes, of: rows.Version | rows.Revision | rows.Change, revision: int, value: bytes
) -> mvcc.KeyValue:
    """Return a pair as clients get it."""
    return mvcc.KeyValue(
        key=key,
        create_revision=of.create_revision,
        mod_revision=revision,
        version=of.version,
        lease=of.lease,
        value=value,
    )


def tail_key(key: bytes) -> bytes:
    """Return the key of the row with the end of a large value, by the key of its change."""
    return key + _TAIL


def is_tail(key: bytes, size: int) -> bool:
    """Whether a row has the end of a large value, by its key and the length of its store's."""
    return key[size + 12 :] == _TAIL


def span_of(sweep: rows.Sweep) -> Span:
    """Return the keys that a sweep is of."""
    return Span(sweep.start, sweep.end if sweep.HasField("end") else None)


def swept_key(prefix: bytes, place: rows.Place, key: bytes) -> bytes:
    """Return the key of the row with the end of a key by a sweep."""
    return revision_key(prefix, place.revision, place.sub) + _SWEPT + key

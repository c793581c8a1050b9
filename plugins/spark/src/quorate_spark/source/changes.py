"""The stream of changes: offsets are the resume tokens of a watch, and a batch lies between two.

What lies between two tokens is the same whenever it is read: a batch that Spark repeats after a
failure has the same changes, as long as the cluster keeps their history.
"""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from quorate.client import ChangeKind, Client, QuorateError, WatchedChange
from quorate.v1.token_pb2 import WatchToken

from quorate_spark.source.connecting import client_of
from quorate_spark.source.errors import SourceError
from quorate_spark.source.feeds import feed_of
from quorate_spark.source.options import FeedOptions
from quorate_spark.source.reading import EVERY, ShardRange, pages, planned

#: Changes of one Arrow batch.
_BATCH_ROWS: Final = 5_000
#: Time for which an offset is reused while nothing changes; history is kept for minutes.
_OLDEST_OFFSET_S: Final = 60.0
#: Interval at which the driver logs the backlog of the feed.
_REPORT_S: Final = 10.0
#: A revision is an index in the log of its shard, and a position in the entry.
_POSITION_BITS: Final = 20

#: As Spark stores it: `starting`; or the token, and for people the revision in each shard.
Offset = dict[str, str | int]


@dataclass(frozen=True)
class Changes(InputPartition):
    """The changes of a shard between two tokens."""

    shard: int
    start: bytes
    end: bytes


@dataclass(frozen=True)
class Rows(InputPartition):
    """The current rows of a shard, without rows written after a revision.

    A key that was written later comes as a change of the next batch.
    """

    part: ShardRange
    revision: int


@dataclass(frozen=True)
class Resync(InputPartition):
    """Says that changes of a shard were lost, and that all of its rows come in the same batch."""

    shard: int
    revision: int


class ChangeReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver, and reads them on executors."""

    def __init__(self, options: FeedOptions) -> None:
        self.options: Final = options
        self._client: Client | None = None
        #: No batch goes further; empty: there is no such place.
        self._target = b""
        #: How far the cluster was when it was last asked.
        self._newest = b""
        #: An offset after which nothing has changed, up to which token, and since when it is used.
        self._idle = (b"", b"", 0.0)
        self._reported_at = time.monotonic()

    # Spark calls these on the driver.

    def initialOffset(self) -> Offset:
        """Return where a new query begins: with a snapshot, or with nothing."""
        return {"starting": self.options.starting}

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return how many changes a batch may have."""
        most = self.options.max_rows_per_trigger
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Stop at the changes made until now."""
        with self._cluster() as client:
            self._target = self._now(client)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return where the next batch ends: where it begins while there is nothing for it."""
        with self._cluster() as client:
            self._newest = self._target or self._now(client)
            begin = _token(start)
            end = self._end(client, begin, limit) if begin else self._newest
            if end == begin:
                return start
            self._report(end)
            return _offset(end)

    def reportLatestOffset(self) -> Offset | None:
        """Return how far the cluster was when it was last asked."""
        return _offset(self._newest) if self._newest else None

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the parts of a batch."""
        begin, until = _token(start), _token(end)
        if start.get("starting") == "now":
            return []
        with self._cluster() as client:
            if not begin:
                return self._snapshot(client, until)
            before = _revisions(begin)
            moved = {
                shard: revision
                for shard, revision in _revisions(until).items()
                if revision > before.get(shard, -1)
            }
            if self.options.lost_history == "snapshot" and self._is_lost(client, begin, until):
                lost = [Resync(*each) for each in sorted(_revisions(until).items())]
                return [*lost, *self._snapshot(client, until)]
            return [Changes(shard, begin, until) for shard in sorted(moved)]

    def stop(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    # And this on executors.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part."""
        feed = feed_of(self.options.changes)
        if isinstance(partition, Resync):
            lost = WatchedChange(
                kind=ChangeKind.RESYNC, shard=partition.shard, revision=partition.revision
            )
            yield feed.batch([lost])
            return
        with self._errors(), client_of(self.options) as client:
            if isinstance(partition, Rows):
                for page in pages(client, partition.part):
                    yield feed.snapshot(page, partition.part.shard, partition.revision)
            elif isinstance(partition, Changes):
                changes = self._changes(client, partition)
                while found := list(islice(changes, _BATCH_ROWS)):
                    yield feed.batch(found)

    def _changes(self, client: Client, part: Changes) -> Iterator[WatchedChange]:
        """Yield the changes between two tokens; raises `SourceError` when some were trimmed."""
        family = feed_of(self.options.changes).family.name
        for change in client.watch(family, token=part.start, until=part.end, shards=(part.shard,)):
            if change.kind is ChangeKind.RESYNC:
                raise SourceError(
                    f"changes of {self.options.changes} since the last batch are lost"
                    f" ({change.reason}): begin with a new checkpoint, or set the option"
                    " lost_history to snapshot, which gives all rows again"
                )
            yield change

    @contextmanager
    def _cluster(self) -> Iterator[Client]:
        """Give the driver's client, which is kept for the next call."""
        if self._client is None:
            self._client = client_of(self.options)
        with self._errors():
            yield self._client

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except QuorateError as error:
            raise SourceError(
                f"changes of {self.options.changes} cannot be read: {error}; start the query again,"
                " and it goes on where it was"
            ) from error

    def _now(self, client: Client) -> bytes:
        """Return a token after every write that was answered before."""
        family = feed_of(self.options.changes).family.name
        for mark in client.watch(family, changes_only=True, marks=True):
            return mark.token
        raise SourceError(f"the watch of {family} has ended")

    def _end(self, client: Client, begin: bytes, limit: ReadLimit) -> bytes:
        """Return where a batch ends that begins at a token."""
        newest, now = self._newest, time.monotonic()
        offset, passed, since = self._idle
        if offset != begin:
            passed, since = begin, now
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else 0
        family = feed_of(self.options.changes).family.name
        count, last, reached = 0, (-1, -1), WatchToken.FromString(passed)
        positions = {each.shard: each for each in reached.positions}
        for change in client.watch(family, token=passed, until=newest):
            # `partitions` detects lost history.
            if not most or change.kind is ChangeKind.RESYNC:
                return newest
            # The changes of one command are not parted.
            if count >= most and last != (change.shard, change.revision):
                return reached.SerializeToString(deterministic=True)
            count, last = count + 1, (change.shard, change.revision)
            positions[change.shard].revision = change.revision
        if count or now - since > _OLDEST_OFFSET_S:
            return newest
        self._idle = (begin, newest, since)
        return begin

    def _is_lost(self, client: Client, begin: bytes, until: bytes) -> bool:
        family = feed_of(self.options.changes).family.name
        for shard in _revisions(until):
            watch = client.watch(family, token=begin, until=until, shards=(shard,))
            first = next(iter(watch), None)
            if first is not None and first.kind is ChangeKind.RESYNC:
                return True
        return False

    def _snapshot(self, client: Client, until: bytes) -> list[InputPartition]:
        family = feed_of(self.options.changes).family
        revisions = _revisions(until)
        parts = planned(
            client,
            family.group,
            family.name,
            EVERY,
            ranges_per_shard=0,
            view_ttl_s=self.options.view_ttl_s,
        )
        return [Rows(part, revisions[part.shard]) for part in parts]

    def _report(self, end: bytes) -> None:
        """Log the backlog of the feed on the driver, from time to time."""
        if (now := time.monotonic()) - self._reported_at < _REPORT_S:
            return
        self._reported_at = now
        reached = _revisions(end)
        behind = sum(
            (revision >> _POSITION_BITS) - (reached.get(shard, 0) >> _POSITION_BITS)
            for shard, revision in _revisions(self._newest).items()
        )
        print(
            f"quorate: changes of {self.options.changes}: the batch ends"
            f" {behind:,} entries of the log before the newest one",
            file=sys.stderr,
            flush=True,
        )


def _token(offset: Offset) -> bytes:
    """Return the token of an offset; empty before the first batch."""
    return base64.urlsafe_b64decode(str(offset.get("token", "")))


def _offset(token: bytes) -> Offset:
    positions = WatchToken.FromString(token).positions
    revisions = {f"{each.group}/{each.shard}": each.revision for each in positions}
    return {"token": base64.urlsafe_b64encode(token).decode(), **revisions}


def _revisions(token: bytes) -> Mapping[int, int]:
    """Return the revision in each shard."""
    return {each.shard: each.revision for each in WatchToken.FromString(token).positions}

"""Compaction: history before a revision can no longer be read, and is deleted step by step.

A step takes as long as there are changes in it, whatever the number of keys. Each change names the
version that it ended: that one goes. The end of a key goes with the next compaction, since watches
may begin at the compacted revision.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from quorate.plugin import Reader, Txn, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_etcd import errors
from quorate_etcd.families import COMPACTION, PAST, REVISIONS, end_of, past_key, revision_key
from quorate_etcd.store import leases, sweeping
from quorate_etcd.store.view import View, is_tail, swept_key, tail_key
from quorate_etcd.store.writing import Writing
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows

#: Changes that one step looks at.
_STEP: Final = 1_000


def open_store(txn: Txn, command: pb.Open) -> pb.Stood:
    """Write the row of a store if it has none, or if the cluster was restored since."""
    writing = Writing(txn, command.store)
    if writing.leapt or not writing.view.exists:
        writing.commit()
    return _stood(writing.view)


def leap(txn: Txn, command: pb.Leap) -> pb.Stood:
    """Go on after a revision that was given out elsewhere, unless this one is higher."""
    writing = Writing(txn, command.store)
    if command.revision > writing.view.revision:
        writing.leap(command.revision)
    writing.commit()
    return _stood(writing.view)


def compact(txn: Txn, command: pb.Compact) -> pb.Stood:
    """Make history before a revision unreadable, and let it be deleted.

    Refused while a sweep in it is to be written out.
    """
    writing = Writing(txn, command.store)
    if command.revision <= writing.view.compacted:
        errors.COMPACTED.refuse()
    if command.revision > writing.view.revision:
        errors.FUTURE_REVISION.refuse()
    if any(each.place.revision < command.revision for each in writing.view.row.sweeps):
        # The watches that wait until it is written out would be cancelled.
        errors.TOO_MANY_REQUESTS.refuse()
    writing.compact(command.revision)
    writing.commit()
    return _stood(writing.view)


def clean(txn: Txn, command: pb.Clean) -> BatchReply:
    """Write out the next part of the sweeps of stores, or delete the next of compacted history."""
    for key in command.keys:
        [store] = keys.unpack(key)
        writing = Writing(txn, str(store))
        view, now_ms = writing.view, txn.proposed_at_ms
        writing.release(view.compacted, now_ms)
        # All that is compacted is to be there when it is deleted.
        if view.row.sweeps:
            sweeping.step(txn, view)
        else:
            _clean(txn, view)
        writing.commit()
        due_ms = view.row.swept[0].until_ms if view.row.swept else None
        if view.row.sweeps or view.row.cleaned < view.kept:
            due_ms = now_ms + 1
        txn.schedule(COMPACTION, key, due_ms)
    return BatchReply(items=len(command.keys))


def stand(reader: Reader, query: asked.Stand) -> Iterable[asked.Standing]:
    """Answer how a store stands."""
    view = View(reader, query.store)
    yield asked.Standing(
        revision=view.revision,
        compacted=view.compacted,
        applied=reader.revision,
        unclean=view.row.cleaned < view.kept,
        leases=leases.counted(reader, view.prefix),
        sweeping=bool(view.row.sweeps),
    )


def _clean(txn: Txn, view: View) -> None:
    """Delete the versions that the next changes ended."""
    row, prefix, kept = view.row, view.prefix, view.kept
    if row.cleaned >= kept:
        return
    # The ends of keys in the revision of the last compaction were left.
    walked = row.walked if row.HasField("walked") else rows.Place(revision=max(row.cleaned, 0))
    start = (
        swept_key(prefix, walked, row.walked_key)
        if row.walked_key
        else revision_key(prefix, walked.revision, walked.sub)
    )
    end = min(revision_key(prefix, max(kept, 0) + 1), end_of(prefix))
    size, read = len(prefix), list(txn.scan(REVISIONS, start, end, limit=_STEP + 1))
    for stored in read[:_STEP]:
        if is_tail(stored.key, size):
            # It goes with its change.
            continue
        revision = int.from_bytes(stored.key[size : size + 8])
        change = rows.Revision.FromString(stored.value)
        for ended in (change.previous, change.replaced):
            if ended.revision:
                _delete(txn, revision_key(prefix, ended.revision, ended.sub), large=ended.large)
                sub = int.from_bytes(stored.key[size + 8 : size + 12])
                txn.delete(PAST, past_key(prefix, change.key, revision, sub))
        if change.deleted and revision < kept:
            _delete(txn, stored.key, large=False)
    if len(read) <= _STEP:
        row.cleaned = kept
        row.ClearField("walked")
        row.ClearField("walked_key")
        return
    following = read[_STEP].key
    row.walked.revision = int.from_bytes(following[size : size + 8])
    row.walked.sub = int.from_bytes(following[size + 8 : size + 12])
    row.walked_key = following[size + 13 :]


def _delete(txn: Txn, key: bytes, *, large: bool) -> None:
    txn.delete(REVISIONS, key)
    if large:
        txn.delete(REVISIONS, tail_key(key))


def _stood(view: View) -> pb.Stood:
    return pb.Stood(revision=view.revision, compacted=view.compacted)

"""Sweeps: deletions of more keys than one log entry has room for.

A sweep is one change in the row of the store. From its revision on every reader takes the keys as
deleted, while their rows are still there; the timer of compaction writes the changes out step by
step, and a put of such a key that of the key. Only watches wait until all of it is written out, and
read it then.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from quorate.plugin import Txn, keys

from quorate_etcd.families import (
    KEYS,
    LEASE_KEYS,
    PAST,
    REVISIONS,
    attached_key,
    attached_of,
    past_key,
)
from quorate_etcd.store.view import View, span_of, swept_key
from quorate_etcd.v1 import rows_pb2 as rows

#: Keys that one transaction deletes without a sweep, and the sum of their lengths.
MOST_DIRECT: Final = 2_000
MOST_DIRECT_BYTES: Final = 1 << 20
#: Sweeps that may be pending, and the keys of all of them: readers pass over their rows.
MOST_PENDING: Final = 16
MOST_SWEPT: Final = 200_000
#: For how long the changes of a sweep stay once they are written out: a node that is further behind
#: sends its clients away.
KEPT_MS: Final = 10_000
#: Keys that are written out in one command, and the sum of their lengths.
_STEP: Final = 1_000
_STEP_BYTES: Final = 1 << 20


def step(txn: Txn, view: View) -> None:
    """Write out the next part of the sweeps of a store."""
    pending, left, room = view.row.sweeps, _STEP, _STEP_BYTES
    while pending and left > 0 and room > 0:
        sweep = pending[0]
        named = _next(txn, view, sweep, left)
        found = txn.get_values(KEYS, [view.prefix + key for key in named])
        for key, stored in zip(named, found, strict=True):
            if stored is not None:
                write_out(txn, view, key, rows.Version.FromString(stored))
            sweep.start = keys.successor(key)
            room -= len(key)
            if room <= 0:
                return
        if len(named) < left:
            _keep(view.row, sweep.place.revision, txn.proposed_at_ms + KEPT_MS)
            del pending[0]
        left -= len(named)


def _keep(row: rows.Transaction, revision: int, until_ms: int) -> None:
    if revision < row.compacted:
        # The revisions have leapt since: watches from before that ended.
        return
    if len(row.swept) < MOST_PENDING:
        row.swept.add(revision=revision, until_ms=until_ms)
    else:
        row.swept[-1].until_ms = until_ms


def _next(txn: Txn, view: View, sweep: rows.Sweep, limit: int) -> list[bytes]:
    """Return the next keys that a sweep may have ended."""
    prefix = view.prefix
    span = span_of(sweep)
    if not sweep.lease:
        end = view.end(span.end)
        found = txn.scan(KEYS, prefix + span.start, end, limit=limit)
        return [row.key[len(prefix) :] for row in found]
    named = map(attached_of, view.attached(sweep.lease, limit, span.start))
    return list(takewhile(span.holds, named))


def write_out(txn: Txn, view: View, key: bytes, version: rows.Version) -> bool:
    """Write the end of a key by a sweep, if one has ended its version."""
    sweep = view.swept(key, version)
    if sweep is None:
        return False
    prefix, place = view.prefix, sweep.place
    ended = rows.Revision(key=key, deleted=True, previous=version.place)
    txn.put(REVISIONS, swept_key(prefix, place, key), ended.SerializeToString())
    past = past_key(prefix, key, place.revision, place.sub)
    txn.put(PAST, past, version.SerializeToString())
    txn.delete(KEYS, prefix + key)
    if version.lease:
        txn.delete(LEASE_KEYS, attached_key(prefix, version.lease, key))
    return True

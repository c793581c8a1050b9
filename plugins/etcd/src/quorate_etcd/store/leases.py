"""Leases: without renewal they expire, and delete their keys.

A leader that is new, or was stalled, first gives every lease its whole time to live.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from quorate.plugin import Reader, Rejected, Txn, keys
from quorate.plugin.advanced import still_due
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.rows_pb2 import RowCount

from quorate_etcd import errors
from quorate_etcd.families import (
    LEASE_COUNTS,
    LEASES,
    LIVENESS,
    attached_of,
    end_of,
    lease_key,
)
from quorate_etcd.store import sweeping
from quorate_etcd.store.view import MOST_PASSED, Span, View
from quorate_etcd.store.writing import Writing
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows

#: How soon a lease is looked at again whose keys have no room beside other sweeps.
_AGAIN_MS: Final = 100
#: Keys whose names an answer has room for.
_KEYS_SHOWN: Final = 10_000
_LEASES_IN_PAGE: Final = 2_000


def grant_lease(txn: Txn, command: pb.GrantLease) -> pb.Granted:
    """Make a lease, unless there is one of this number, or keys of it are still to end."""
    view = View(txn, command.store)
    key = lease_key(view.prefix, command.id)
    if view.lease(command.id) is not None or txn.deadline(LIVENESS, key) is not None:
        errors.LEASE_EXISTS.refuse()
    count = counted(txn, view.prefix)
    if 0 < command.most <= count:
        raise Rejected(
            "RESOURCE_EXHAUSTED",
            f"the store has {count:,} leases (leases of [plugins.etcd]): revoke some, or let them "
            "end",
        )
    _set_count(txn, view.prefix, count + 1)
    txn.put(LEASES, key, rows.Lease(ttl_s=command.ttl_s).SerializeToString())
    _extend(txn, key, command.ttl_s)
    return pb.Granted(revision=view.revision)


def revoke_lease(txn: Txn, command: pb.RevokeLease) -> pb.Granted:
    """End a lease and its keys."""
    view = View(txn, command.store)
    if view.lease(command.id) is None:
        errors.LEASE_NOT_FOUND.refuse()
    if not _end(txn, command.store, lease_key(view.prefix, command.id)):
        errors.TOO_MANY_REQUESTS.refuse()
    return pb.Granted(revision=View(txn, command.store).revision)


def renew_leases(txn: Txn, command: pb.RenewLeases) -> pb.Renewed:
    """Give leases their whole time to live again."""
    view = View(txn, command.store)
    named = [lease_key(view.prefix, each) for each in command.ids]
    ttls_s = []
    for key, stored in zip(named, txn.get_values(LEASES, named), strict=True):
        ttl_s = 0 if stored is None else rows.Lease.FromString(stored).ttl_s
        if stored is not None:
            _extend(txn, key, ttl_s)
        ttls_s.append(ttl_s)
    return pb.Renewed(revision=view.revision, ttls_s=ttls_s)


def measure_lease(txn: Txn, command: pb.MeasureLease) -> pb.Measured:
    """Answer how long a lease lasts yet, and which keys it has."""
    view = View(txn, command.store)
    lease = view.lease(command.id)
    if lease is None:
        return pb.Measured(revision=view.revision)
    key = lease_key(view.prefix, command.id)
    left_ms = (txn.deadline(LIVENESS, key) or 0) - txn.proposed_at_ms
    named = list(map(attached_of, view.attached(command.id, _KEYS_SHOWN) if command.keys else ()))
    if view.row.sweeps:
        named = [each for each in named if view.newest(each) is not None]
    return pb.Measured(
        revision=view.revision, ttl_s=lease.ttl_s, left_ms=max(left_ms, 0), keys=named
    )


def expire_leases(txn: Txn, command: pb.ExpireLeases) -> BatchReply:
    """End the expired leases, each with its keys in a revision of its own."""
    left = sweeping.MOST_DIRECT
    for key in still_due(txn, LIVENESS, command.keys):
        ended = _end(txn, str(keys.unpack(key)[0]), key)
        if not ended:
            # To look at its keys has taken as long as to end many leases.
            txn.schedule(LIVENESS, key, txn.proposed_at_ms + _AGAIN_MS, ttl_ms=_AGAIN_MS)
        left -= ended or left
        if left <= 0:
            # The others stay due.
            break
    return BatchReply(items=len(command.keys))


def find_leases(reader: Reader, query: asked.FindLeases) -> Iterable[asked.LeasePage]:
    """Answer the numbers and deadlines of leases."""
    view = View(reader, query.store)
    start = getattr(query, "from") or view.prefix
    read = list(reader.scan(LEASES, start, end_of(view.prefix), limit=_LEASES_IN_PAGE))
    page = asked.LeasePage(revision=view.revision)
    for row in read:
        page.ids.append(_number(row.key))
        page.deadlines_ms.append(reader.deadline(LIVENESS, row.key) or 0)
    if len(read) == _LEASES_IN_PAGE:
        page.next = keys.successor(read[-1].key)
    yield page


def counted(reader: Reader, prefix: bytes) -> int:
    """Return how many leases a store has."""
    stored = reader.get(LEASE_COUNTS, prefix)
    return 0 if stored is None else RowCount.FromString(stored).count


def _number(key: bytes) -> int:
    return int(keys.unpack(key)[1])


def _set_count(txn: Txn, prefix: bytes, count: int) -> None:
    if count > 0:
        txn.put(LEASE_COUNTS, prefix, RowCount(count=count).SerializeToString())
    else:
        txn.delete(LEASE_COUNTS, prefix)


def _extend(txn: Txn, key: bytes, ttl_s: int) -> None:
    ttl_ms = ttl_s * 1_000
    txn.schedule(LIVENESS, key, txn.proposed_at_ms + ttl_ms, ttl_ms=ttl_ms)


def _end(txn: Txn, store: str, key: bytes) -> int:
    """End a lease with its keys in one transaction; return their number, or 1 if it has none.

    With more keys than can be swept, the rest ends in later transactions, from the timer on. 0: a
    sweep is needed, and there is no room for it yet, or too many of its keys are being swept.
    """
    writing = Writing(txn, store)
    view, lease = writing.view, _number(key)
    found = view.attached(lease, sweeping.MOST_DIRECT + 1)
    more = False
    if writing.takes(found):
        for each in map(attached_of, found):
            version = view.newest(each)
            if version is not None:
                writing.delete(each, version)
    elif not writing.has_room(len(found)):
        return 0
    else:
        found = view.attached(lease, sweeping.MOST_SWEPT + 1)
        more = len(found) > sweeping.MOST_SWEPT
        found = found[: sweeping.MOST_SWEPT]
        if not writing.has_room(len(found)):
            return 0
        # Sweeps may have ended all of them.
        named = map(attached_of, found[:MOST_PASSED] if view.row.sweeps else found[:1])
        if any(view.newest(each) is not None for each in named):
            span = Span(attached_of(found[0]), keys.successor(attached_of(found[-1])))
            writing.sweep(span, len(found), lease)
        elif len(found) > MOST_PASSED:
            return 0
    if writing.changed:
        writing.commit()
    if txn.get(LEASES, key) is not None:
        # The rest of a lease that ends in several transactions has no row any more.
        txn.delete(LEASES, key)
        _set_count(txn, view.prefix, counted(txn, view.prefix) - 1)
    txn.schedule(LIVENESS, key, txn.proposed_at_ms + 1 if more else None, ttl_ms=1)
    return max(1, len(found))

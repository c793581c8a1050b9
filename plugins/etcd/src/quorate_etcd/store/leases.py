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
    LEASE_KEYS,
    LEASES,
    LIVENESS,
    end_of,
    lease_key,
)
from quorate_etcd.store.view import View
from quorate_etcd.store.writing import Writing
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows

#: Keys that end in one transaction; those of a lease with more end in several.
_KEYS_AT_ONCE: Final = 10_000
#: Keys whose names an answer has room for.
_KEYS_SHOWN: Final = 10_000
_LEASES_IN_PAGE: Final = 2_000


def grant_lease(txn: Txn, command: pb.GrantLease) -> pb.Granted:
    """Make a lease, unless there is one of this number, or keys of it are still to end."""
    view = View(txn, command.store)
    key = lease_key(view.prefix, command.id)
    if view.lease(command.id) is not None or _attached(txn, key, 1):
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
    _end(txn, command.store, lease_key(view.prefix, command.id))
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
    named = _attached(txn, key, _KEYS_SHOWN) if command.keys else []
    return pb.Measured(
        revision=view.revision, ttl_s=lease.ttl_s, left_ms=max(left_ms, 0), keys=named
    )


def expire_leases(txn: Txn, command: pb.ExpireLeases) -> BatchReply:
    """End the expired leases, each with its keys in a revision of its own."""
    left = _KEYS_AT_ONCE
    for key in still_due(txn, LIVENESS, command.keys):
        left -= _end(txn, str(keys.unpack(key)[0]), key)
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
    _, number = keys.unpack(key)
    assert isinstance(number, int)
    return number


def _set_count(txn: Txn, prefix: bytes, count: int) -> None:
    if count > 0:
        txn.put(LEASE_COUNTS, prefix, RowCount(count=count).SerializeToString())
    else:
        txn.delete(LEASE_COUNTS, prefix)


def _extend(txn: Txn, key: bytes, ttl_s: int) -> None:
    ttl_ms = ttl_s * 1_000
    txn.schedule(LIVENESS, key, txn.proposed_at_ms + ttl_ms, ttl_ms=ttl_ms)


def _attached(reader: Reader, key: bytes, most: int) -> list[bytes]:
    """Return the first keys of a lease, in their order."""
    # Its keys are packed behind its number; no number begins with another.
    found = reader.scan(LEASE_KEYS, key, key + b"\xff", limit=most)
    named = [keys.unpack(row.key)[2] for row in found]
    return [each for each in named if isinstance(each, bytes)]


def _end(txn: Txn, store: str, key: bytes) -> int:
    """End a lease with its keys in one transaction, whose number is returned.

    Of a lease with very many keys the rest ends in later transactions, from the timer on.
    """
    writing = Writing(txn, store)
    named = _attached(txn, key, _KEYS_AT_ONCE + 1)
    for each in named[:_KEYS_AT_ONCE]:
        version = writing.view.newest(each)
        if version is not None:
            writing.delete(each, version)
    if writing.changed:
        writing.commit()
    if txn.get(LEASES, key) is not None:
        # The rest of a lease that ends in several transactions has no row any more.
        txn.delete(LEASES, key)
        _set_count(txn, writing.view.prefix, counted(txn, writing.view.prefix) - 1)
    more = len(named) > _KEYS_AT_ONCE
    txn.schedule(LIVENESS, key, txn.proposed_at_ms + 1 if more else None, ttl_ms=1)
    return len(named)

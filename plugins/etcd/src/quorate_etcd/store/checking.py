"""Checks of requests that need no rows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final, NamedTuple

from quorate_etcd import errors
from quorate_etcd.store.view import Span
from quorate_etcd.store.writing import MOST_KEY_BYTES
from quorate_etcd.wire import rpc_pb2 as rpc

_Request = rpc.RangeRequest
_ORDERS: Final = frozenset(_Request.SortOrder.values())
_TARGETS: Final = frozenset(_Request.SortTarget.values())


def check_range(request: rpc.RangeRequest) -> None:
    """Refuse a range without a key, or in an unknown order."""
    _check_key(request.key)
    if request.sort_order not in _ORDERS or request.sort_target not in _TARGETS:
        errors.INVALID_SORT.refuse()


def check_put(request: rpc.PutRequest) -> None:
    """Refuse a put without a key, or with a value or lease that it ignores."""
    _check_key(request.key)
    if len(request.key) > MOST_KEY_BYTES:
        errors.REQUEST_TOO_LARGE.refuse()
    if request.ignore_value and request.value:
        errors.VALUE_PROVIDED.refuse()
    if request.ignore_lease and request.lease:
        errors.LEASE_PROVIDED.refuse()


def check_delete_range(request: rpc.DeleteRangeRequest) -> None:
    """Refuse a deletion without a key."""
    _check_key(request.key)


def check_txn(request: rpc.TxnRequest, most: int) -> None:
    """Refuse a transaction with too many operations, with invalid ones, or with keys put twice."""
    _check_operations(request, most)
    for branch in (request.success, request.failure):
        _check_keys(branch)


def is_read_only(request: rpc.TxnRequest) -> bool:
    """Whether a transaction changes nothing, whichever branch it takes."""
    return all(
        each.HasField("request_range")
        or (each.HasField("request_txn") and is_read_only(each.request_txn))
        for each in (*request.success, *request.failure)
    )


def is_serializable(request: rpc.TxnRequest) -> bool:
    """Whether a transaction that changes nothing may read the state of any replica."""
    return all(each.request_range.serializable for each in (*request.success, *request.failure))


def _check_key(key: bytes) -> None:
    if not key:
        errors.EMPTY_KEY.refuse()


def _check_operations(request: rpc.TxnRequest, most: int) -> None:
    size = max(len(request.compare), len(request.success), len(request.failure))
    if size > most:
        errors.TOO_MANY_OPERATIONS.refuse()
    for compare in request.compare:
        _check_key(compare.key)
    for each in (*request.success, *request.failure):
        match each.WhichOneof("request"):
            case "request_range":
                check_range(each.request_range)
            case "request_put":
                check_put(each.request_put)
            case "request_delete_range":
                check_delete_range(each.request_delete_range)
            case "request_txn":
                _check_operations(each.request_txn, most - size)
            case None:
                errors.KEY_NOT_FOUND.refuse()


class _Keys(NamedTuple):
    """The keys that operations put, and the ranges that they delete."""

    puts: set[bytes]
    deleted: list[Span]

    @classmethod
    def of(cls, puts: Sequence[bytes]) -> _Keys:
        """Return the keys of puts; refuse one that is put twice."""
        found = cls(set(puts), [])
        if len(found.puts) < len(puts):
            errors.DUPLICATE_KEY.refuse()
        return found

    def add(self, puts: Set[bytes], *, shared: Set[bytes] = frozenset()) -> None:
        """Add puts; refuse a key that is deleted, or put already unless it may be shared."""
        if puts & (self.puts - shared) or any(
            span.holds(key) for key in puts for span in self.deleted
        ):
            errors.DUPLICATE_KEY.refuse()
        self.puts.update(puts)


def _check_keys(operations: Sequence[rpc.RequestOp]) -> _Keys:
    """Refuse a key that is put twice, or put and deleted; deletions may overlap.

    The branches of one nested transaction may share keys, since it takes one of them. A nested
    transaction may also delete what an earlier one has put.
    """
    puts = [each.request_put.key for each in operations if each.HasField("request_put")]
    if len(puts) == len(operations):
        # Most have nothing else.
        return _Keys.of(puts)
    deleted = [
        Span.of(each.request_delete_range.key, each.request_delete_range.range_end)
        for each in operations
        if each.HasField("request_delete_range")
    ]
    found = _Keys(set(), deleted)
    for each in operations:
        if each.HasField("request_txn"):
            success = _check_keys(each.request_txn.success)
            failure = _check_keys(each.request_txn.failure)
            found.add(success.puts)
            found.add(failure.puts, shared=success.puts)
            deleted += success.deleted + failure.deleted
    for put in puts:
        found.add({put})
    return found

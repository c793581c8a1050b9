"""Every refusal of the store, by its code and its text."""

from typing import Any, cast

import pytest
from quorate_etcd import errors
from quorate_etcd.errors import Refusal
from quorate_etcd.store import ranges, transacting
from quorate_etcd.wire import rpc_pb2 as rpc

_PUT, _RANGE, _DELETE = rpc.PutRequest, rpc.RangeRequest, rpc.DeleteRangeRequest


def put(key: bytes, **more: Any) -> rpc.RequestOp:
    return rpc.RequestOp(request_put=_PUT(key=key, **more))


def get(**request: Any) -> rpc.RequestOp:
    return rpc.RequestOp(request_range=_RANGE(**request))


def delete(key: bytes, end: bytes = b"") -> rpc.RequestOp:
    return rpc.RequestOp(request_delete_range=_DELETE(key=key, range_end=end))


def nested(*success: rpc.RequestOp, failure: tuple[rpc.RequestOp, ...] = ()) -> rpc.RequestOp:
    return rpc.RequestOp(request_txn=rpc.TxnRequest(success=success, failure=failure))


def txn(*success: rpc.RequestOp) -> rpc.TxnRequest:
    return rpc.TxnRequest(success=success)


_MANY = [put(b"%d" % number) for number in range(129)]


@pytest.mark.parametrize(
    ("method", "request_", "refusal"),
    [
        ("Range", _RANGE(), errors.EMPTY_KEY),
        ("Range", _RANGE(key=b"a", sort_order=cast("Any", 9)), errors.INVALID_SORT),
        ("Range", _RANGE(key=b"a", sort_target=cast("Any", 9)), errors.INVALID_SORT),
        ("Range", _RANGE(key=b"a", revision=5), errors.FUTURE_REVISION),
        ("Range", _RANGE(key=b"a", revision=2), errors.COMPACTED),
        ("Put", _PUT(), errors.EMPTY_KEY),
        ("Put", _PUT(key=b"a", value=b"1", ignore_value=True), errors.VALUE_PROVIDED),
        ("Put", _PUT(key=b"a", lease=1, ignore_lease=True), errors.LEASE_PROVIDED),
        ("Put", _PUT(key=b"x", ignore_value=True), errors.KEY_NOT_FOUND),
        ("Put", _PUT(key=b"x", lease=9, ignore_value=True), errors.LEASE_NOT_FOUND),
        ("Put", _PUT(key=b"a", lease=9), errors.LEASE_NOT_FOUND),
        ("Put", _PUT(key=b"a", value=b"x" * 1_572_865), errors.REQUEST_TOO_LARGE),
        ("Put", _PUT(key=b"a" * 4_001), errors.REQUEST_TOO_LARGE),
        ("DeleteRange", _DELETE(), errors.EMPTY_KEY),
        ("Txn", rpc.TxnRequest(compare=[rpc.Compare()]), errors.EMPTY_KEY),
        ("Txn", txn(rpc.RequestOp()), errors.KEY_NOT_FOUND),
        ("Txn", txn(*_MANY), errors.TOO_MANY_OPERATIONS),
        ("Txn", txn(*_MANY[:100], nested(*_MANY[100:128])), errors.TOO_MANY_OPERATIONS),
        ("Txn", txn(put(b"a"), put(b"a")), errors.DUPLICATE_KEY),
        ("Txn", txn(put(b"a"), delete(b"a")), errors.DUPLICATE_KEY),
        ("Txn", txn(put(b"b"), delete(b"a", b"\0")), errors.DUPLICATE_KEY),
        ("Txn", txn(put(b"b"), nested(delete(b"a", b"c"))), errors.DUPLICATE_KEY),
        ("Txn", txn(nested(put(b"b")), nested(put(b"b"))), errors.DUPLICATE_KEY),
        ("Txn", txn(get(key=b"a", revision=5), put(b"b")), errors.FUTURE_REVISION),
        ("Txn", txn(get(key=b"a", revision=2), put(b"b")), errors.COMPACTED),
        ("Txn", txn(get(key=b"a", revision=5), put(b"x", lease=9)), errors.FUTURE_REVISION),
        ("Txn", txn(put(b"x", lease=9), get(key=b"a", revision=5)), errors.LEASE_NOT_FOUND),
        ("Compact", rpc.CompactionRequest(revision=3), errors.COMPACTED),
        ("Compact", rpc.CompactionRequest(revision=5), errors.FUTURE_REVISION),
        ("LeaseGrant", rpc.LeaseGrantRequest(TTL=9_000_000_001), errors.TTL_TOO_LARGE),
        ("LeaseGrant", rpc.LeaseGrantRequest(TTL=60, ID=1), errors.LEASE_EXISTS),
        ("LeaseRevoke", rpc.LeaseRevokeRequest(ID=9), errors.LEASE_NOT_FOUND),
    ],
)
async def test_it_is_refused(played: Any, method: str, request_: Any, refusal: Refusal) -> None:
    await played.grant(1)
    for _ in range(3):
        await played.put(b"a", b"1")
    await played.compact(3)
    before = played.node.digest()
    service = played.lease if method.startswith("Lease") else played.kv
    assert await played.refused(service, method, request_) == refusal
    assert played.node.digest() == before or method in {"Txn", "Put", "LeaseGrant", "LeaseRevoke"}
    assert (await played.range()).header.revision == 4


@pytest.mark.parametrize(
    "request_",
    [
        txn(delete(b"a"), delete(b"a", b"c")),
        txn(nested(put(b"b"), failure=(put(b"b"),))),
        txn(nested(put(b"b")), nested(delete(b"a", b"c"))),
        txn(*_MANY[:100], nested(*_MANY[101:128])),
    ],
)
async def test_it_is_accepted(played: Any, request_: rpc.TxnRequest) -> None:
    await played.put(b"a")
    answer = await played.kv.Txn(request_, None)
    assert answer.header.revision == 3


async def test_nothing_of_a_refused_transaction_is_written(played: Any) -> None:
    request = rpc.TxnRequest(
        success=[put(b"a"), rpc.RequestOp(request_put=_PUT(key=b"b", lease=9))]
    )
    assert await played.refused(played.kv, "Txn", request) == errors.LEASE_NOT_FOUND
    assert (await played.range()).count == 0


async def test_a_transaction_compares_so_many_keys_of_ranges(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = rpc.Compare(key=b"a", range_end=b"c", version=1)
    request = rpc.TxnRequest(compare=[compare] * 2)
    for key in (b"a", b"b", b"c", b"d"):
        await played.put(key)
    monkeypatch.setattr(transacting, "_MOST_KEYS", 3)
    assert await played.refused(played.kv, "Txn", request) == errors.REQUEST_TOO_LARGE
    del request.compare[1:]
    assert (await played.kv.Txn(request, None)).succeeded


async def test_what_a_nested_transaction_deletes_of_another_one(played: Any) -> None:
    await played.put(b"b", b"before")
    await played.kv.Txn(txn(nested(put(b"b")), nested(delete(b"a", b"c"))), None)
    assert not await played.pairs()
    assert (await played.pairs(2))[b"b"].value == b"before"
    await played.put(b"b", b"after")
    await played.compact(4)
    assert len(played.node.rows("etcd.revisions")) == 1
    assert not played.node.rows("etcd.past")


async def test_the_ranges_of_a_transaction_have_so_many_keys_together(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in (b"a", b"b", b"c"):
        await played.put(key)
    monkeypatch.setattr(ranges, "_ROWS_IN_TRANSACTION", 5)
    two = get(key=b"a", range_end=b"c", count_only=True)
    three = get(key=b"a", range_end=b"d", count_only=True)
    for write in ((), (put(b"x"),)):
        answer = await played.kv.Txn(txn(*write, two, three), None)
        assert answer.responses[-1].response_range.count == 3
        for much in (txn(*write, three, three), txn(*write, two, nested(two), nested(two))):
            assert await played.refused(played.kv, "Txn", much) == errors.REQUEST_TOO_LARGE


async def test_the_answers_to_the_ranges_of_a_transaction_have_so_many_bytes_together(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await played.put(b"a", b"x" * 400)
    monkeypatch.setattr(ranges, "_ALL_BYTES_IN_TRANSACTION", 1_000)
    plain, bounded = get(key=b"a"), get(key=b"a", range_end=b"b")
    for once in (plain, bounded):
        assert (await played.kv.Txn(txn(once, once), None)).succeeded
        request = txn(once, once, once)
        assert await played.refused(played.kv, "Txn", request) == errors.REQUEST_TOO_LARGE

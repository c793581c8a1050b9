"""Deletions of many keys, before and after their changes are written out."""

from __future__ import annotations

from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.v1.batch_pb2 import BatchReply
from quorate_etcd import errors
from quorate_etcd.families import KEYS, LEASE_KEYS, PAST, REVISIONS, TRANSACTIONS, store_key
from quorate_etcd.store import compacting, history, leases, sweeping, transacting, view
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

MANY = [b"k%02d" % number for number in range(20)]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take more than three keys for many."""
    monkeypatch.setattr(sweeping, "MOST_DIRECT", 3)
    monkeypatch.setattr(sweeping, "_STEP", 2)
    monkeypatch.setattr(compacting, "_STEP", 3)
    monkeypatch.setattr(history, "_PAGE_ROWS", 3)


async def put_many(played: Any, lease: int = 0) -> int:
    for key in MANY:
        revision = await played.put(key, b"v" + key, lease)
    return int(revision)


async def write_out(played: Any) -> None:
    while (await played.store.stand()).sweeping:
        await played.node.advance(10)


async def test_many_keys_end_in_one_revision(played: Any) -> None:
    before = await put_many(played)
    await played.put(b"other")
    request = rpc.DeleteRangeRequest(key=b"k", range_end=b"l")
    answer = await played.kv.DeleteRange(request, None)
    assert (answer.deleted, answer.header.revision) == (20, before + 2)
    stored = len(played.node.rows(KEYS))
    for _ in range(2):
        assert list(await played.pairs()) == [b"other"]
        assert (await played.range(b"k00", b"")).count == 0
        assert list(await played.pairs(before)) == MANY
        assert list(await played.pairs(before + 2)) == [b"other"]
        await write_out(played)
    assert (stored, len(played.node.rows(KEYS))) == (21, 1)
    assert (await played.kv.DeleteRange(request, None)).deleted == 0
    await played.node.advance(sweeping.KEPT_MS)
    await played.compact(before + 2)
    # The ends of a compacted revision stay for watches that begin with it.
    assert (len(played.node.rows(REVISIONS)), len(played.node.rows(PAST))) == (21, 0)
    await played.compact(await played.put(b"other"))
    assert len(played.node.rows(REVISIONS)) == 1


async def test_a_transaction_passes_over_so_many_swept_keys(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_many(played)
    await played.delete(b"k", b"l")
    monkeypatch.setattr(view, "MOST_PASSED", 30)
    once = rpc.RequestOp(request_range=rpc.RangeRequest(key=b"k", range_end=b"l"))
    assert (await played.kv.Txn(rpc.TxnRequest(success=[once]), None)).succeeded
    put = rpc.RequestOp(request_put=rpc.PutRequest(key=b"other"))
    # Its ranges count together, and nothing of it is carried out.
    asked_twice = rpc.TxnRequest(success=[put, once, once])
    refused = await played.refused(played.kv, "Txn", asked_twice)
    assert refused == errors.TOO_MANY_REQUESTS
    assert not await played.pairs()
    await write_out(played)
    assert (await played.kv.Txn(asked_twice, None)).succeeded


async def test_a_lease_of_many_keys_that_are_being_swept_waits_for_that(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await played.grant(1)
    revision = await put_many(played, 1)
    await played.delete(b"k", b"l")
    monkeypatch.setattr(leases, "MOST_PASSED", 10)
    revoke = rpc.LeaseRevokeRequest(ID=1)
    refused = await played.refused(played.lease, "LeaseRevoke", revoke)
    assert refused == errors.TOO_MANY_REQUESTS
    await write_out(played)
    await played.lease.LeaseRevoke(revoke, None)
    assert (await played.store.stand()).revision == revision + 1


async def test_a_key_that_is_put_before_its_end_is_written_out(played: Any) -> None:
    before = await put_many(played)
    await played.delete(b"k", b"l")
    await played.put(b"k07", b"new")
    for _ in range(2):
        assert {key: kv.version for key, kv in (await played.pairs()).items()} == {b"k07": 1}
        assert (await played.pairs(before))[b"k07"].value == b"vk07"
        assert not await played.pairs(before + 1)
        await write_out(played)


async def test_watches_are_told_when_all_is_written_out(played: Any) -> None:
    before = await put_many(played)
    everything = asked.KeyRange(key=b"\0", range_end=b"\0")
    query = asked.History(ranges=[everything], previous=True)
    query.MergeFrom(asked.History(**{"from": before + 1}))  # type: ignore[arg-type]
    await played.delete(b"k", b"l")
    await played.put(b"k07", b"new")
    hidden = await played.store.read(query, asked.Changes)
    assert (hidden.until, list(hidden.events)) == (before, [])
    await write_out(played)
    events: list[mvcc.Event] = []
    while not events or query.at:
        changes = await played.store.read(query, asked.Changes)
        assert len(changes.events) <= 4
        events += changes.events
        query.at = changes.next
    assert [each.kv.key for each in events] == [*MANY, b"k07"]
    assert [each.prev_kv.value for each in events[:20]] == [b"v" + key for key in MANY]
    assert {each.kv.mod_revision for each in events[:20]} == {before + 1}


async def test_a_compaction_waits_for_what_it_would_take_from_watches(played: Any) -> None:
    before = await put_many(played)
    await played.delete(b"k", b"l")
    last = await played.put(b"other")
    command = pb.Compact(revision=last)
    with pytest.raises(Rejected, match=errors.TOO_MANY_REQUESTS.text):
        await played.store.propose(command, pb.Stood)
    # All that is swept is after this one.
    await played.compact(before, physical=False)
    assert (await played.store.stand()).sweeping
    await played.compact(last, physical=False)
    assert not (await played.store.stand()).sweeping


async def test_a_compaction_while_another_one_deletes_leaves_nothing(played: Any) -> None:
    await put_many(played)
    last = await played.delete(b"k", b"l")
    await write_out(played)
    await played.node.advance(sweeping.KEPT_MS)
    await played.compact(last, physical=False)
    # The ends of some keys were looked at, and left for watches from this revision on.
    while len(played.node.rows(PAST)) > 5:
        await played.store.propose(pb.Clean(keys=[store_key("")]), BatchReply)
    await played.compact(await played.put(b"other"))
    assert len(played.node.rows(REVISIONS)) == 1


async def test_a_sweep_that_need_not_stay_any_more_leaves_nothing(played: Any) -> None:
    await put_many(played)
    for number in range(4):
        await played.put(b"m%d" % number)
    await played.delete(b"k", b"l")
    await played.delete(b"m", b"n")
    await write_out(played)
    [first, second] = kept(played)
    await played.compact(await played.put(b"other"))
    # The ends of the keys of the first one stay while the second one does.
    await played.node.advance(first.until_ms - played.node.now_ms)
    while len(played.node.rows(PAST)) > 10:
        await played.node.advance(1)
    assert played.node.now_ms < second.until_ms
    await played.node.advance(second.until_ms - played.node.now_ms)
    while (await played.store.stand()).unclean:
        await played.node.advance(1)
    assert len(played.node.rows(REVISIONS)) == 1
    assert not kept(played)


async def test_no_more_is_noted_of_sweeps_that_stay_than_of_those_to_be_written_out(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "MOST_PENDING", 1)
    deleted = []
    for _ in range(2):
        await put_many(played)
        deleted.append(await played.delete(b"k", b"l"))
        await write_out(played)
    # With the first one all of them stay for as long as the last one.
    [only] = kept(played)
    assert only.revision == deleted[0]
    assert only.until_ms > played.node.now_ms + sweeping.KEPT_MS - 20


def kept(played: Any) -> list[rows.Swept]:
    [row] = played.node.rows(TRANSACTIONS).values()
    return list(rows.Transaction.FromString(row).swept)


async def test_the_pairs_of_many_keys_are_read_afterwards(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_many(played)
    monkeypatch.setattr(transacting, "_MOST_PAIR_BYTES", 10)
    request = rpc.DeleteRangeRequest(key=b"k", range_end=b"l", prev_kv=True)
    within = rpc.TxnRequest(success=[rpc.RequestOp(request_delete_range=request)])
    assert await played.refused(played.kv, "Txn", within) == errors.REQUEST_TOO_LARGE
    answer = await played.kv.DeleteRange(request, None)
    assert [each.value for each in answer.prev_kvs] == [b"v" + key for key in MANY]


async def test_a_transaction_sweeps_what_it_has_put(played: Any) -> None:
    await put_many(played)
    put = rpc.RequestOp(request_put=rpc.PutRequest(key=b"k07", value=b"new"))
    delete = rpc.RequestOp(
        request_delete_range=rpc.DeleteRangeRequest(key=b"k", range_end=b"l", prev_kv=True)
    )
    nested = [rpc.RequestOp(request_txn=rpc.TxnRequest(success=[each])) for each in (put, delete)]
    answer = await played.kv.Txn(rpc.TxnRequest(success=nested), None)
    deleted = answer.responses[1].response_txn.responses[0].response_delete_range
    assert (deleted.deleted, deleted.prev_kvs[7].value) == (20, b"new")
    assert not await played.pairs()
    await write_out(played)
    assert not played.node.rows(KEYS)
    assert not await played.pairs()


async def test_only_so_much_is_to_be_written_out(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "MOST_SWEPT", 20)
    await put_many(played)
    await played.put(b"l")
    request = rpc.DeleteRangeRequest(key=b"k", range_end=b"m")
    assert await played.refused(played.kv, "DeleteRange", request) == errors.REQUEST_TOO_LARGE
    await played.delete(b"k0", b"k1")
    request = rpc.DeleteRangeRequest(key=b"k", range_end=b"z")
    monkeypatch.setattr(sweeping, "MOST_PENDING", 1)
    assert await played.refused(played.kv, "DeleteRange", request) == errors.TOO_MANY_REQUESTS
    await played.delete(b"l")
    # It is not counted in vain.
    with monkeypatch.context() as patched:
        patched.delattr(view.View, "count")
        assert await played.refused(played.kv, "DeleteRange", request) == errors.TOO_MANY_REQUESTS
    await write_out(played)
    await played.delete(b"k", b"z")
    assert not await played.pairs()


async def test_long_keys_are_many_sooner(played: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "MOST_DIRECT_BYTES", 5)
    await put_many(played)
    await played.delete(b"k00", b"k02")
    assert len(played.node.rows(KEYS)) == 20
    await played.delete(b"k02")
    assert len(played.node.rows(KEYS)) == 19


async def test_a_lease_with_many_keys_ends_in_one_revision(played: Any) -> None:
    await played.grant(1)
    before = await put_many(played, 1)
    await played.put(b"k07", b"without")
    await played.put(b"k50", b"without")
    await played.lease.LeaseRevoke(rpc.LeaseRevokeRequest(ID=1), None)
    # The number is free at once, and what has the new lease is not of the one before.
    await played.grant(1)
    await played.put(b"k08", b"again", 1)
    left = [b"k07", b"k08", b"k50"]
    for _ in range(2):
        assert list(await played.pairs()) == left
        assert list(await played.pairs(before)) == MANY
        assert list(await played.pairs(before + 3)) == [b"k07", b"k50"]
        time_to_live = rpc.LeaseTimeToLiveRequest(ID=1, keys=True)
        assert (await played.lease.LeaseTimeToLive(time_to_live, None)).keys == [b"k08"]
        await write_out(played)
    assert len(played.node.rows(LEASE_KEYS)) == 1


async def test_an_expired_lease_waits_for_room(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "MOST_PENDING", 0)
    await played.grant(1, 10)
    await put_many(played, 1)
    revoke = rpc.LeaseRevokeRequest(ID=1)
    refused = await played.refused(played.lease, "LeaseRevoke", revoke)
    assert refused == errors.TOO_MANY_REQUESTS
    await played.node.advance(11_000)
    assert (await played.range()).count == 20
    monkeypatch.undo()
    await played.node.advance(1_000)
    assert (await played.range()).count == 0


async def test_the_keys_of_leases_that_wait_for_room_are_not_looked_at(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for lease in (1, 2, 3):
        await played.grant(lease, 10)
        for key in MANY[:10]:
            await played.put(b"%d" % lease + key, b"", lease)
    looked_at: list[int] = []
    attached = view.View.attached

    def counted(self: view.View, lease: int, most: int, start: bytes = b"") -> list[bytes]:
        found = attached(self, lease, most, start)
        looked_at.append(len(found))
        return found

    monkeypatch.setattr(view.View, "attached", counted)
    monkeypatch.setattr(sweeping, "MOST_PENDING", 1)
    await played.node.advance(11_000)
    for _ in range(100):
        await played.node.advance(10)
    assert not await played.pairs()
    assert looked_at.count(10) == 3

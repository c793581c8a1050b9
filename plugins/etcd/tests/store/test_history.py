"""Every revision that is not compacted can be read as it was, and compaction leaves no more."""

from random import Random
from typing import Any

import pytest
from quorate_etcd.families import KEYS, LEASE_KEYS, PAST, REVISIONS
from quorate_etcd.store import compacting
from quorate_etcd.store.view import Span
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_etcd.wire import rpc_pb2 as rpc

KEYS_USED = [b"a", b"a\0", b"a\0\xff", b"b", b"b/1", b"b/2", b"c", b"\xff"]


@pytest.mark.parametrize("seed", range(6))
async def test_all_revisions_read_as_they_were(
    played: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compacting, "_STEP", 7)
    random = Random(seed)
    now: dict[bytes, bytes] = {}
    states: dict[int, dict[bytes, bytes]] = {1: {}}
    compacted, revision = 0, 1
    for _ in range(250):
        key = random.choice(KEYS_USED)
        if random.random() < 0.7:
            value = random.randbytes(3)
            revision = await played.put(key, value)
            now[key] = value
        else:
            end = random.choice((b"", b"", b"b", b"\0"))
            revision = await played.delete(key, end)
            span = Span.of(key, end)
            gone = [each for each in now if span.holds(each)]
            for each in gone:
                del now[each]
        states[revision] = dict(now)
        if random.random() < 0.03 and revision > compacted + 1:
            compacted = random.randint(compacted + 1, revision)
            await played.compact(compacted, physical=random.random() < 0.5)
    await played.node.advance(10)
    for at in range(max(1, compacted), revision + 1):
        found = await played.pairs(at)
        assert {key: kv.value for key, kv in found.items()} == states[at], f"at revision {at}"
    await played.compact(revision)
    # One row a key with its value, and the ends of keys in the last revision.
    assert len(played.node.rows(KEYS)) == len(now)
    assert len(played.node.rows(REVISIONS)) <= len(now) + len(KEYS_USED)
    assert not played.node.rows(PAST)


async def test_a_key_with_many_versions_is_not_read_whole(played: Any) -> None:
    for number in range(350):
        await played.put(b"hot", b"%d" % number)
        await played.put(b"other%03d" % number)
    for at in (2, 3, 250, 500, 701):
        found = await played.pairs(at)
        assert found[b"hot"].version == at // 2
        assert len(found) == 1 + (at - 1) // 2


async def test_each_value_is_written_once(played: Any) -> None:
    await played.put(b"k", b"precious")
    await played.put(b"k", b"other")
    held = [
        (family, key)
        for family in (KEYS, REVISIONS, PAST, LEASE_KEYS)
        for key, row in played.node.rows(family).items()
        if b"precious" in row
    ]
    assert len(held) == 1


async def test_a_value_larger_than_a_row(played: Any) -> None:
    value = bytes(range(256)) * 5_900
    await played.put(b"k", value)
    assert (await played.range(b"k", b"")).kvs[0].value == value
    await played.put(b"k", b"small")
    assert (await played.pairs(2))[b"k"].value == value
    await played.compact(3)
    assert len(played.node.rows(REVISIONS)) == 1


@pytest.mark.parametrize("limit", [0, 1, 2_000, 2_001, 4_500])
async def test_a_range_of_several_pages(played: Any, limit: int) -> None:
    puts = [rpc.RequestOp(request_put=rpc.PutRequest(key=b"%04d" % n)) for n in range(4_500)]
    for at in range(0, len(puts), 100):
        await played.kv.Txn(rpc.TxnRequest(success=puts[at : at + 100]), None)
    answer = await played.range(limit=limit)
    assert answer.count == 4_500
    assert [each.key for each in answer.kvs] == [b"%04d" % n for n in range(limit or 4_500)]
    assert answer.more == (0 < limit < 4_500)
    assert (await played.range(count_only=True)).count == 4_500


async def test_pages_are_of_one_revision(played: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        await played.put(b"%d" % number, b"old")
    monkeypatch.setattr("quorate_etcd.store.ranges.page_of.__kwdefaults__", {"rows": 3, "size": 1})
    read, store = played.store.read, played.store

    async def then_write(*asked: Any, **how: Any) -> Any:
        page = await read(*asked, **how)
        for number in range(10):
            await played.put(b"%d" % number, b"new")
        await played.delete(b"5")
        return page

    monkeypatch.setattr(store, "read", then_write)
    answer = await played.range()
    assert [each.value for each in answer.kvs] == [b"old"] * 10
    assert answer.header.revision == 11


async def test_a_store_that_was_restored_gives_no_revision_twice(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await played.put(b"k", b"1")
    await played.put(b"k", b"2")
    monkeypatch.setattr("quorate.apply.txn.ShardTxn.generation", property(lambda _: 1))
    leapt = await played.node.propose(pb.Open(), pb.Stood)
    assert leapt.revision == leapt.compacted == 3 + (1 << 30)
    assert await played.node.propose(pb.Open(), pb.Stood) == leapt
    assert (await played.put(b"k", b"3")) == leapt.revision + 1
    refused = await played.refused(played.kv, "Range", rpc.RangeRequest(key=b"k", revision=3))
    assert refused == ("OUT_OF_RANGE", "etcdserver: mvcc: required revision has been compacted")
    await played.node.advance(10)
    assert (await played.pairs(leapt.revision))[b"k"].value == b"2"


async def test_stores_have_keys_and_revisions_of_their_own(played: Any) -> None:
    other = type(played)(played.node, "events")
    await played.put(b"k", b"mine")
    await played.put(b"k", b"mine")
    assert await other.put(b"k", b"theirs") == 2
    assert (await played.range()).kvs[0].value == b"mine"
    assert (await other.range()).kvs[0].value == b"theirs"
    assert await other.delete(b"\0", b"\0") == 3
    assert (await played.range()).count == 1


async def test_a_part_of_the_history_is_bounded_with_its_previous_pairs(played: Any) -> None:
    for number in range(30):
        await played.put(b"%02d" % number, b"x" * 100_000)
    for number in range(30):
        await played.delete(b"%02d" % number)
    everything = asked.KeyRange(key=b"\0", range_end=b"\0")
    query = asked.History(ranges=[everything], previous=True)
    query.MergeFrom(asked.History(**{"from": 32}))  # type: ignore[arg-type]
    changes = await played.store.read(query, asked.Changes)
    assert 10 <= len(changes.events) <= 12
    assert changes.until == changes.events[-1].kv.mod_revision

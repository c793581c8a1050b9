"""A batch of usual puts is read once, and does what its message does."""

from __future__ import annotations

import pytest
from quorate.builtin.kv.apply import put_pair, put_pairs
from quorate.builtin.kv.families import LONGEST_KEY, PAIRS, TTL
from quorate.builtin.kv.putting import Puts
from quorate.plugin.batches import AT_A_TIME
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryTxn
from quorate.v1.kv_pb2 import PutPair, PutPairs

MANY = [PutPair(key=b"key/%d" % at, value=b"%d" % at * (1 + at)) for at in range(2 * AT_A_TIME + 1)]


def usual(pairs: list[PutPair]) -> Puts:
    read = Puts.usual(PutPairs(pairs=pairs))
    assert read is not None
    return read


@pytest.mark.parametrize(
    "former",
    [
        [],
        [PutPair(key=MANY[AT_A_TIME].key, value=b"old")],
        [PutPair(key=MANY[1].key)],
        [PutPair(key=MANY[3].key, value=b"old", ttl_ms=5)],
        [PutPair(key=MANY[3].key, ttl_ms=5), PutPair(key=b"other", value=b"1")],
    ],
    ids=["none", "one", "without a value", "with a time to live", "with no value and a time"],
)
def test_it_writes_what_its_message_does(catalog: Catalog, former: list[PutPair]) -> None:
    def written(*, read: bool) -> tuple[object, ...]:
        txn = MemoryTxn(at_ms=1_000, plugin="kv", catalog=catalog)
        for pair in former:
            put_pair(txn, pair)
        later = txn.then(1_000)
        reply = usual(MANY).apply(later) if read else put_pairs(later, PutPairs(pairs=MANY))
        deadlines = [later.deadline(TTL, each.key) for each in MANY]
        return reply, later.rows(PAIRS), later.events, deadlines

    assert written(read=True) == written(read=False)


@pytest.mark.parametrize(
    "pair",
    [
        PutPair(value=b"1"),
        PutPair(key=b"a"),
        PutPair(key=b"a" * (LONGEST_KEY + 1), value=b"1"),
        PutPair(key=b"a", value=b"1", ttl_ms=1),
        PutPair(key=b"a", value=b"1", expected_revision=0),
    ],
    ids=["no key", "no value", "a long key", "a time to live", "a condition"],
)
def test_a_batch_with_an_unusual_put_is_looked_at_item_by_item(pair: PutPair) -> None:
    assert Puts.usual(PutPairs(pairs=[*MANY, pair])) is None


def test_keys_with_a_slash_have_the_shard_of_what_is_before_it() -> None:
    read = usual([PutPair(key=key, value=b"1") for key in (b"a/1", b"b", b"a/2")])
    assert list(read.keys) == [b"a/1", b"b", b"a/2"]
    assert list(read.shard_keys) == [b"a", b"b", b"a"]


def test_keys_without_a_slash_are_the_shard_keys_themselves() -> None:
    read = usual([PutPair(key=b"a", value=b"1"), PutPair(key=b"b", value=b"1")])
    assert read.shard_keys is read.keys

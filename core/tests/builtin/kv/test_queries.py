from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st
from quorate.builtin.kv import apply, queries
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryTxn
from quorate.v1.kv_pb2 import (
    GetPair,
    GetPairResponse,
    GetPairs,
    GetPairsResponse,
    KeyedPair,
    ListedPair,
    ListPairs,
    PutPair,
)

#: Few letters, so that prefixes meet; the last one is the largest.
KEYS = st.lists(st.sampled_from([0x00, 0x2F, 0x61, 0xFF]), max_size=3).map(bytes)


def shard_with(catalog: Catalog, keys: set[bytes], value: bytes = b"v") -> MemoryTxn:
    txn = MemoryTxn(plugin="kv", catalog=catalog)
    for key in keys:
        apply.put_pair(txn, PutPair(key=key, value=value))
    return txn


def listed(shard: MemoryTxn, query: ListPairs) -> list[bytes]:
    return [each.pair.key for each in pages(queries.list_pairs(shard, query))]


def got(found: Iterable[bytes]) -> list[KeyedPair]:
    return [GetPairResponse.FromString(each).pair for each in found]


def pages(found: Iterable[bytes]) -> list[ListedPair]:
    return [ListedPair.FromString(each) for each in found]


@given(keys=st.sets(KEYS.filter(len)), prefix=KEYS, start=KEYS, end=KEYS, after=KEYS)
def test_a_list_holds_the_keys_between_its_bounds(
    catalog: Catalog, keys: set[bytes], prefix: bytes, start: bytes, end: bytes, after: bytes
) -> None:
    shard = shard_with(catalog, keys)

    found = listed(shard, ListPairs(prefix=prefix, start=start, end=end, after=after))

    assert found == sorted(
        key
        for key in keys
        if key.startswith(prefix) and start <= key and (not end or key < end) and key > after
    )


def ends(page: Iterable[bytes]) -> list[tuple[bytes, bool]]:
    return [(each.pair.key, each.more) for each in pages(page)]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, [(b"a", True)]),
        (2, [(b"a", False), (b"b", True)]),
        (3, [(b"a", False), (b"b", False), (b"c", False)]),
        (4_294_967_295, [(b"a", False), (b"b", False), (b"c", False)]),
    ],
)
def test_the_last_of_a_page_says_whether_there_are_more(
    catalog: Catalog, limit: int, expected: list[tuple[bytes, bool]]
) -> None:
    shard = shard_with(catalog, {b"a", b"b", b"c"})

    assert ends(queries.list_pairs(shard, ListPairs(limit=limit))) == expected


def test_a_page_of_large_pairs_ends_before_its_limit(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PAGE_BYTES", 150)
    shard = shard_with(catalog, {b"a", b"b", b"c"}, value=b"v" * 100)

    assert ends(queries.list_pairs(shard, ListPairs())) == [(b"a", False), (b"b", True)]
    assert len(listed(shard, ListPairs(keys_only=True))) == 3


def test_no_page_is_larger_than_the_largest(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "LARGEST_PAGE", 2)
    shard = shard_with(catalog, {b"a", b"b", b"c"})

    assert listed(shard, ListPairs()) == listed(shard, ListPairs(limit=3)) == [b"a", b"b"]


def test_a_pair_is_read_with_all_that_is_known_of_it(catalog: Catalog) -> None:
    shard = shard_with(catalog, {b"a"})
    later = shard.then(0)
    apply.put_pair(later, PutPair(key=b"a", value=b"w", ttl_ms=5))

    [pair] = got(queries.get_pair(later, GetPair(key=b"a")))
    [named] = got(queries.get_pair(later, GetPair(key=b"a", keys_only=True)))

    assert (pair.key, pair.value, pair.ttl_ms) == (b"a", b"w", 5)
    assert (pair.revision, pair.created_revision) == (later.revision, shard.revision)
    assert (named.value, named.revision) == (b"", later.revision)
    assert not list(queries.get_pair(later, GetPair(key=b"b")))


def test_many_are_answered_in_their_places(catalog: Catalog) -> None:
    shard = shard_with(catalog, {b"a", b"b", b"c"})

    keys = [b"c", b"x", b"a", b"c"]
    found = list(queries.get_pairs(shard, GetPairs(keys=keys)))

    # One answer a key, and all of them together are the response.
    assert [len(GetPairsResponse.FromString(each).responses) for each in found] == [1] * 4
    responses = GetPairsResponse.FromString(b"".join(found)).responses
    assert [each.pair.key for each in responses] == [b"c", b"", b"a", b"c"]
    assert [each.HasField("pair") for each in responses] == [True, False, True, True]


@given(value=st.binary(max_size=300), ttl_ms=st.integers(0, 2**40), key=st.binary(min_size=1))
def test_a_spliced_pair_is_what_a_message_of_it_would_be(
    catalog: Catalog, key: bytes, value: bytes, ttl_ms: int
) -> None:
    txn = MemoryTxn(plugin="kv", catalog=catalog)
    apply.put_pair(txn, PutPair(key=key, value=value, ttl_ms=ttl_ms))

    [spliced] = queries.get_pair(txn, GetPair(key=key))

    assert GetPairResponse.FromString(spliced).pair == KeyedPair(
        key=key,
        value=value,
        ttl_ms=ttl_ms,
        revision=txn.revision,
        created_revision=txn.revision,
    )
    [listed] = pages(queries.list_pairs(txn, ListPairs()))
    assert listed.pair == GetPairResponse.FromString(spliced).pair

"""The service as brokers call it; what it refuses is never logged."""

from __future__ import annotations

import inspect
from asyncio import run
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, Final

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given, strategies as st
from quorate.builtin.kv import queries
from quorate.builtin.kv.families import LONGEST_KEY
from quorate.builtin.kv.service import KV
from quorate.plugin import Invalid, Rejected
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryNode
from quorate.v1 import kv_pb2
from quorate.v1.kv_pb2 import (
    CommitPairs,
    CommitPairsBatch,
    DeletePair,
    DeletePairReply,
    DeletePairs,
    GetPairRequest,
    GetPairsRequest,
    ListPairsRequest,
    PairComparison,
    PairOperation,
    PutPair,
    PutPairs,
    TouchPair,
    TouchPairs,
)

#: More than four shards have keys of these.
PLACES: Final = [b"oslo", b"bern", b"rome", b"cork", b"lyon", b"graz", b"oslo/1", b"oslo/2"]
LONG: Final = b"k" * (LONGEST_KEY + 1)
METHODS: Final = kv_pb2.DESCRIPTOR.services_by_name["KvService"].methods

#: What is too large, for each method, with the field that is named.
OVERSIZED: Final[Mapping[str, tuple[Message, str]]] = {
    "Put": (PutPair(key=LONG), "key"),
    "PutBatch": (PutPairs(pairs=[PutPair(key=LONG)]), "pairs[0].key"),
    "Delete": (DeletePair(key=LONG), "key"),
    "DeleteBatch": (DeletePairs(pairs=[DeletePair(key=LONG)]), "pairs[0].key"),
    "Touch": (TouchPair(key=LONG), "key"),
    "TouchBatch": (TouchPairs(pairs=[TouchPair(key=LONG)]), "pairs[0].key"),
    "Commit": (CommitPairs(operations=[PairOperation()] * 129), "operations"),
    "CommitBatch": (
        CommitPairsBatch(transactions=[CommitPairs(operations=[PairOperation()] * 129)]),
        "transactions[0].operations",
    ),
    "Get": (GetPairRequest(key=LONG), "key"),
    "GetBatch": (GetPairsRequest(keys=[b"a"] * 1_001), "keys"),
    "Exists": (GetPairRequest(key=LONG), "key"),
    "ExistsBatch": (GetPairsRequest(keys=[LONG]), "keys[0]"),
    "List": (ListPairsRequest(prefix=LONG), "prefix"),
    "StreamList": (ListPairsRequest(page_token=LONG), "page_token"),
}


async def call(service: Any, method: str, request: Message) -> Any:
    answer = getattr(service, method)(request, None)
    return [each async for each in answer] if inspect.isasyncgen(answer) else await answer


async def put_places(service: Any) -> None:
    pairs = [PutPair(key=key, value=key.upper()) for key in PLACES]
    await service.PutBatch(PutPairs(pairs=pairs), None)


@pytest.mark.parametrize("method", ["Put", "Delete", "Touch", "Commit", "Get", "Exists"])
@pytest.mark.parametrize("wrong", ["empty", "of another type"])
async def test_a_request_that_names_nothing_is_refused(
    service: Any, node: MemoryNode, method: str, wrong: str
) -> None:
    kind = _request_of(method)
    # A number where bytes or a message belong: to protobuf a field that it does not know.
    request = kind.FromString(b"" if wrong == "empty" else b"\x08\x2a\x10\x2a")

    with pytest.raises(Invalid) as refusal:
        await call(service, method, request)

    assert refusal.value.field in {"key", "operations"}
    assert node.proposals == []


@pytest.mark.parametrize("method", [each.name for each in METHODS if each.name.endswith("Batch")])
async def test_an_empty_batch_is_answered_with_nothing(
    service: Any, node: MemoryNode, method: str
) -> None:
    answer = await call(service, method, _request_of(method)())

    assert answer == type(answer)()
    assert node.proposals == []


@pytest.mark.parametrize("method", ["GetBatch", "ExistsBatch"])
async def test_an_empty_key_among_others_is_named(service: Any, method: str) -> None:
    with pytest.raises(Invalid) as refusal:
        await call(service, method, GetPairsRequest(keys=[b"a", b""]))

    assert refusal.value.field == "keys[1]"


@pytest.mark.parametrize("method", ["List", "StreamList"])
async def test_an_empty_list_request_lists_everything(service: Any, method: str) -> None:
    await put_places(service)

    answer = await call(service, method, ListPairsRequest())

    [page] = answer if isinstance(answer, list) else [answer]
    assert [pair.key for pair in page.pairs] == sorted(PLACES)


@pytest.mark.parametrize("method", [each.name for each in METHODS])
async def test_what_is_too_large_is_refused_with_its_field(
    service: Any, node: MemoryNode, method: str
) -> None:
    request, field = OVERSIZED[method]

    with pytest.raises(Invalid) as refusal:
        await call(service, method, request)

    assert refusal.value.field == field
    assert node.proposals == []


@pytest.mark.parametrize("method", [each.name for each in METHODS])
@given(noise=st.binary(max_size=64))
def test_noise_is_answered_or_refused(catalog: Catalog, method: str, noise: bytes) -> None:
    service = MemoryNode(catalog=catalog, shards={"metadata": 2}).servicer(KV.full_name)

    # A revision that is far away is waited for, in memory for no time at all.
    with suppress(DecodeError, Invalid, Rejected, TimeoutError):
        run(call(service, method, _request_of(method).FromString(noise)))


def _request_of(method: str) -> type[Message]:
    kind: type[Message] = getattr(
        kv_pb2, next(each.input_type.name for each in METHODS if each.name == method)
    )
    return kind


async def test_a_range_that_ends_before_it_starts_is_refused(service: Any) -> None:
    with pytest.raises(Invalid, match=r"end: 'a' lies before start, 'b'"):
        await service.List(ListPairsRequest(start=b"b", end=b"a"), None)


async def test_a_pair_that_repeats_a_key_is_refused_in_its_place(service: Any) -> None:
    pairs = [PutPair(key=key, value=key) for key in (b"a", b"b", b"a", b"c")]
    reply = await service.PutBatch(PutPairs(pairs=pairs), None)

    [refusal] = reply.refusals
    assert (reply.items, refusal.item, refusal.code) == (4, 2, "INVALID_ARGUMENT")
    assert refusal.message == "pairs[2]: has the key of pairs[0]; name each once"
    assert (await service.Get(GetPairRequest(key=b"c"), None)).pair.value == b"c"


async def test_a_value_is_got_as_it_was_put(service: Any) -> None:
    put = await service.Put(PutPair(key=b"a/1", value=b"\x00\xff"), None)

    pair = (await service.Get(GetPairRequest(key=b"a/1"), None)).pair
    gone = await service.Get(GetPairRequest(key=b"a/2"), None)

    assert (pair.key, pair.value, pair.revision) == (b"a/1", b"\x00\xff", put.revision)
    assert not gone.HasField("pair")


async def test_many_are_got_in_the_order_of_the_request(service: Any) -> None:
    await put_places(service)
    keys = [b"rome", b"nowhere", *reversed(PLACES)]

    got = await service.GetBatch(GetPairsRequest(keys=keys), None)
    there = await service.ExistsBatch(GetPairsRequest(keys=keys), None)

    expected = [b"ROME", b"", *(key.upper() for key in reversed(PLACES))]
    assert [each.pair.value for each in got.responses] == expected
    assert [each.HasField("pair") for each in got.responses] == list(there.exist)
    assert list(there.exist) == [True, False, *[True] * len(PLACES)]


async def test_what_is_deleted_does_not_exist(service: Any) -> None:
    await put_places(service)
    assert (await service.Exists(GetPairRequest(key=b"oslo/1"), None)).exists

    assert (await service.Delete(DeletePair(key=b"oslo/1"), None)).deleted
    reply = await service.DeleteBatch(
        DeletePairs(pairs=[DeletePair(key=b"oslo/1"), DeletePair(key=b"bern")]), None
    )

    assert [DeletePairReply.FromString(each).deleted for each in reply.replies] == [False, True]
    assert not (await service.Exists(GetPairRequest(key=b"oslo/1"), None)).exists


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 0])
async def test_pages_over_all_shards_hold_everything_once_and_in_order(
    service: Any, size: int
) -> None:
    await put_places(service)
    request = ListPairsRequest(page_size=size)

    pages = [page async for page in service.StreamList(request, None)]
    found = [pair.key for pair in chain.from_iterable(page.pairs for page in pages)]

    assert found == sorted(PLACES)
    assert all(len(page.pairs) == size for page in pages[:-1])
    assert [page.next_page_token for page in pages] == [
        *(page.pairs[-1].key for page in pages[:-1]),
        b"",
    ]


async def test_a_page_ends_where_a_shard_has_more_to_give(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PAGE_BYTES", 1)
    await put_places(service)

    pages = [page async for page in service.StreamList(ListPairsRequest(), None)]

    assert len(pages) > 1
    assert [pair.key for page in pages for pair in page.pairs] == sorted(PLACES)


async def test_a_page_of_all_shards_is_bounded_in_bytes(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.builtin.kv.service.PAGE_BYTES", 1)
    await put_places(service)

    pages = [page async for page in service.StreamList(ListPairsRequest(), None)]

    assert [len(page.pairs) for page in pages] == [1] * len(PLACES)


async def test_a_list_is_bounded_and_leaves_values_out(service: Any) -> None:
    await put_places(service)

    request = ListPairsRequest(prefix=b"oslo", start=b"oslo/", end=b"oslo/2", keys_only=True)
    page = await service.List(request, None)

    assert [(pair.key, pair.value) for pair in page.pairs] == [(b"oslo/1", b"")]


async def test_of_two_that_take_a_lock_one_gets_it(service: Any) -> None:
    mine = await service.Put(PutPair(key=b"lock", value=b"a", expected_revision=0), None)

    with pytest.raises(Rejected) as refusal:
        await service.Put(PutPair(key=b"lock", value=b"b", expected_revision=0), None)

    assert refusal.value.code == "REVISION_MISMATCH"
    assert str(mine.revision) in refusal.value.message


async def test_transactions_are_carried_out_shard_by_shard(service: Any) -> None:
    await put_places(service)

    def move(place: bytes, taken: int = 0) -> CommitPairs:
        comparison = PairComparison(key=place + b"/lock", expected_revision=taken)
        put = PairOperation(put=PutPair(key=place + b"/lock", value=b"x"))
        delete = PairOperation(delete=DeletePair(key=place))
        return CommitPairs(comparisons=[comparison], operations=[put, delete])

    places = [b"oslo", b"bern", b"rome", b"cork"]
    await service.Commit(move(b"lyon"), None)
    reply = await service.CommitBatch(
        CommitPairsBatch(transactions=[*map(move, places), move(b"graz", taken=5)]), None
    )

    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [
        (4, "REVISION_MISMATCH")
    ]
    page = await service.List(ListPairsRequest(keys_only=True), None)
    locks = {pair.key for pair in page.pairs if pair.key.endswith(b"/lock")}
    assert locks == {place + b"/lock" for place in [*places, b"lyon"]}
    assert {pair.key for pair in page.pairs} - locks == {b"graz", b"oslo/1", b"oslo/2"}


async def test_a_pair_outlives_its_time_only_when_it_is_touched(
    service: Any, node: MemoryNode
) -> None:
    # A leader that is new waits for one time to live.
    pairs = [PutPair(key=key, ttl_ms=1_000) for key in (b"kept", b"left", b"held")]
    await service.PutBatch(PutPairs(pairs=pairs), None)
    await node.advance(900)
    touched = await service.Touch(TouchPair(key=b"kept"), None)
    await service.TouchBatch(TouchPairs(pairs=[TouchPair(key=b"held")]), None)

    await node.advance(99)
    assert (await service.Exists(GetPairRequest(key=b"left"), None)).exists
    await node.advance(1)

    keys = [b"kept", b"left", b"held"]
    assert touched.expires_at_ms == 2_900
    assert list((await service.ExistsBatch(GetPairsRequest(keys=keys), None)).exist) == [
        True,
        False,
        True,
    ]
    await node.advance(900)
    assert not any((await service.ExistsBatch(GetPairsRequest(keys=keys), None)).exist)


async def test_a_new_leader_gives_everybody_time_to_touch(service: Any, node: MemoryNode) -> None:
    await service.Put(PutPair(key=b"lease", ttl_ms=1_000), None)
    await node.advance(900)
    for shard in range(4):
        node.elect("metadata", shard)

    await node.advance(999)
    assert (await service.Exists(GetPairRequest(key=b"lease"), None)).exists
    await node.advance(1)
    assert not (await service.Exists(GetPairRequest(key=b"lease"), None)).exists


@pytest.mark.parametrize("stale", [True, False])
async def test_reads_say_how_fresh_they_must_be(
    service: Any, node: MemoryNode, monkeypatch: pytest.MonkeyPatch, stale: bool
) -> None:
    asked: list[dict[str, object]] = []
    read = node.read

    def noted(*given: Any, **options: Any) -> Any:
        asked.append(options)
        return read(*given, **options)

    monkeypatch.setattr(node, "read", noted)
    put = await service.Put(PutPair(key=b"a"), None)
    fresh: dict[str, Any] = {"stale": stale, "min_revision": put.revision}

    await service.Get(GetPairRequest(key=b"a", **fresh), None)
    await service.Exists(GetPairRequest(key=b"a", **fresh), None)
    await service.GetBatch(GetPairsRequest(keys=[b"a"], **fresh), None)
    await service.ExistsBatch(GetPairsRequest(keys=[b"a"], **fresh), None)
    await service.List(ListPairsRequest(**fresh), None)

    consistency = "stale" if stale else "linearizable"
    assert asked == [{"consistency": consistency, "min_revision": put.revision}] * 5

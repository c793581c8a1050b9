"""The client against nodes that are complete, in processes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from quorate.client import (
    AsyncClient,
    ChangeKind,
    Client,
    InvalidError,
    RejectedError,
    connect,
)
from quorate.testing.cluster import Cluster
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.kv_pb2 import DeletePair, PutPair, TouchPair


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One node, with two shards."""
    settings = {"groups": {"metadata": {"shards": 2}}}
    with Cluster(tmp_path_factory.mktemp("client"), nodes=1, settings=settings) as cluster:
        yield cluster.ready()


@pytest.fixture(params=[False, True], ids=["plain", "exactly once"])
async def q(node: Cluster, request: pytest.FixtureRequest) -> AsyncIterator[AsyncClient]:
    async with connect(node.endpoints, exactly_once=request.param) as q:
        yield q


@pytest.fixture
def at(request: pytest.FixtureRequest) -> str:
    """A place in the keys of its own."""
    return f"{abs(hash(request.node.nodeid))}/"


async def test_pairs_are_written_read_and_deleted(q: AsyncClient, at: str) -> None:
    assert await q.kv.get(at + "a") is None
    put = await q.kv.put(at + "a", b"1")
    assert put.created
    pair = await q.kv.get(at + "a")
    assert pair is not None
    assert (pair.key, pair.value, pair.revision) == ((at + "a").encode(), b"1", put.revision)
    assert (pair.created_revision, pair.ttl_ms, pair.age_ms) == (put.revision, 0, 0)
    assert await q.kv.exists(at + "a")
    assert await q.kv.delete(at + "a")
    assert not await q.kv.delete(at + "a")
    assert not await q.kv.exists(at + "a")


async def test_a_revision_that_was_not_expected_is_refused(q: AsyncClient, at: str) -> None:
    revision = (await q.kv.put(at + "a", b"1", expected_revision=0)).revision
    with pytest.raises(RejectedError) as raised:
        await q.kv.put(at + "a", b"2", expected_revision=0)
    assert raised.value.code == "REVISION_MISMATCH"
    await q.kv.put(at + "a", b"2", expected_revision=revision)
    with pytest.raises(RejectedError, match="REVISION_MISMATCH"):
        await q.kv.delete(at + "a", expected_revision=revision)


async def test_a_transaction_is_carried_out_or_refused(q: AsyncClient, at: str) -> None:
    key = at.encode()
    steps: list[PutPair | DeletePair | TouchPair] = [
        PutPair(key=key + b"a", value=b"1", ttl_ms=60_000),
        PutPair(key=key + b"b"),
    ]
    revision = await q.kv.commit(steps, expected={at + "c": 0})
    more: list[PutPair | DeletePair | TouchPair] = [
        DeletePair(key=key + b"b"),
        TouchPair(key=key + b"a"),
    ]
    with pytest.raises(RejectedError, match="REVISION_MISMATCH"):
        await q.kv.commit(more, expected={at + "a": revision + 1})
    await q.kv.commit(more, expected={at + "a": revision})
    assert [pair.key async for pair in q.kv.list(at)] == [key + b"a"]
    assert await q.kv.touch(at + "a") > 0


async def test_many_pairs_of_all_shards_are_written_and_listed_in_their_order(
    q: AsyncClient, at: str
) -> None:
    wanted = {f"{at[:-1]}{number:04}/x": b"%d" % number for number in range(2_300)}
    reply = await q.kv.put_many(wanted)
    assert (reply.items, len(reply.refusals)) == (2_300, 0)
    assert {each.shard for each in reply.revisions} == {0, 1}

    listed = [(pair.key.decode(), pair.value) async for pair in q.kv.list(at[:-1], page_size=500)]
    assert listed == sorted(wanted.items())
    pages = [page async for page in q.kv.scan(at[:-1], keys_only=True)]
    assert [len(page.pairs) for page in pages] == [1_000, 1_000, 300]
    assert {pair.value for page in pages for pair in page.pairs} == {b""}
    some = [*list(wanted)[:1_100], at + "none"]
    found = await q.kv.get_many(some)
    assert [pair.value if pair else None for pair in found] == [wanted.get(key) for key in some]
    deleted = await q.kv.delete_many(wanted)
    assert (deleted.items, len(deleted.replies)) == (2_300, 2_300)


async def test_a_stale_read_states_its_age(q: AsyncClient, at: str) -> None:
    revision = (await q.kv.put(at + "a", b"1")).revision
    pair = await q.kv.get(at + "a", stale=True, min_revision=revision)
    assert pair is not None
    assert pair.age_ms >= 0


async def test_concurrent_puts_each_get_their_own_revision(q: AsyncClient, at: str) -> None:
    puts = await asyncio.gather(*(q.kv.put(f"{at}{n % 10}", b"%d" % n) for n in range(3_000)))
    assert len({put.revision for put in puts}) == 3_000


async def test_bad_input_names_its_field(q: AsyncClient) -> None:
    with pytest.raises(InvalidError) as raised:
        await q.kv.put("", b"")
    assert raised.value.field == "key"


async def test_a_watch_sees_what_is_and_then_what_happens(q: AsyncClient, at: str) -> None:
    await q.kv.put(at + "a", b"1")
    seen = []
    async with asyncio.timeout(20), aclosing(q.watch("kv", prefix=at, marks=True)) as changes:
        async for change in changes:
            if change.kind is ChangeKind.LISTED:
                await q.kv.put(at + "b", b"2")
                await q.kv.put(at + "a", b"3")
                await q.kv.delete(at + "b")
            if change.key:
                seen.append((change.kind, change.key.decode().removeprefix(at), change.value))
                if change.kind is ChangeKind.DELETED:
                    token = change.token
                    break
    assert seen == [
        (ChangeKind.ROW, "a", b"1"),
        (ChangeKind.CREATED, "b", b"2"),
        (ChangeKind.UPDATED, "a", b"3"),
        (ChangeKind.DELETED, "b", b""),
    ]

    await q.kv.put(at + "c", b"4")
    async with asyncio.timeout(20), aclosing(q.watch("kv", prefix=at, token=token)) as changes:
        async for change in changes:
            assert (change.kind, change.value) == (ChangeKind.CREATED, b"4")
            break


async def test_a_broker_registers_beats_and_takes_its_leave(q: AsyncClient, at: str) -> None:
    async with q.brokers.registered(
        at + "b1", "north", roles=["mqtt"], labels={"zone": at}, addresses={"mqtt": "127.0.0.1:1"}
    ) as registration:
        broker = await q.brokers.get(at + "b1")
        assert broker == registration.broker
        assert [each.name async for each in q.brokers.list(labels={"zone": at})] == [at + "b1"]
        await q.brokers.heartbeat(at + "b1", registration.broker.epoch)
    assert await q.brokers.get(at + "b1") is None


async def test_a_broker_hears_that_another_process_has_its_name(q: AsyncClient, at: str) -> None:
    async with q.brokers.registered(at + "b1", "north", ttl_ms=150) as registration:
        later: Broker = await q.brokers.register(at + "b1", "north", ttl_ms=60_000)
        async with asyncio.timeout(20):
            error = await registration.lost()
        assert error.code == "FENCED"
        assert registration.is_lost
    assert await q.brokers.get(at + "b1") == later


def test_the_same_without_await(node: Cluster, at: str) -> None:
    with Client(node.endpoints) as q:
        q.kv.put(at + "a", b"1")
        pair = q.kv.get(at + "a")
        assert pair is not None
        assert pair.value == b"1"
        assert [each.key.decode() for each in q.kv.list(at)] == [at + "a"]
        with q.brokers.registered(at + "b", "north") as registration:
            assert not registration.is_lost
            assert registration.broker.epoch
        assert q.brokers.get(at + "b") is None
        for change in q.watch("kv", prefix=at):
            assert (change.kind, change.value) == (ChangeKind.ROW, b"1")
            break


@pytest.mark.ci
async def test_with_sessions_no_write_is_lost_or_done_twice_when_leaders_are_killed(
    tmp_path: Path,
) -> None:
    with Cluster(tmp_path, nodes=3) as cluster:
        cluster.ready()
        async with connect(cluster.endpoints, exactly_once=True) as q:
            written = 0
            enough = asyncio.Event()

            async def count(worker: int) -> None:
                """Count to fifty; what was done twice would not be what is expected."""
                nonlocal written
                revision = 0
                for number in range(50):
                    put = await q.kv.put(f"c/{worker}", b"%d" % number, expected_revision=revision)
                    revision = put.revision
                    written += 1
                    if written == 200:
                        enough.set()

            async def kill() -> None:
                await enough.wait()
                leader = await asyncio.to_thread(cluster.leader)
                await asyncio.to_thread(leader.kill)

            async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                group.create_task(kill())
                for worker in range(20):
                    group.create_task(count(worker))
            assert [pair.value async for pair in q.kv.list("c/")] == [b"49"] * 20


async def test_a_cache_follows_a_prefix(q: AsyncClient, at: str) -> None:
    await q.kv.put(at + "a", "1")
    async with q.kv.following(at) as cache:
        assert dict(cache) == {(at + "a").encode(): b"1"}
        await q.kv.put(at + "b", "2")
        await q.kv.delete(at + "a")
        await cache.until(lambda there: at + "b" in there and at + "a" not in there)
        assert (cache[at + "b"], cache.get(at + "a"), len(cache)) == (b"2", None, 1)


def test_a_cache_for_threads(node: Cluster) -> None:
    with Client(node.endpoints) as q, q.kv.following("cached/") as cache:
        q.kv.put("cached/a", "1")
        cache.until(lambda there: "cached/a" in there)
        assert (cache["cached/a"], cache.get("cached/b"), list(cache)) == (
            b"1",
            None,
            [b"cached/a"],
        )


async def test_a_key_and_its_value_stand_for_a_pair(q: AsyncClient, at: str) -> None:
    await q.kv.commit([(at + "a", "1"), (at + "b", "2")], expected={at + "a": 0})
    assert [(each.name, each.text) async for each in q.kv.list(at)] == [
        (at + "a", "1"),
        (at + "b", "2"),
    ]

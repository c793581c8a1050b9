"""No watch is told of a revision twice, none is left out, and none holds much memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryNode, shard as memory
from quorate.testing.waiting import PATIENCE_S
from quorate_etcd import errors
from quorate_etcd.config import EtcdConfig
from quorate_etcd.families import REVISIONS
from quorate_etcd.serving.streams import Stream, Watcher
from quorate_etcd.serving.watching import Watches
from quorate_etcd.store import sweeping
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

PUT, DELETE = mvcc.Event.PUT, mvcc.Event.DELETE


class Client:
    """A stream, of which responses are read only when they are asked for."""

    def __init__(self, watches: Watches) -> None:
        self.watches = watches
        self.stream: Stream = watches.stream()
        self._responses = self.stream.responses()

    async def watch(self, key: bytes, end: bytes = b"", **more: Any) -> Watcher:
        number = more.pop("watch_id", len(self.stream.watchers))
        request = rpc.WatchCreateRequest(key=key, range_end=end, **more)
        watcher = Watcher(self.stream, number, request)
        await self.watches.add(watcher)
        return watcher

    async def read(self) -> rpc.WatchResponse:
        async with asyncio.timeout(PATIENCE_S):
            return await anext(self._responses)

    async def until(self, holds: Callable[[list[rpc.WatchResponse]], bool]) -> Any:
        read = [await self.read()]
        while not holds(read):
            read.append(await self.read())
        return read


@asynccontextmanager
async def running(played: Any) -> AsyncIterator[Watches]:
    watches = Watches(played.store)
    task = asyncio.create_task(watches.run())
    try:
        yield watches
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def watches(played: Any) -> AsyncIterator[Watches]:
    async with running(played) as opened:
        yield opened


@pytest.fixture
def client(watches: Watches) -> Client:
    return Client(watches)


def told(response: rpc.WatchResponse) -> list[tuple[int, bytes, int, bytes]]:
    return [
        (each.type, each.kv.key, each.kv.mod_revision, each.prev_kv.value)
        for each in response.events
    ]


async def test_it_begins_after_all_that_was_answered(played: Any, client: Client) -> None:
    await played.put(b"a", b"1")
    await client.watch(b"a")
    created = await client.read()
    assert (created.created, created.header.revision) == (True, 2)
    await played.put(b"a", b"2")
    response = await client.read()
    assert told(response) == [(PUT, b"a", 3, b"")]
    assert response.header.revision == 3


async def test_it_goes_on_after_a_leap(played: Any, client: Client, node: MemoryNode) -> None:
    await client.watch(b"a")
    await client.read()
    stood = await node.propose(pb.Leap(revision=1_000), pb.Stood)
    assert (stood.revision, stood.compacted) == (1_000, 1_000)
    # It is told before the next change.
    await client.watch(b"b")
    assert (await client.read()).header.revision == 1_000
    assert await played.put(b"a") == 1_001
    assert told(await client.read()) == [(PUT, b"a", 1_001, b"")]
    # A store never goes back.
    await node.propose(pb.Leap(revision=500), pb.Stood)
    assert await played.put(b"a") == 1_002


async def test_from_a_leap_while_a_sweep_is_written_out(
    played: Any, client: Client, node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "MOST_DIRECT", 1)
    for key in (b"a", b"aa"):
        await played.put(key)
    await played.delete(b"a", b"b")
    await node.propose(pb.Leap(revision=1_000), pb.Stood)
    await client.watch(b"b", start_revision=1_000)
    assert (await client.read()).created
    # It looks at the history some times.
    await asyncio.sleep(0.2)
    while (await played.store.stand()).sweeping:
        await node.advance(10)
    await played.put(b"b")
    assert told(await client.read()) == [(PUT, b"b", 1_001, b"")]


@pytest.mark.parametrize("written_out", [False, True])
async def test_a_compaction_behind_a_sweep_cancels_no_watch(
    played: Any,
    client: Client,
    node: MemoryNode,
    monkeypatch: pytest.MonkeyPatch,
    written_out: bool,
) -> None:
    monkeypatch.setattr(sweeping, "MOST_DIRECT", 1)
    read, reads = played.store.read, asyncio.Event()

    async def slow(query: Any, *args: Any, **more: Any) -> Any:
        if isinstance(query, asked.History):
            await reads.wait()
        return await read(query, *args, **more)

    monkeypatch.setattr(played.store, "read", slow)
    for key in (b"a", b"aa"):
        await played.put(key, b"v" + key)
    await client.watch(b"a", b"b", prev_kv=True)
    await client.read()
    await played.delete(b"a", b"b")
    while written_out and (await played.store.stand()).sweeping:
        await node.advance(10)
    compacted = await played.put(b"b")
    await played.compact(compacted)
    await node.advance(sweeping.KEPT_MS - 100)
    reads.set()
    response = await client.read()
    assert told(response) == [(DELETE, b"a", 4, b"va"), (DELETE, b"aa", 4, b"vaa")]
    # No other watch may begin there.
    await client.watch(b"a", b"b", start_revision=4)
    assert (await client.read()).created
    assert (await client.read()).compact_revision == compacted
    assert len(node.rows(REVISIONS)) > 1
    await node.advance(200)
    assert len(node.rows(REVISIONS)) == 1


async def test_the_largest_pair_comes_with_a_previous_one_as_large(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a node whose `limits.value_bytes` takes such values.
    rows_of_8_mib = replace(memory._EVALUATED, row_bytes=8 << 20)
    monkeypatch.setattr(memory, "_EVALUATED", rows_of_8_mib)
    [most] = [
        each.le for each in EtcdConfig.model_fields["request_bytes"].metadata if hasattr(each, "le")
    ]
    limits = {"value_bytes": 8 << 20, "command_bytes": 16 << 20}
    async with MemoryNode(["etcd"], limits=limits) as node:
        played = type(played)(node, request_bytes=most)
        largest, other = bytes(most - 8), bytes((1 << 20) - 100)
        await played.put(b"a", largest)
        # What is found before it in one part of the history.
        await played.put(b"b", other)
        await played.put(b"a", largest)
        async with running(played) as watches:
            client = Client(watches)
            await client.watch(b"a", b"c", start_revision=3, prev_kv=True)
            read = await client.until(lambda read: sum(len(each.events) for each in read) == 2)
        found = [each for response in read for each in response.events]
        assert [len(each.kv.value) for each in found] == [len(other), len(largest)]
        assert len(found[-1].prev_kv.value) == len(largest)


async def test_a_revision_that_is_too_large_ends_its_watches(played: Any) -> None:
    played = type(played)(played.node, range_bytes=2 << 20)
    for number in range(6):
        await played.put(b"%d" % number, bytes(700_000))
    async with running(played) as watches:
        client, other = Client(watches), Client(watches)
        await client.watch(b"0", b"9", prev_kv=True, watch_id=1)
        await other.watch(b"0", b"9", watch_id=2)
        await other.watch(b"a", prev_kv=True, watch_id=3)
        await played.delete(b"0", b"9")
        cancelled = (await client.until(lambda read: read[-1].canceled))[-1]
        assert "revision 8 has more than 2,097,152 bytes" in cancelled.cancel_reason
        assert not client.stream.watchers
        read = await other.until(lambda read: bool(read[-1].events))
        assert len(read[-1].events) == 6
        await played.put(b"a")
        assert told(await other.read()) == [(PUT, b"a", 9, b"")]
        # Another one from the same revision ends so, too.
        await client.watch(b"0", b"1", prev_kv=True, start_revision=8)
        read = await client.until(lambda read: bool(read[-1].events))
        assert len(read[-1].events[0].prev_kv.value) == 700_000
        await client.watch(b"0", b"\0", prev_kv=True, start_revision=8)
        assert (await client.until(lambda read: read[-1].canceled))[-1].cancel_reason


async def test_from_the_past_with_previous_pairs(played: Any, client: Client) -> None:
    for value in (b"1", b"2"):
        await played.put(b"a", value)
    await played.delete(b"a")
    await client.watch(b"a", start_revision=2, prev_kv=True)
    await played.put(b"a", b"3")
    read = await client.until(lambda read: sum(len(each.events) for each in read) == 4)
    assert [each for response in read for each in told(response)] == [
        (PUT, b"a", 2, b""),
        (PUT, b"a", 3, b"1"),
        (DELETE, b"a", 4, b"2"),
        (PUT, b"a", 5, b""),
    ]


async def test_from_the_future(played: Any, client: Client) -> None:
    await client.watch(b"a", start_revision=4)
    for _ in range(3):
        await played.put(b"a")
    read = await client.until(lambda read: bool(read[-1].events))
    assert [each for response in read for each in told(response)] == [(PUT, b"a", 4, b"")]


async def test_a_transaction_is_one_response(played: Any, client: Client) -> None:
    await client.watch(b"\0", b"\0")
    large = b"x" * 5_000
    puts = [rpc.RequestOp(request_put=rpc.PutRequest(key=b"%d" % n, value=large)) for n in range(9)]
    await played.kv.Txn(rpc.TxnRequest(success=puts), None)
    await client.read()
    response = await client.read()
    assert [each.kv.key for each in response.events] == [b"%d" % n for n in range(9)]
    assert all(each.kv.value == large for each in response.events)


async def test_a_large_value_that_no_watch_sees_disturbs_none(
    played: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = await client.watch(b"a")
    lost: list[None] = []
    monkeypatch.setattr(client.watches.follower, "_lost", lambda: lost.append(None))
    await played.put(b"b", b"x" * 5_000)
    await played.put(b"a", b"1")
    await client.read()
    assert told(await client.read()) == [(PUT, b"a", 3, b"")]
    assert (watcher.following, lost) == (True, [])


async def test_fragments(played: Any) -> None:
    async with running(type(played)(played.node, request_bytes=1_024)) as watches:
        client = Client(watches)
        await client.watch(b"\0", b"\0", fragment=True)
        puts = [
            rpc.RequestOp(request_put=rpc.PutRequest(key=b"%d" % n, value=b"x" * 210_000))
            for n in range(5)
        ]
        await played.kv.Txn(rpc.TxnRequest(success=puts), None)
        await client.read()
        read = await client.until(lambda read: not read[-1].fragment)
        assert [len(each.events) for each in read] == [2, 2, 1]


async def test_a_node_that_is_behind_sends_its_clients_away(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate_etcd.serving.watching._BEHIND_S", 0.05)
    watches = Watches(played.store)
    # It does not run, and follows nothing.
    with pytest.raises(Rejected) as raised:
        await Client(watches).watch(b"a")
    assert (raised.value.code, raised.value.message) == errors.TIMED_OUT_APPLIED
    assert len(watches) == 0


async def test_a_watch_waits_for_a_leader(
    played: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand, refusals = played.store.stand, [Rejected(*errors.TIMED_OUT)] * 3

    async def refusing() -> Any:
        if refusals:
            raise refusals.pop()
        return await stand()

    monkeypatch.setattr(played.store, "stand", refusing)
    await client.watch(b"a")
    assert (await client.read()).created
    assert not refusals


async def test_filters_and_cancel(played: Any, client: Client) -> None:
    puts = await client.watch(b"a", filters=[rpc.WatchCreateRequest.NODELETE])
    await client.watch(b"a", filters=[rpc.WatchCreateRequest.NOPUT], watch_id=7)
    await played.put(b"a")
    await played.delete(b"a")
    read = await client.until(lambda read: len(read) == 4)
    assert [(each.watch_id, told(each)) for each in read[2:]] == [
        (0, [(PUT, b"a", 2, b"")]),
        (7, [(DELETE, b"a", 3, b"")]),
    ]
    client.watches.remove(puts)
    assert len(client.watches) == 1


async def test_watches_are_counted(
    played: Any, node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate_etcd.serving.watching._OBSERVE_S", 0.01)
    async with running(played) as watches:
        await Client(watches).watch(b"a")
        async with asyncio.timeout(PATIENCE_S):
            while node.metrics.get('quorate_etcd_watches{store=""}') != 1:
                await asyncio.sleep(0.01)


async def test_a_compacted_start(played: Any, client: Client) -> None:
    for _ in range(4):
        await played.put(b"a")
    await played.compact(4)
    await client.watch(b"a", start_revision=3)
    created, canceled = await client.read(), await client.read()
    assert created.created
    assert (canceled.canceled, canceled.compact_revision) == (True, 4)
    assert canceled.header.revision == 0
    await client.watch(b"a", start_revision=4, prev_kv=True)
    read = await client.until(lambda read: sum(len(each.events) for each in read) == 2)
    # What the compacted revision has ended cannot be read any more.
    assert [each for response in read for each in told(response)] == [
        (PUT, b"a", 4, b""),
        (PUT, b"a", 5, b""),
    ]
    assert not read[-1].events[0].HasField("prev_kv")
    assert read[-1].events[-1].HasField("prev_kv")


async def test_progress(played: Any, client: Client) -> None:
    await client.watch(b"a")
    await played.put(b"b")
    await played.put(b"a")
    await client.until(lambda read: bool(read[-1].events))
    client.watches.progress(client.stream)
    response = await client.read()
    assert (response.watch_id, response.header.revision) == (-1, 3)
    await client.watch(b"a", start_revision=100)
    client.watches.progress(client.stream)
    await played.put(b"a")
    # One of its watches begins in the future: there is nothing to tell.
    assert (await client.read()).created
    assert told(await client.read()) == [(PUT, b"a", 4, b"")]


async def test_progress_by_time(played: Any) -> None:
    played = type(played)(played.node, progress_interval_s=0.05)
    async with running(played) as watches:
        client = Client(watches)
        await client.watch(b"a", progress_notify=True, watch_id=3)
        await client.read()
        response = await client.read()
        assert (response.watch_id, response.header.revision, len(response.events)) == (3, 1, 0)


async def test_a_client_that_never_reads_holds_little(played: Any) -> None:
    played = type(played)(played.node, watch_buffer_bytes=1 << 16)
    async with running(played) as watches:
        slow, other = Client(watches), Client(watches)
        await slow.watch(b"a", start_revision=1, prev_kv=True)
        await other.watch(b"a")
        for number in range(300):
            await played.put(b"a", b"%1000d" % number)
        await other.until(lambda read: sum(len(each.events) for each in read) == 300)
        assert slow.stream._bytes < (1 << 16) + (2 << 20)
        waiting = sum(len(each.events) for each, _ in slow.stream._waiting)
        assert waiting < 300
        read = await slow.until(lambda read: sum(len(each.events) for each in read) == 300)
        revisions = [each.kv.mod_revision for response in read for each in response.events]
        assert revisions == list(range(2, 302))


async def test_a_client_that_never_reads_is_told_of_no_progress(played: Any) -> None:
    played = type(played)(played.node, watch_buffer_bytes=1 << 16, progress_interval_s=0.01)
    async with running(played) as watches:
        slow, other = Client(watches), Client(watches)
        for number in range(100):
            await slow.watch(b"b", progress_notify=True, watch_id=number + 1)
        await slow.watch(b"a", watch_id=101)
        await other.watch(b"c", progress_notify=True)
        for number in range(100):
            await played.put(b"a", b"%1000d" % number)
        await watches.follower.reached(101)
        while not slow.stream.full:
            await asyncio.sleep(0)
        waiting = len(slow.stream._waiting)
        while other.stream._waiting:
            await other.read()
        for _ in range(3):
            await other.read()
        assert len(slow.stream._waiting) == waiting


async def test_a_slow_client_learns_of_a_compaction(played: Any) -> None:
    played = type(played)(played.node, watch_buffer_bytes=1 << 16)
    async with running(played) as watches:
        slow = Client(watches)
        await slow.watch(b"a")
        for number in range(200):
            await played.put(b"a", b"%1000d" % number)
        await watches.follower.reached(201)
        await played.compact(200)
        read = await slow.until(lambda read: read[-1].canceled)
        revisions = [each.kv.mod_revision for response in read for each in response.events]
        assert revisions == list(range(2, 2 + len(revisions)))
        assert read[-1].compact_revision == 200


async def test_what_a_node_has_missed_is_read_from_the_history(
    played: Any, client: Client, node: MemoryNode
) -> None:
    await client.watch(b"\0", b"\0", prev_kv=True)
    await client.read()
    expected: list[int] = []
    read: list[mvcc.Event] = []
    for number in range(60):
        if number % 20 == 10:
            await client.watches.follower.reached(number)
            node.forget_history("etcd")
        expected.append(await played.put(b"%d" % (number % 3), b"%d" % number))
    while len(read) < len(expected):
        read += (await client.read()).events
    assert [each.kv.mod_revision for each in read] == expected
    assert [each.prev_kv.value for each in read[3:]] == [b"%d" % n for n in range(57)]


async def test_a_watch_that_reads_the_history_meanwhile_misses_nothing(
    played: Any, client: Client, node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, follower, losses = played.store.read, client.watches.follower, [None]

    async def losing(query: Any, *args: Any, **more: Any) -> Any:
        found = await read(query, *args, **more)
        if isinstance(query, asked.History) and losses:
            losses.pop()
            node.forget_history("etcd")
            await played.put(b"a", b"2")
            async with asyncio.timeout(PATIENCE_S):
                while follower.live:
                    await asyncio.sleep(0)
        return found

    monkeypatch.setattr(played.store, "read", losing)
    await played.put(b"a", b"1")
    await client.watch(b"a", start_revision=2)
    await client.until(lambda read: bool(read[-1].events))
    assert not losses
    await follower.reached(3)
    await played.put(b"a", b"3")
    found: list[int] = []
    while found[-1:] != [4]:
        found += [each.kv.mod_revision for each in (await client.read()).events]
    assert found == [3, 4]


@pytest.mark.parametrize("seed", range(4))
async def test_many_watches_against_a_model(
    played: Any, watches: Watches, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate_etcd.store.history._PAGE_ROWS", 5)
    random, client = Random(seed), Client(watches)
    keys = [b"a", b"a/1", b"a/2", b"b", b"b\xff", b"c"]
    changes: list[tuple[int, bytes]] = []
    wanted: dict[int, tuple[int, bytes, bytes]] = {}
    for number in range(150):
        if number % 3 == 0:
            key, end = random.choice(keys), random.choice((b"", b"a0", b"c", b"\0", b"b"))
            if end and end != b"\0" and end <= key:
                end = b""
            revision = changes[-1][0] if changes else 1
            start = random.choice((0, random.randint(1, revision), revision + 2))
            await client.watch(key, end, start_revision=start, watch_id=number + 1)
            wanted[number + 1] = (start or revision + 1, key, end)
        key = random.choice(keys)
        changes.append((await played.put(key), key))
    models = {
        number: [
            revision
            for revision, changed in changes
            if revision >= start
            and (changed == key if not end else changed >= key and (end == b"\0" or changed < end))
        ]
        for number, (start, key, end) in wanted.items()
    }
    found: dict[int, list[int]] = {number: [] for number in wanted}
    total = sum(map(len, models.values()))
    while sum(map(len, found.values())) < total:
        response = await client.read()
        found[response.watch_id] += [each.kv.mod_revision for each in response.events]
    assert found == models

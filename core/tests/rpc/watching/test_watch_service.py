"""What a client's watch promises, through a real connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.plugin.advanced import Stub
from quorate.plugin.shard_id import ShardId
from quorate.rpc import watch_service
from quorate.shards.refusals import ReadTimeoutError
from quorate.shards.watching.feeds import LocalFeed
from quorate.shards.watching.tokens import WatchToken
from quorate.v1 import watch_pb2
from quorate.v1.watch_pb2 import WatchedFamily, WatchEvent, WatchRequest, WatchResponse

if TYPE_CHECKING:
    from core.tests.rpc.conftest import Told
    from core.tests.rpc.watching.conftest import Node
    from core.tests.written_replica import Replica

    NewReplica = Callable[[ShardId], Replica]

    Nodes = dict[str, Node]
    Shards = tuple[ShardId, ShardId]

ROWS, KEPT = "toy.rows", "toy.kept"
EMITTED = StringValue.DESCRIPTOR.full_name
CLUSTER = b"the cluster"
#: What is read behind the last response.
EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]  # the stubs lack it
PAGE_ROWS = 3
#: As the conftest has it.
AT_MS = 1_700_000_000_000


class Client:
    """Watches on one node."""

    def __init__(self, node: Node, *, window: int | None = None) -> None:
        # Without it a slow reader would be given whatever the connection can hold.
        options: list[tuple[str, int]] = (
            [] if window is None else [("grpc.http2.lookahead_bytes", window)]
        )
        options += [("grpc.http2.bdp_probe", 0), ("grpc.use_local_subchannel_pool", 1)]
        self.channel = grpc.aio.insecure_channel(node.address, options=options)
        self._stub = Stub(self.channel, watch_pb2.DESCRIPTOR.services_by_name["WatchService"])

    def watch(
        self,
        *families: str | WatchedFamily,
        token: bytes = b"",
        changes_only: bool = False,
        shards: Sequence[int] = (),
        until: bytes = b"",
    ) -> Any:
        named = [WatchedFamily(name=each) if isinstance(each, str) else each for each in families]
        request = WatchRequest(
            families=named or [WatchedFamily(name=ROWS)],
            token=token,
            changes_only=changes_only,
            shards=shards,
            until=until,
        )
        return self._stub.Watch(request, timeout=20)


async def events(call: Any, count: int) -> list[WatchEvent]:
    """Return so many events, and those that came in the same response as the last."""
    found: list[WatchEvent] = []
    while len(found) < count:
        response = await call.read()
        assert response is not EOF, "the watch ended"
        assert not response.HasField("resync"), response
        found += response.events
    return found


async def listed(call: Any) -> tuple[list[WatchEvent], bytes]:
    """Return the rows, and the token behind them."""
    rows: list[WatchEvent] = []
    while True:
        response = await call.read()
        rows += response.events
        assert not response.HasField("resync"), response
        assert bool(response.token) == response.listed
        if response.listed:
            return rows, response.token


async def drained(call: Any) -> None:
    """Take everything up to the end."""
    while await call.read() is not EOF:
        pass


async def resync_of(call: Any) -> str:
    """Return why a watch ends in a resync, as its last response."""
    async with asyncio.timeout(10):
        while not (response := await call.read()).HasField("resync"):
            pass
    assert await call.read() is EOF
    assert await call.code() is grpc.StatusCode.OK
    assert not response.token
    return str(response.resync.reason)


def keys(found: Sequence[WatchEvent]) -> list[bytes]:
    return [event.key for event in found]


@pytest.fixture
def replica(nodes: Nodes, replicas: tuple[Replica, Replica], shards: Shards) -> Replica:
    """The first shard's replica on node a, which has one of the second shard as well."""
    nodes["a"].replicas.update(zip(shards, replicas, strict=True))
    return replicas[0]


@pytest.fixture
async def client(nodes: Nodes, replica: Replica) -> AsyncIterator[Client]:
    made = Client(nodes["a"])
    yield made
    await made.channel.close(None)
    async with asyncio.timeout(10):
        while replica.watchers:
            await asyncio.sleep(0.001)


@pytest.fixture
async def far(nodes: Nodes, replica: Replica) -> AsyncIterator[Client]:
    """Watches on a node that has no replica."""
    made = Client(nodes["b"])
    yield made
    await made.channel.close(None)
    async with asyncio.timeout(10):
        while replica.watchers:
            await asyncio.sleep(0.001)


@pytest.fixture(params=["client", "far"])
def anywhere(request: pytest.FixtureRequest) -> Client:
    """On a node with replicas, and on one without."""
    found: Client = request.getfixturevalue(request.param)
    return found


# Rows, then changes.


async def test_rows_come_first_and_then_every_change(
    anywhere: Client, replicas: tuple[Replica, Replica]
) -> None:
    first, second = replicas
    for number in range(2 * PAGE_ROWS):
        first.put(b"%d" % number, b"of %d" % number)
    second.put(b"other")
    call = anywhere.watch()

    rows, _ = await listed(call)
    assert keys(rows) == [b"0", b"1", b"2", b"3", b"4", b"5", b"other"]
    assert {event.kind for event in rows} == {WatchEvent.ROW}
    assert [event.revision >> 20 for event in rows] == [1, 2, 3, 4, 5, 6, 1]
    assert [event.shard for event in rows] == [0] * 6 + [1]
    assert {event.name for event in rows} == {ROWS}

    second.apply([(ROWS, b"other", None)])
    [deleted] = await events(call, 1)
    assert (deleted.kind, deleted.key, deleted.shard) == (WatchEvent.DELETED, b"other", 1)


async def test_changes_of_a_shard_come_in_order_and_once(
    anywhere: Client, replica: Replica
) -> None:
    call = anywhere.watch()
    await listed(call)
    for number in range(50):
        replica.apply([(ROWS, b"%02d" % number, b"")], [(ROWS, b"%02d+" % number, b"")])

    found = await events(call, 100)

    assert [event.key[:2] for event in found[::2]] == [b"%02d" % number for number in range(50)]
    revisions = [event.revision for event in found]
    assert revisions == sorted(set(revisions))


async def test_what_is_written_while_rows_are_listed_is_in_neither_gap(
    anywhere: Client, replica: Replica
) -> None:
    for number in range(20):
        replica.put(b"%02d" % number, b"old")
    call = anywhere.watch()
    held: dict[bytes, bytes] = {}

    def take(response: WatchResponse) -> None:
        for event in response.events:
            if event.kind == WatchEvent.DELETED:
                del held[event.key]
            else:
                assert (event.kind == WatchEvent.ROW) <= (event.key not in held)
                held[event.key] = event.value

    take(await call.read())
    assert held
    replica.apply([(ROWS, b"00", None), (ROWS, b"19", b"new")], [(ROWS, b"20", b"new")])
    while held.get(b"20") != b"new":
        take(await call.read())

    assert sorted(held) == [b"%02d" % number for number in range(1, 21)]
    assert held[b"19"] == b"new"


async def test_the_list_holds_every_write_that_was_answered_before(
    nodes: Nodes,
    far: Client,
    replicas: tuple[Replica, Replica],
    new_replica: NewReplica,
) -> None:
    """The replica that is read lags behind the one that the writes were answered by."""
    replica = replicas[0]
    lagging = new_replica(replica.id)
    nodes["c"].replicas[replica.id] = lagging
    replica.put(b"1")
    lagging.put(b"1")
    replica.put(b"2")
    marked = asyncio.Event()
    barrier = replica.read_barrier

    async def read_barrier(timeout_s: float | None = None) -> int:
        # From now on the lagging one alone is asked.
        nodes["b"].others = ["c", "a"]
        marked.set()
        return await barrier(timeout_s)

    replica.read_barrier = read_barrier  # type: ignore[method-assign]
    call = far.watch()
    await marked.wait()
    async with asyncio.timeout(10):
        while not lagging.watchers:
            await asyncio.sleep(0.001)
    lagging.put(b"2")
    rows, _ = await listed(call)

    assert keys(rows) == [b"1", b"2"]
    assert [each.barriers for each in replicas] == [1, 1]


async def test_a_barrier_that_fails_ends_the_call(
    client: Client, replica: Replica, told: Callable[[Any], Told]
) -> None:
    replica.barrier_error = ReadTimeoutError("no majority answered")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await client.watch().read()

    found = told(failed.value)
    assert (found.code, found.metadata["retry"]) == (grpc.StatusCode.DEADLINE_EXCEEDED, "safe")


async def test_changes_alone_begin_with_where_they_begin(
    anywhere: Client, replica: Replica
) -> None:
    replica.put(b"before")
    replica.restore()
    call = anywhere.watch(changes_only=True)

    began = await call.read()
    assert (began.listed, list(began.events)) == (True, [])
    replica.put(b"1")

    assert keys(await events(call, 1)) == [b"1"]
    again = anywhere.watch(token=began.token)
    assert keys(await events(again, 1)) == [b"1"]


async def test_only_what_is_asked_for_is_sent(anywhere: Client, replica: Replica) -> None:
    replica.apply([(ROWS, b"x/1", b""), (ROWS, b"y/1", b""), (KEPT, b"k", b"")])
    call = anywhere.watch(WatchedFamily(name=ROWS, prefix=b"x/"), EMITTED)
    rows, _ = await listed(call)
    replica.apply([(ROWS, b"y/2", b""), (KEPT, b"x/", b""), (ROWS, b"x/2", b"")])
    replica.emit(StringValue(value="told"))

    assert keys(rows) == [b"x/1"]
    change, emitted = await events(call, 2)
    assert change.key == b"x/2"
    assert (emitted.kind, emitted.name) == (WatchEvent.EMITTED, EMITTED)
    assert StringValue.FromString(emitted.value) == StringValue(value="told")


async def test_families_that_keep_previous_values_tell_created_from_updated(
    anywhere: Client, replica: Replica
) -> None:
    call = anywhere.watch(KEPT, ROWS)
    await listed(call)
    replica.put(b"k", b"", KEPT)
    replica.put(b"k", b"2", KEPT)
    replica.apply([(KEPT, b"k", None)])
    replica.put(b"r")
    replica.put(b"r", b"again")

    found = await events(call, 5)

    assert [(event.kind, event.value, event.previous) for event in found] == [
        (WatchEvent.CREATED, b"", b""),
        (WatchEvent.UPDATED, b"2", b""),
        (WatchEvent.DELETED, b"", b"2"),
        (WatchEvent.PUT, b"", b""),
        (WatchEvent.PUT, b"again", b""),
    ]


# Responses.


async def test_the_events_of_one_command_come_in_one_response(
    anywhere: Client, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_service, "RESPONSE_BYTES", 10)
    call = anywhere.watch()
    await listed(call)
    size = 3 * PAGE_ROWS
    replica.apply(
        *([(ROWS, b"%d/%d" % (number, each), b"123") for each in range(size)] for number in (1, 2))
    )

    first = await call.read()
    second = await call.read()

    assert keys(first.events) == [b"1/%d" % each for each in range(size)]
    assert keys(second.events) == [b"2/%d" % each for each in range(size)]
    again = await events(anywhere.watch(token=first.token), size)
    assert keys(again) == keys(second.events)


async def test_small_commands_share_a_response(client: Client, replica: Replica) -> None:
    call = client.watch()
    await listed(call)
    replica.apply(*([(ROWS, b"%d" % number, b"")] for number in range(20)))

    assert len((await call.read()).events) == 20


# Tokens.


async def test_every_token_resumes_right_behind_its_response(
    nodes: Nodes, anywhere: Client, replicas: tuple[Replica, Replica]
) -> None:
    call = anywhere.watch()
    _, token = await listed(call)
    behind: list[tuple[bytes, list[tuple[int, bytes]]]] = [(token, [])]
    for number in range(6):
        replicas[number % 2].apply([(ROWS, b"%d" % number, b""), (ROWS, b"%d+" % number, b"")])
    seen: list[tuple[int, bytes]] = []
    while len(seen) < 12:
        response = await call.read()
        seen += [(event.shard, event.key) for event in response.events]
        behind.append((response.token, list(seen)))

    elsewhere = Client(nodes["c"])
    for token, before in behind[:-1]:
        rest = await events(elsewhere.watch(token=token), 12 - len(before))
        told = [(event.shard, event.key) for event in rest]
        for shard in (0, 1):
            assert [key for each, key in before + told if each == shard] == [
                key for each, key in seen if each == shard
            ]
    await elsewhere.channel.close(None)


async def test_bookmarks_move_the_token_along(anywhere: Client, replica: Replica) -> None:
    call = anywhere.watch()
    _, token = await listed(call)
    replica.put(b"k", b"", KEPT)
    replica.trim(1)

    bookmark = await call.read()

    assert (bookmark.listed, list(bookmark.events)) == (True, [])
    assert "no longer complete" in await resync_of(anywhere.watch(token=token))
    replica.put(b"1")
    assert keys(await events(anywhere.watch(token=bookmark.token), 1)) == [b"1"]


async def test_a_token_ahead_of_the_replica_waits(
    anywhere: Client, replica: Replica, shards: Shards
) -> None:
    replica.put(b"a")
    token = WatchToken(CLUSTER, 0, {shards[0]: (3 << 20) - 1, shards[1]: 0}).encode()
    call = anywhere.watch(token=token)
    assert (await call.read()).token == token

    replica.put(b"b")
    replica.put(b"c")

    assert keys(await events(call, 1)) == [b"c"]


async def test_a_watch_between_two_tokens_is_the_same_whenever_it_is_read(
    anywhere: Client, replicas: tuple[Replica, Replica], shards: Shards
) -> None:
    first, second = replicas
    start = WatchToken(CLUSTER, 0, dict.fromkeys(shards, 0))
    for number in range(2 * PAGE_ROWS):
        first.put(b"%d" % number)
    second.put(b"other")
    first.put(b"not watched", b"", KEPT)
    end = WatchToken(CLUSTER, 0, {shards[0]: (6 << 20) - 1, shards[1]: (2 << 20) - 1})

    async def between(*numbers: int) -> tuple[list[bytes], bytes]:
        call = anywhere.watch(token=start.encode(), until=end.encode(), shards=numbers)
        found, token = [], b""
        while (response := await call.read()) is not EOF:
            found += keys(response.events)
            token = response.token
        assert await call.code() is grpc.StatusCode.OK
        return found, token

    both, token = await between()
    assert (sorted(both), token) == ([b"0", b"1", b"2", b"3", b"4", b"other"], end.encode())
    assert await between(0) == ([b"0", b"1", b"2", b"3", b"4"], end.of(shards[:1]).encode())
    assert (await between(1))[0] == [b"other"]
    # What comes later changes nothing of it.
    first.put(b"0", b"later")
    assert sorted((await between())[0]) == sorted(both)


async def test_the_end_of_a_watch_is_waited_for(
    anywhere: Client, replica: Replica, shards: Shards
) -> None:
    start = WatchToken(CLUSTER, 0, dict.fromkeys(shards, 0)).encode()
    end = WatchToken(CLUSTER, 0, {shards[0]: (3 << 20) - 1, shards[1]: 0}).encode()
    call = anywhere.watch(token=start, until=end)
    replica.put(b"a")
    assert keys(await events(call, 1)) == [b"a"]

    # Not for this watch, and yet its end.
    replica.put(b"b", b"", KEPT)
    replica.put(b"c", b"", KEPT)
    async with asyncio.timeout(2):
        await drained(call)


async def test_a_change_tells_when_its_command_was_made(anywhere: Client, replica: Replica) -> None:
    replica.put(b"row")
    call = anywhere.watch()
    [row], _ = await listed(call)
    assert row.at_ms == 0
    replica.put(b"row")

    [change] = await events(call, 1)
    assert change.at_ms == AT_MS


# What is lost is said.


async def test_history_that_is_gone(anywhere: Client, replica: Replica, shards: Shards) -> None:
    for number in range(5):
        replica.put(b"%d" % number)
    replica.trim(3)
    token = WatchToken(CLUSTER, 0, {shards[0]: 1 << 20, shards[1]: 0}).encode()

    assert "no longer complete" in await resync_of(anywhere.watch(token=token))


async def test_a_token_of_another_cluster_or_generation(
    anywhere: Client, replica: Replica, shards: Shards
) -> None:
    strange = WatchToken(b"another", 0, dict.fromkeys(shards, 0)).encode()
    assert "another cluster" in await resync_of(anywhere.watch(token=strange))
    early = WatchToken(CLUSTER, 0, dict.fromkeys(shards, 0)).encode()
    replica.restore()
    assert "restored or recovered" in await resync_of(anywhere.watch(token=early))


async def test_a_token_of_fewer_shards_of_the_group(client: Client, shards: Shards) -> None:
    token = WatchToken(CLUSTER, 0, {shards[0]: 0}).encode()

    assert "other shards" in await resync_of(client.watch(token=token))


async def test_a_slow_reader_is_told_and_the_node_holds_a_page(
    nodes: Nodes, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = 0
    take = LocalFeed.take

    def counted(feed: LocalFeed) -> Any:
        nonlocal taken
        page = take(feed)
        taken += bool(getattr(page, "events", ()))
        return page

    monkeypatch.setattr(LocalFeed, "take", counted)
    slow = Client(nodes["a"], window=4_096)
    call = slow.watch()
    await listed(call)
    # Nobody reads; a page of these has more bytes than the connection takes.
    rounds = 200
    before = taken
    for number in range(rounds):
        replica.apply([(ROWS, b"%04d/%d" % (number, each), bytes(100_000)) for each in range(3)])
        await asyncio.sleep(0)
    quick = Client(nodes["a"])
    alone = taken
    assert alone - before < rounds // 4
    # Others are served meanwhile.
    rows, _ = await listed(quick.watch())
    assert len(rows) == 3 * rounds
    replica.trim(rounds)

    assert "no longer complete" in await resync_of(call)
    for each in (slow, quick):
        await each.channel.close(None)


# The end of the node.


async def test_watches_end_with_the_node_and_go_on_elsewhere(
    nodes: Nodes, client: Client, far: Client, replica: Replica, told: Callable[[Any], Told]
) -> None:
    call = client.watch()
    _, token = await listed(call)

    await nodes["a"].watch_service.stop("this node is stopping")

    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call.read()
    found = told(failed.value)
    assert (found.code, found.text) == (grpc.StatusCode.UNAVAILABLE, "this node is stopping")
    assert found.metadata["retry"] == "safe"
    with pytest.raises(grpc.aio.AioRpcError, match="this node is stopping"):
        await client.watch().read()
    replica.put(b"1")
    assert keys(await events(far.watch(token=token), 1)) == [b"1"]


async def test_a_client_that_reads_nothing_does_not_hold_up_the_end(
    nodes: Nodes,
    replica: Replica,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(watch_service, "STOP_S", 0.05)
    slow = Client(nodes["a"], window=4_096)
    call = slow.watch()
    await listed(call)
    for number in range(100):
        replica.apply([(ROWS, b"%04d/%d" % (number, each), bytes(100_000)) for each in range(3)])
    # By the time that all of it was given to another, no more can be given to this one.
    quick = Client(nodes["a"])
    assert len((await listed(quick.watch()))[0]) == 300

    await nodes["a"].watch_service.stop("this node is stopping")

    async with asyncio.timeout(10):
        while nodes["a"].watch_service._open:
            await asyncio.sleep(0.001)
    with pytest.raises(grpc.aio.AioRpcError, match="this node is stopping"):
        await drained(call)
    for each in (slow, quick):
        await each.channel.close(None)
    assert not [
        each
        for each in caplog.records
        if each.levelname == "ERROR" and each.name.startswith("quorate")
    ]


async def test_a_client_that_leaves_leaves_nothing_behind(
    anywhere: Client, replica: Replica
) -> None:
    call = anywhere.watch()
    await listed(call)
    assert replica.watchers == 1

    call.cancel()

    async with asyncio.timeout(10):
        while replica.watchers:
            await asyncio.sleep(0.001)


# What is refused.


REFUSED: dict[str, tuple[WatchRequest, str, str]] = {
    "no family": (WatchRequest(), "families", "must not be empty"),
    "unknown": (
        WatchRequest(families=[WatchedFamily(name="toy.strangers")]),
        "families[0].name",
        "'toy.strangers' is neither a column family",
    ),
    "nameless": (WatchRequest(families=[WatchedFamily()]), "families[0].name", "'' is neither"),
    "of core": (
        WatchRequest(families=[WatchedFamily(name="core.events")]),
        "families[0].name",
        "neither",
    ),
    "private": (
        WatchRequest(families=[WatchedFamily(name="toy.index")]),
        "families[0].name",
        "is private",
    ),
    "of several groups": (
        WatchRequest(families=[WatchedFamily(name=ROWS), WatchedFamily(name="toy.others")]),
        "families[1].name",
        "toy.others belongs to group other",
    ),
    "twice": (
        WatchRequest(families=[WatchedFamily(name=ROWS), WatchedFamily(name=ROWS, prefix=b"x")]),
        "families[1].name",
        "is named twice",
    ),
    "a message of no plugin": (
        WatchRequest(families=[WatchedFamily(name="google.rpc.Status")]),
        "families[0].name",
        "neither",
    ),
    "a message with a prefix": (
        WatchRequest(families=[WatchedFamily(name=EMITTED, prefix=b"x")]),
        "families[0].prefix",
        "has no keys",
    ),
    "no token": (
        WatchRequest(families=[WatchedFamily(name=ROWS)], token=b"\xff\xff"),
        "token",
        "cannot be read",
    ),
    "a token of another group": (
        WatchRequest(
            families=[WatchedFamily(name=ROWS)],
            token=WatchToken(CLUSTER, 0, {ShardId("other", 0): 5}).encode(),
        ),
        "token",
        "of a watch of group other",
    ),
    "a shard that is not there": (
        WatchRequest(families=[WatchedFamily(name=ROWS)], shards=[0, 7]),
        "shards",
        "has no shard 7",
    ),
    "an end without a beginning": (
        WatchRequest(families=[WatchedFamily(name=ROWS)], until=b"x"),
        "until",
        "give token",
    ),
    "an end of fewer shards": (
        WatchRequest(
            families=[WatchedFamily(name=ROWS)],
            token=WatchToken(CLUSTER, 0, {ShardId("toy", 0): 0, ShardId("toy", 1): 0}).encode(),
            until=WatchToken(CLUSTER, 0, {ShardId("toy", 0): 0}).encode(),
        ),
        "until",
        "has no position in toy/1",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_cannot_be_watched(
    client: Client, told: Callable[[Any], Told], what: str
) -> None:
    request, field, reason = REFUSED[what]
    stub: Any = Stub(client.channel, watch_pb2.DESCRIPTOR.services_by_name["WatchService"])
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await stub.Watch(request, timeout=10).read()

    found = told(failed.value)
    assert (found.code, found.field) == (grpc.StatusCode.INVALID_ARGUMENT, field)
    assert reason in found.text


async def test_a_message_alone_is_watched_in_the_group_of_its_package(
    client: Client, replica: Replica
) -> None:
    call = client.watch(EMITTED)
    await listed(call)
    replica.emit(StringValue(value="1"))

    [event] = await events(call, 1)
    assert event.kind == watch_pb2.WatchEvent.EMITTED

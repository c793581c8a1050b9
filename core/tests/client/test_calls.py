from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest
from quorate.client import (
    AsyncClient,
    DeadlineError,
    InvalidError,
    OutcomeUnknownError,
    RejectedError,
    UnavailableError,
    connect,
    failures,
    topology,
)
from quorate.client.calls import Attempts
from quorate.client.topology import DEFAULT, endpoints_of
from quorate.plugin import Rejected
from quorate.rpc.status import status_of
from quorate.shards import refusals
from quorate.v1.admin_pb2 import TopologyRequest, TopologyResponse
from quorate.v1.kv_pb2 import GetPairRequest, GetPairResponse, KeyedPair

if TYPE_CHECKING:
    from core.tests.client.conftest import FakeCluster

GET = "/quorate.v1.KvService/Get"


async def test_a_read_goes_to_the_leader_and_tells_what_was_there(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    async def get(request: GetPairRequest) -> GetPairResponse:
        pair = KeyedPair(key=request.key, value=b"v", revision=3, created_revision=2, ttl_ms=9)
        return GetPairResponse(pair=pair, age_ms=40)

    cluster.nodes["n2"].get = get
    pair = await q.kv.get(cluster.second, stale=True, min_revision=5)

    assert pair is not None
    assert (pair.key, pair.value, pair.revision, pair.age_ms) == (cluster.second, b"v", 3, 40)
    [asked] = cluster.nodes["n2"].asked
    assert asked == GetPairRequest(key=cluster.second, stale=True, min_revision=5)
    assert await q.kv.get(cluster.first) is None


async def test_another_message_than_the_method_s_is_refused_before_it_is_sent(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    request, wrong = GetPairRequest(key=cluster.first), TopologyRequest()
    takes = r"request: /quorate\.v1\.KvService/Get takes quorate\.v1\.GetPairRequest, not quorate\."
    answers = (
        r"response: /quorate\.v1\.KvService/Get answers with quorate\.v1\.GetPairResponse, not "
    )
    for calls in (q, q.at("n1")):
        with pytest.raises(InvalidError, match=takes):
            await calls.call(GET, wrong, GetPairResponse)
        with pytest.raises(InvalidError, match=answers):
            await calls.call(GET, request, TopologyResponse)
        with pytest.raises(InvalidError, match=takes):
            await anext(calls.stream(GET, wrong, GetPairResponse))
    assert not any(node.asked for node in cluster.nodes.values())


@pytest.mark.parametrize("read", [True, False])
async def test_only_a_read_is_tried_again_when_it_was_lost(
    cluster: FakeCluster, q: AsyncClient, read: bool
) -> None:
    node = cluster.nodes["n1"]

    async def lose(context: object) -> None:
        await asyncio.Event().wait()

    node.before = lose
    asked = asyncio.create_task(
        q.call(
            GET,
            GetPairRequest(key=b"a"),
            GetPairResponse,
            group="metadata",
            shard_key=cluster.first,
            read=read,
        )
    )
    async with asyncio.timeout(10):
        while not node.asked:
            await asyncio.sleep(0)
    await node.stop()

    if read:
        await asked
        assert len(cluster.nodes["n2"].asked) + len(cluster.nodes["n3"].asked) == 1
    else:
        with pytest.raises(OutcomeUnknownError):
            await asked
        assert cluster.nodes["n2"].asked == cluster.nodes["n3"].asked == []


async def test_a_call_that_did_nothing_is_tried_again_and_a_refusal_is_not(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    errors: list[Exception] = [
        refusals.UnreadableError("it is not here"),
        Rejected("NOT_FOUND", "nothing of that name"),
    ]

    async def before(context: object) -> None:
        await cluster.fail(context, errors[len(node.asked) - 1])

    node.before = before
    with pytest.raises(RejectedError) as raised:
        await q.kv.get(cluster.first)
    assert (raised.value.code, raised.value.message) == ("NOT_FOUND", "nothing of that name")
    assert len(node.asked) == 2


async def test_a_call_ends_at_its_deadline(cluster: FakeCluster, q: AsyncClient) -> None:
    async def silence(context: object) -> None:
        await asyncio.Event().wait()

    for node in cluster.nodes.values():
        node.before = silence
    with pytest.raises(DeadlineError, match=r"the last reason was: .* did not answer in time$"):
        await q.kv.get(cluster.first, timeout_s=0.2)


async def test_a_read_leaves_time_for_another_node_when_the_first_one_hangs(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    hung: list[str] = []

    def hangs_once(name: str) -> Callable[[object], Awaitable[None]]:
        async def silence(context: object) -> None:
            if not hung or hung == [name]:
                hung[:] = [name]
                await asyncio.Event().wait()

        return silence

    await q.kv.get(cluster.first)
    for node in cluster.nodes.values():
        node.before = hangs_once(node.name)

    assert await q.kv.get(cluster.first, timeout_s=3.0) is None
    [name] = hung
    asked = [each.name for each in cluster.nodes.values() if each.asked]
    assert name in asked
    assert len(asked) > 1


async def test_what_a_node_said_is_told_rather_than_that_others_are_silent(q: AsyncClient) -> None:
    loop = asyncio.get_running_loop()
    attempts = Attempts(q._topology, loop.time() + 0.2, "read")
    await attempts.after(failures.of_status(status_of(refusals.UnreadableError("it elects"))))

    async def goes_on() -> None:
        while True:
            await attempts.after(failures.unreachable("127.0.0.1:1", "the connection was refused"))

    with pytest.raises(DeadlineError, match=r"the last reason was: it elects$"):
        await goes_on()


async def test_calls_to_one_node_go_there_and_to_no_other(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    await q.at("n3").call(GET, GetPairRequest(key=b"a"), GetPairResponse)

    assert [len(node.asked) for node in cluster.nodes.values()] == [0, 0, 1]
    with pytest.raises(InvalidError, match="not a node of the cluster; nodes: n1, n2, n3"):
        await q.at("n4").call(GET, GetPairRequest(key=b"a"), GetPairResponse)


async def test_news_of_the_cluster_replace_what_is_older(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    cluster.term = 5
    await q.kv.get(cluster.first)
    cluster.leaders[0], cluster.term = "n3", 6
    await q.topology()
    await q.kv.get(cluster.first)
    # A node that was left behind still names an earlier leader.
    cluster.leaders[0], cluster.term = "n1", 4
    await q.topology()
    await q.kv.get(cluster.first)

    assert [len(node.asked) for node in cluster.nodes.values()] == [1, 0, 2]


async def test_many_that_begin_together_ask_once_where_the_shards_are(
    cluster: FakeCluster, q: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "_FRESH_S", float("inf"))
    await asyncio.gather(*(q.kv.get(cluster.first) for _ in range(50)))
    # And once which cluster answers on the connection to the leader.
    assert cluster.topologies <= 2


async def test_a_method_that_no_node_has_is_refused(q: AsyncClient) -> None:
    with pytest.raises(RejectedError, match="UNIMPLEMENTED"):
        await q.call("/quorate.v1.KvService/No", TopologyRequest(), TopologyResponse)


async def test_a_cancelled_call_stays_cancelled(cluster: FakeCluster, q: AsyncClient) -> None:
    async def silence(context: object) -> None:
        await asyncio.Event().wait()

    cluster.nodes["n1"].before = silence
    asked = asyncio.create_task(q.kv.get(cluster.first))
    async with asyncio.timeout(10):
        while not cluster.nodes["n1"].asked:
            await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


def test_endpoints_come_from_the_call_the_environment_or_quorate_dev() -> None:
    environ = {"QUORATE_ENDPOINTS": "a:1, b:2,a:1"}
    assert endpoints_of("[::1]:9", environ) == ("[::1]:9",)
    assert endpoints_of(None, environ) == ("a:1", "b:2")
    assert endpoints_of(None, {}) == tuple(DEFAULT.split(","))


@pytest.mark.parametrize("text", ["localhost", ":7401", "a:b", "a:0", "a:65536", "a:1,,b:2"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidError, match="is not an address; write host:port"):
        connect(text)


def test_a_client_without_time_is_refused() -> None:
    with pytest.raises(InvalidError, match="must be more than 0"):
        connect(timeout_s=0)


async def followed(q: AsyncClient) -> list[int]:
    answers = q.stream("/shop.v1.Shop/Follow", GetPairRequest(key=b"a"), GetPairResponse)
    return [answer.age_ms async for answer in answers]


async def test_a_node_that_takes_no_calls_is_left_alone(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    refused = 0

    async def refuse(context: object) -> None:
        nonlocal refused
        refused += 1
        await cluster.fail(context, refusals.NotServingError("this node is stopping"))

    cluster.nodes["n1"].before = refuse
    for _ in range(9):
        await q.call(GET, GetPairRequest(key=b"a"), GetPairResponse, read=True)
    assert refused == 1


async def test_a_stream_asks_another_node_while_nothing_was_done(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    nodes = cluster.nodes

    async def wait_to_be_added(context: object) -> None:
        await cluster.fail(context, refusals.NotProposedError("it waits; ask another node"))

    await q.topology()
    await nodes["n1"].stop()
    nodes["n2"].before = wait_to_be_added
    # Whichever of the three is asked first.
    assert [await followed(q) for _ in nodes] == [[1, 2]] * 3
    assert len(nodes["n3"].asked) == 3

    await nodes["n3"].stop()
    with pytest.raises(UnavailableError):
        await followed(q)


async def test_a_stream_that_has_begun_or_was_refused_is_not_asked_for_again(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    async def fail(context: object) -> None:
        await cluster.fail(context, refusals.NotProposedError("not any more"))

    async def refuse(context: object) -> None:
        await cluster.fail(context, Rejected("NOT_FOUND", "nothing of that name"))

    for node in cluster.nodes.values():
        node.between = fail
    with pytest.raises(UnavailableError):
        await followed(q)
    for node in cluster.nodes.values():
        node.before = refuse
    with pytest.raises(RejectedError):
        await followed(q)

    assert sum(len(node.asked) for node in cluster.nodes.values()) == 2


async def test_a_node_that_knows_no_leader_is_believed_when_no_other_knows_one(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    nodes = list(cluster.nodes.values())
    left_behind = cluster.told()
    for place in left_behind.shards:
        place.leader = ""
    for node in nodes[:2]:
        node.told = left_behind
    # Whichever of the three is asked first.
    for _ in nodes:
        assert [place.leader for place in (await q.topology()).shards] == ["n1", "n2"]

    await nodes[2].stop()
    assert [place.leader for place in (await q.topology()).shards] == ["", ""]


async def test_the_shard_of_a_key_is_told(cluster: FakeCluster, q: AsyncClient) -> None:
    assert await q.shard_of("metadata", cluster.first) == "metadata/0"
    assert await q.shard_of("metadata", b"key10") == "metadata/1"
    assert q.likely_shard("metadata", b"key10") == "metadata/1"
    assert not q.likely_shard("offset", b"")
    with pytest.raises(InvalidError, match="'offset' is not a group of the cluster; groups: meta"):
        await q.shard_of("offset", b"")

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
from quorate.client import AsyncClient, OutcomeUnknownError, RejectedError, UnansweredError
from quorate.client.sessions import WINDOW
from quorate.plugin import Rejected
from quorate.shards import refusals
from quorate.v1.command_pb2 import Command, CommandAnswer
from quorate.v1.entry_pb2 import Stamp
from quorate.v1.kv_pb2 import PutPairReply

if TYPE_CHECKING:
    from core.tests.client.conftest import FakeCluster

EXPIRED = Rejected("SESSION_EXPIRED", "session 1 is unknown here")


@pytest.fixture
async def once(cluster: FakeCluster) -> AsyncIterator[AsyncClient]:
    async with cluster.client(exactly_once=True) as q:
        yield q


def stamps(cluster: FakeCluster, node: str = "n1") -> list[Stamp]:
    return [command.stamp for command in cluster.nodes[node].commands]


def told_in_turn(cluster: FakeCluster, *answers: CommandAnswer) -> Any:
    """Give these answers, one a command, and then good ones."""
    left = list(answers)

    def answer(command: Command) -> CommandAnswer:
        return left.pop(0) if left else cluster.reply(PutPairReply(revision=9))

    return answer


async def test_each_shard_has_one_session_and_its_operations_are_numbered(
    cluster: FakeCluster, once: AsyncClient
) -> None:
    await asyncio.gather(*(once.kv.put(cluster.first, b"") for _ in range(3)))
    await once.kv.put(cluster.first, b"")
    await once.kv.put(cluster.second, b"")

    assert [(each.session, each.sequence, each.lowest_unanswered) for each in stamps(cluster)] == [
        (1, 1, 1),
        (1, 2, 1),
        (1, 3, 1),
        (1, 4, 4),
    ]
    assert [(each.session, each.sequence) for each in stamps(cluster, "n2")] == [(2, 1)]
    [opened] = cluster.nodes["n1"].opened
    assert (opened.group, opened.shard_key, opened.name) == ("metadata", cluster.first, "")
    assert opened.ttl_ms > 0


async def test_an_unknown_outcome_is_tried_again_under_the_same_stamp(
    cluster: FakeCluster, once: AsyncClient
) -> None:
    lost = cluster.failing(refusals.OutcomeUnknownError("the leader was lost"))
    cluster.nodes["n1"].answer = told_in_turn(cluster, lost, lost)

    assert (await once.kv.put(cluster.first, b"")).revision == 9
    assert [(each.session, each.sequence) for each in stamps(cluster)] == [(1, 1)] * 3


async def test_a_lost_connection_is_no_reason_to_give_up(
    cluster: FakeCluster, once: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    node.before = _for_ever
    put = asyncio.create_task(once.kv.put(cluster.first, b""))
    async with asyncio.timeout(10):
        while not node.executed:
            await asyncio.sleep(0)
    await node.stop()
    await put

    again = stamps(cluster, "n2") + stamps(cluster, "n3")
    assert [(each.session, each.sequence) for each in again] == [(1, 1)]
    assert sum(len(each.opened) for each in cluster.nodes.values()) == 1


async def _for_ever(context: object) -> None:
    await asyncio.Event().wait()


async def test_a_lost_operation_of_an_expired_session_ends_as_unknown(
    cluster: FakeCluster, once: AsyncClient
) -> None:
    lost = cluster.failing(refusals.OutcomeUnknownError("the leader was lost"))
    cluster.nodes["n1"].answer = told_in_turn(cluster, lost, cluster.failing(EXPIRED))

    with pytest.raises(OutcomeUnknownError, match="its session has expired"):
        await once.kv.put(cluster.first, b"")
    await once.kv.put(cluster.first, b"")
    assert [each.session for each in stamps(cluster)] == [1, 1, 2]


async def test_an_operation_that_was_never_lost_gets_another_session(
    cluster: FakeCluster, once: AsyncClient
) -> None:
    cluster.nodes["n1"].answer = told_in_turn(cluster, cluster.failing(EXPIRED))

    assert (await once.kv.put(cluster.first, b"")).revision == 9
    assert [(each.session, each.sequence) for each in stamps(cluster)] == [(1, 1), (2, 1)]


async def test_a_lost_operation_follows_its_slots_as_the_same_one(
    cluster: FakeCluster, once: AsyncClient
) -> None:
    """A split takes the sessions along: the new shard knows whether it was carried out."""
    lost = cluster.failing(refusals.OutcomeUnknownError("the leader was lost"))
    await once.topology()

    def answer(command: Command) -> CommandAnswer:
        # From now on every slot is the second shard's.
        once._topology._owners["metadata"][:] = [once._topology._owners["metadata"][1023]] * 1_024
        return lost

    cluster.nodes["n1"].answer = answer
    await once.kv.put(cluster.first, b"")
    assert stamps(cluster, "n2") == stamps(cluster, "n1") != []


async def test_a_refusal_is_an_answer(cluster: FakeCluster, once: AsyncClient) -> None:
    refused = cluster.failing(Rejected("REVISION_MISMATCH", "no"))
    cluster.nodes["n1"].answer = told_in_turn(cluster, refused)

    with pytest.raises(RejectedError):
        await once.kv.put(cluster.first, b"")
    await once.kv.put(cluster.first, b"")
    assert [(each.sequence, each.lowest_unanswered) for each in stamps(cluster)] == [(1, 1), (2, 2)]


async def test_no_operation_runs_ahead_of_the_window(
    cluster: FakeCluster, once: AsyncClient
) -> None:
    go = asyncio.Event()
    cluster.nodes["n1"].before = lambda _: _wait(go)
    puts = [asyncio.create_task(once.kv.put(cluster.first, b"")) for _ in range(WINDOW + 200)]
    async with asyncio.timeout(20):
        while len(cluster.nodes["n1"].commands) < WINDOW:
            await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*puts)

    assert sorted(each.sequence for each in stamps(cluster)) == list(range(1, WINDOW + 201))
    assert all(
        each.lowest_unanswered <= each.sequence <= each.lowest_unanswered + WINDOW
        for each in stamps(cluster)
    )


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


async def test_at_the_deadline_a_lost_operation_is_unknown(
    cluster: FakeCluster, once: AsyncClient
) -> None:
    lost = cluster.failing(refusals.OutcomeUnknownError("the leader was lost"))
    cluster.nodes["n1"].answer = lambda _: lost

    with pytest.raises(UnansweredError, match="so it may be done"):
        await once.kv.put(cluster.first, b"", timeout_s=0.3)


async def test_sessions_are_closed_with_the_client(cluster: FakeCluster) -> None:
    async with cluster.client(exactly_once=True) as q:
        await q.kv.put(cluster.first, b"")
    closed = [each for node in cluster.nodes.values() for each in node.closed]
    assert [(each.group, each.shard_key, each.session) for each in closed] == [
        ("metadata", cluster.first, 1)
    ]

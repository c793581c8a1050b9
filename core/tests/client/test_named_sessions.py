from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.client import AsyncClient, RejectedError
from quorate.plugin import Rejected
from quorate.shards import refusals
from quorate.v1.kv_pb2 import PutPair, PutPairReply, PutPairs

if TYPE_CHECKING:
    from core.tests.client.conftest import FakeCluster


async def test_operations_have_the_numbers_that_they_are_given(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    session = await q.sessions.open("metadata", cluster.second, "load")
    batch = PutPairs(pairs=[PutPair(key=cluster.second)])
    for sequence, lowest in ((7, 5), (5, 5), (7, 6)):
        answer = await session.execute(batch, sequence, lowest_unanswered=lowest)
        assert PutPairReply.FromString(answer.payload).revision == 7

    [opened] = cluster.nodes["n2"].opened
    assert (opened.group, opened.shard_key, opened.name) == ("metadata", cluster.second, "load")
    sent = [command.stamp for command in cluster.nodes["n2"].commands]
    assert [(each.session, each.sequence, each.lowest_unanswered) for each in sent] == [
        (session.number, 7, 5),
        (session.number, 5, 5),
        (session.number, 7, 6),
    ]


async def test_what_was_lost_is_sent_again_under_its_number(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    lost = cluster.failing(refusals.OutcomeUnknownError("the leader was lost"))
    full = cluster.failing(refusals.ExhaustedError("the queue is full", 1))
    answers = [lost, full, cluster.reply(PutPairReply(revision=9))]
    cluster.nodes["n1"].answer = lambda _: answers.pop(0)
    session = await q.sessions.open("metadata", cluster.first, "load")
    answer = await session.execute(PutPair(key=cluster.first), 4, lowest_unanswered=1)

    assert PutPairReply.FromString(answer.payload).revision == 9
    assert [each.stamp.sequence for each in cluster.nodes["n1"].commands] == [4, 4, 4]


@pytest.mark.parametrize("code", ["OTHER_COMMAND", "SESSION_SEALED", "SESSION_EXPIRED"])
async def test_what_the_session_refuses_is_not_sent_again(
    cluster: FakeCluster, q: AsyncClient, code: str
) -> None:
    cluster.nodes["n1"].answer = lambda _: cluster.failing(Rejected(code, "no"))
    session = await q.sessions.open("metadata", cluster.first, "load")
    with pytest.raises(RejectedError, match=code):
        await session.execute(PutPair(key=cluster.first), 1, lowest_unanswered=1)

    assert len(cluster.nodes["n1"].commands) == 1
    assert len(cluster.nodes["n1"].opened) == 1


async def test_a_name_is_sealed_and_closed_where_its_shard_is(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    assert await q.sessions.seal("metadata", cluster.second, "load") == [3, 5]
    await q.sessions.close("metadata", cluster.second, "load")

    [sealed], [closed] = cluster.nodes["n2"].sealed, cluster.nodes["n2"].closed
    assert (sealed.group, sealed.shard_key, sealed.name) == ("metadata", cluster.second, "load")
    assert (closed.shard_key, closed.session) == (cluster.second, 1)


async def test_named_sessions_outlive_the_client(cluster: FakeCluster) -> None:
    async with cluster.client() as q:
        await q.sessions.open("metadata", cluster.first, "load")

    assert not cluster.nodes["n1"].closed

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.client import (
    AsyncClient,
    ClosedError,
    DeadlineError,
    InvalidError,
    OutcomeUnknownError,
    RejectedError,
    UnansweredError,
)
from quorate.client.node_queues import CALLS
from quorate.consensus.messages import Peer
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.shards import refusals
from quorate.v1.batch_pb2 import BatchReply, ShardRevision
from quorate.v1.command_pb2 import Command, CommandAnswer, CommandReply
from quorate.v1.kv_pb2 import ExpirePairs, PutPair, PutPairReply, PutPairs

if TYPE_CHECKING:
    from core.tests.client.conftest import FakeCluster


async def test_a_command_goes_to_the_leader_of_its_shard(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    await q.kv.put(cluster.first, b"1")
    await q.kv.put(cluster.second, b"2")

    assert [PutPair.FromString(each.payload).key for each in cluster.nodes["n1"].commands] == [
        cluster.first
    ]
    assert [PutPair.FromString(each.payload).key for each in cluster.nodes["n2"].commands] == [
        cluster.second
    ]
    assert cluster.nodes["n3"].commands == []


async def test_commands_of_one_turn_share_a_call_and_each_gets_its_own_answer(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    node.answer = lambda command: cluster.reply(
        PutPairReply(revision=int(PutPair.FromString(command.payload).value))
    )
    await q.topology()

    puts = await asyncio.gather(*(q.kv.put(cluster.first, b"%d" % n) for n in range(1_500)))

    assert [put.revision for put in puts] == list(range(1_500))
    assert [len(each.commands) for each in node.executed] == [500, 500, 500]


async def test_what_comes_while_calls_are_under_way_waits_for_one_of_them(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    go = asyncio.Event()
    node.before = lambda _: _wait(go)
    puts = []
    await q.topology()
    for under_way in (*range(1, CALLS + 1), CALLS, CALLS):
        puts.append(asyncio.create_task(q.kv.put(cluster.first, b"")))
        async with asyncio.timeout(10):
            while len(node.executed) < under_way:
                await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*puts)

    assert [len(each.commands) for each in node.executed] == [1] * CALLS + [2]


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


async def _for_ever(context: object) -> None:
    await asyncio.Event().wait()


async def test_large_commands_do_not_share_a_call(cluster: FakeCluster, q: AsyncClient) -> None:
    await q.topology()
    await asyncio.gather(*(q.kv.put(cluster.first, bytes(700_000)) for _ in range(3)))

    assert [len(each.commands) for each in cluster.nodes["n1"].executed] == [1, 1, 1]


async def test_a_node_that_takes_fewer_commands_gets_fewer(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]

    async def before(context: Any) -> None:
        if len(node.executed[-1].commands) > 20:
            await cluster.fail(context, Invalid("commands", "send 1 to 20 in a call"))

    node.before = before
    await q.topology()
    puts = await asyncio.gather(*(q.kv.put(cluster.first, b"") for _ in range(100)))

    assert len(puts) == 100
    assert sum(len(each.commands) for each in node.executed if len(each.commands) <= 20) == 100


async def test_a_refusal_hits_its_own_command_alone(cluster: FakeCluster, q: AsyncClient) -> None:
    def answer(command: Command) -> CommandAnswer:
        put = PutPair.FromString(command.payload)
        if put.value == b"bad":
            return cluster.failing(Rejected("REVISION_MISMATCH", "it has revision 3"))
        if put.value == b"wrong":
            return cluster.failing(Invalid("ttl_ms", "is too long"))
        return cluster.reply(PutPairReply(revision=7))

    cluster.nodes["n1"].answer = answer
    good, bad, wrong = await asyncio.gather(
        *(q.kv.put(cluster.first, value) for value in (b"good", b"bad", b"wrong")),
        return_exceptions=True,
    )

    assert good == PutPairReply(revision=7)
    assert isinstance(bad, RejectedError)
    assert (bad.code, bad.message) == ("REVISION_MISMATCH", "it has revision 3")
    assert isinstance(wrong, InvalidError)
    assert (wrong.field, wrong.reason) == ("ttl_ms", "is too long")


async def test_a_hint_to_the_leader_is_followed_and_kept(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    error = refusals.NoLeaderError(ShardId("metadata", 0), Peer("n3", 3))
    cluster.nodes["n1"].answer = lambda _: cluster.failing(error)
    await q.kv.put(cluster.first, b"1")
    cluster.leaders[0], cluster.term = "n3", 2
    await q.kv.put(cluster.first, b"2")

    assert len(cluster.nodes["n1"].commands) == 1
    assert len(cluster.nodes["n3"].commands) == 2


@pytest.mark.parametrize(
    "error",
    [
        refusals.NotProposedError("nothing was logged"),
        refusals.NoLeaderError(ShardId("metadata", 0)),
        refusals.UnknownShardError("metadata"),
        refusals.WrongShardError(ShardId("metadata", 0), "it moved"),
        refusals.ExhaustedError("the queue is full", 1),
        refusals.NotProposedInTimeError("it waited too long"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_was_surely_not_done_is_tried_again(
    cluster: FakeCluster, q: AsyncClient, error: Exception
) -> None:
    node = cluster.nodes["n1"]
    answers = [cluster.failing(error)] * 2 + [cluster.reply(PutPairReply(revision=9))]
    node.answer = lambda _: answers[len(node.commands) - 1]

    assert (await q.kv.put(cluster.first, b"")).revision == 9
    assert len(node.commands) == 3


async def test_a_node_that_says_to_wait_longer_than_there_is_time_is_not_asked_again(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    node.answer = lambda _: cluster.failing(refusals.ExhaustedError("the queue is full", 60_000))

    with pytest.raises(DeadlineError, match="the queue is full"):
        await q.kv.put(cluster.first, b"")
    assert len(node.commands) == 1


async def test_what_is_not_admitted_the_second_time_may_have_been_done_the_first(
    cluster: FakeCluster,
) -> None:
    lost = cluster.failing(refusals.OutcomeUnknownError("the leader was lost"))
    refused = cluster.failing(refusals.NotAdmittedError("QUOTA", "it is used up"))
    node, answers = cluster.nodes["n1"], [lost, refused, refused]
    node.answer = lambda _: answers.pop(0)

    async with cluster.client(exactly_once=True) as q:
        with pytest.raises(OutcomeUnknownError, match="QUOTA: it is used up"):
            await q.kv.put(cluster.first, b"")
        with pytest.raises(RejectedError, match="QUOTA"):
            await q.kv.put(cluster.first, b"")


@pytest.mark.parametrize(
    "error",
    [
        refusals.OutcomeUnknownError("the leader was lost"),
        refusals.UnansweredInTimeError("no majority"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_may_have_been_done_is_not_tried_again(
    cluster: FakeCluster, q: AsyncClient, error: Exception
) -> None:
    cluster.nodes["n1"].answer = lambda _: cluster.failing(error)

    with pytest.raises(OutcomeUnknownError, match=str(error)):
        await q.kv.put(cluster.first, b"")
    assert len(cluster.nodes["n1"].commands) == 1


async def test_a_command_whose_connection_broke_may_have_been_done(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    node.before = _for_ever
    put = asyncio.create_task(q.kv.put(cluster.first, b""))
    async with asyncio.timeout(10):
        while not node.executed:
            await asyncio.sleep(0)
    await node.stop()

    with pytest.raises(OutcomeUnknownError, match=r"the connection to 127\.0\.0\.1:.* was lost"):
        await put
    assert cluster.nodes["n2"].commands == cluster.nodes["n3"].commands == []


async def test_a_node_that_is_not_there_costs_nothing_but_another_one(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    await q.topology()
    await cluster.nodes["n1"].stop()
    await q.kv.put(cluster.first, b"")

    assert len(cluster.nodes["n2"].commands) + len(cluster.nodes["n3"].commands) == 1


async def test_without_any_node_the_deadline_ends_a_call_that_did_nothing(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    await q.topology()
    for node in cluster.nodes.values():
        await node.stop()

    with pytest.raises(DeadlineError, match="nothing was done, so trying again is safe"):
        await q.kv.put(cluster.first, b"", timeout_s=0.3)


async def test_a_cluster_that_was_never_there_ends_the_same_way(cluster: FakeCluster) -> None:
    for node in cluster.nodes.values():
        await node.stop()
    async with cluster.client(timeout_s=0.3) as q:
        with pytest.raises(DeadlineError, match=r"no node answers at |does not answer"):
            await q.kv.put(cluster.first, b"")


async def test_a_node_that_stands_still_cannot_hold_a_call_for_longer_than_its_deadline(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    node.before = _for_ever
    await q.topology()

    with pytest.raises(UnansweredError, match="did not answer in time"):
        await q.kv.put(cluster.first, b"", timeout_s=0.2)
    assert len(node.commands) == 1


async def test_a_write_of_a_session_is_repeated_elsewhere_when_the_first_node_hangs(
    cluster: FakeCluster,
) -> None:
    async with cluster.client(exactly_once=True) as q:
        await q.kv.put(cluster.first, b"")
        node = cluster.nodes["n1"]
        node.before = _for_ever

        assert (await q.kv.put(cluster.first, b"", timeout_s=3.0)).revision == 7
    [again] = [each for name in ("n2", "n3") for each in cluster.nodes[name].commands]
    assert again.stamp == node.commands[-1].stamp


async def test_what_waits_for_calls_of_others_is_not_even_sent_at_its_deadline(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    node.before = _for_ever
    await q.topology()
    slow = []
    for count in range(CALLS):
        slow.append(asyncio.create_task(q.kv.put(cluster.first, b"")))
        async with asyncio.timeout(10):
            while len(node.commands) <= count:
                await asyncio.sleep(0)

    # Long before those end.
    async with asyncio.timeout(5):
        with pytest.raises(DeadlineError, match="nothing was done"):
            await q.kv.put(cluster.first, b"", timeout_s=0.2)
    assert len(node.commands) == CALLS
    for each in slow:
        each.cancel()
    await asyncio.gather(*slow, return_exceptions=True)


async def test_a_caller_that_gave_up_is_not_sent(cluster: FakeCluster, q: AsyncClient) -> None:
    await q.topology()
    put = asyncio.create_task(q.kv.put(cluster.first, b"given up"))
    await asyncio.sleep(0)
    put.cancel()
    await q.kv.put(cluster.first, b"kept")

    assert [PutPair.FromString(each.payload).value for each in cluster.nodes["n1"].commands] == [
        b"kept"
    ]


async def test_a_batch_is_cut_by_shards_and_answered_in_the_order_of_its_items(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    def answer(number: int, command: Command) -> CommandAnswer:
        pairs = PutPairs.FromString(command.payload).pairs
        batch = BatchReply(items=len(pairs), revisions=[ShardRevision(shard=number, revision=8)])
        for position, pair in enumerate(pairs):
            if pair.value == b"bad":
                batch.refusals.add(item=position, code="NO", message=pair.key.decode())
        return cluster.reply(batch)

    for number, name in enumerate(("n1", "n2")):
        cluster.nodes[name].answer = lambda command, number=number: answer(number, command)  # type: ignore[misc]
    pairs = [
        PutPair(key=b"key1", value=b"good"),
        PutPair(key=b"key10", value=b"bad"),
        PutPair(key=b"key2", value=b"bad"),
        PutPair(key=b"key11", value=b"good"),
    ]
    reply = await q.execute(PutPairs(pairs=pairs), BatchReply)

    assert reply.items == 4
    assert [(each.item, each.message) for each in reply.refusals] == [(1, "key10"), (2, "key2")]
    assert [(each.shard, each.revision) for each in reply.revisions] == [(0, 8), (1, 8)]
    assert [len(cluster.nodes[name].commands) for name in ("n1", "n2", "n3")] == [1, 1, 0]


async def test_a_batch_of_one_shard_goes_there_whole(cluster: FakeCluster, q: AsyncClient) -> None:
    cluster.nodes["n2"].answer = lambda _: cluster.reply(BatchReply(items=2))
    batch = PutPairs(pairs=[PutPair(key=b"key10"), PutPair(key=b"key11")])
    assert (await q.execute(batch, BatchReply)).items == 2
    assert [each.payload for each in cluster.nodes["n2"].commands] == [batch.SerializeToString()]


async def test_a_share_that_fails_as_a_whole_refuses_its_items(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    cluster.nodes["n1"].answer = lambda _: cluster.reply(BatchReply(items=1))
    unknown = cluster.failing(refusals.OutcomeUnknownError("lost"))
    cluster.nodes["n2"].answer = lambda _: unknown
    batch = PutPairs(pairs=[PutPair(key=b"key10"), PutPair(key=b"key1")])
    reply = await q.execute(batch, BatchReply)

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "OUTCOME_UNKNOWN")]
    cluster.nodes["n1"].answer = lambda _: cluster.failing(Rejected("NO"))
    with pytest.raises(OutcomeUnknownError):
        await q.execute(batch, BatchReply)


@pytest.mark.parametrize("shards", [1, 2])
async def test_a_batch_names_the_items_whose_answers_were_not_kept(
    cluster: FakeCluster, q: AsyncClient, shards: int
) -> None:
    kept = BatchReply(items=1, revisions=[ShardRevision(shard=0, revision=8)])
    cluster.nodes["n1"].answer = lambda _: cluster.reply(kept)
    forgotten = CommandAnswer(reply=CommandReply(forgotten=True))
    cluster.nodes["n2"].answer = lambda _: forgotten
    keys = (b"key10", b"key1", b"key11") if shards == 2 else (b"key10", b"key11")
    reply = await q.execute(PutPairs(pairs=[PutPair(key=key) for key in keys]), BatchReply)

    assert (reply.items, len(reply.refusals)) == (len(keys), 0)
    assert list(reply.forgotten) == ([0, 2] if shards == 2 else [0, 1])
    other = await q.execute_all([PutPairs(pairs=[PutPair(key=key)]) for key in keys])
    assert other.forgotten == reply.forgotten


async def test_an_item_that_repeats_a_key_is_refused_here(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    payload = BatchReply(items=1).SerializeToString()
    one = CommandAnswer(reply=CommandReply(payload=payload))
    for node in cluster.nodes.values():
        node.answer = lambda _: one
    reply = await q.execute(PutPairs(pairs=[PutPair(key=b"a"), PutPair(key=b"a")]), BatchReply)
    assert (reply.items, [each.item for each in reply.refusals]) == (2, [1])
    assert sum(len(node.commands) for node in cluster.nodes.values()) == 1
    assert "has the key of pairs[0]" in reply.refusals[0].message


async def test_put_many_takes_pairs_of_keys_and_values(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    answered = BatchReply(items=2)
    for node in cluster.nodes.values():
        node.answer = lambda _: cluster.reply(answered)
    key = cluster.first.decode()

    await q.kv.put_many([(key, b"1"), (f"{key}/x", b"3")], ttl_ms=5)

    [command] = [each for node in cluster.nodes.values() for each in node.commands]
    assert PutPairs.FromString(command.payload) == PutPairs(
        pairs=[
            PutPair(key=cluster.first, value=b"1", ttl_ms=5),
            PutPair(key=cluster.first + b"/x", value=b"3", ttl_ms=5),
        ]
    )


async def test_put_many_cuts_what_one_command_cannot_hold(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    def answer(command: Command) -> CommandAnswer:
        pairs = PutPairs.FromString(command.payload).pairs
        batch = BatchReply(items=len(pairs))
        for position, pair in enumerate(pairs):
            if pair.value == b"bad":
                batch.refusals.add(item=position, code="NO")
        return cluster.reply(batch)

    for node in cluster.nodes.values():
        node.answer = answer
    pairs = {f"{number}": b"" for number in range(2_500)}
    pairs["2200"] = pairs["17"] = b"bad"
    reply = await q.kv.put_many(pairs)

    assert reply.items == 2_500
    assert [each.item for each in reply.refusals] == [17, 2_200]


async def test_what_no_plugin_declares_or_no_client_may_send_is_refused_here(
    q: AsyncClient,
) -> None:
    for message, reason in (
        (StringValue(), r"no plugin installed here declares google\.protobuf\.StringValue"),
        (PutPairReply(), r"quorate\.v1\.PutPairReply is not a command of the installed"),
        (ExpirePairs(), r"plugin kv keeps quorate\.v1\.ExpirePairs for its own services"),
    ):
        with pytest.raises(InvalidError, match=reason):
            await q.execute(message, BatchReply)


async def test_a_reply_of_another_command_is_refused_before_anything_is_sent(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    for message, right in (
        (PutPair(key=cluster.first), "PutPairReply"),
        (PutPairs(pairs=[PutPair(key=cluster.first)]), "BatchReply"),
    ):
        expected = (
            rf"reply: {message.DESCRIPTOR.full_name} is answered with quorate\.v1\.{right}, not"
        )
        with pytest.raises(InvalidError, match=expected):
            await q.execute(message, CommandReply)
    assert not any(node.commands for node in cluster.nodes.values())


async def test_closing_ends_what_is_under_way(cluster: FakeCluster) -> None:
    node = cluster.nodes["n1"]
    node.before = _for_ever
    q = cluster.client()
    put = asyncio.create_task(q.kv.put(cluster.first, b""))
    async with asyncio.timeout(10):
        while not node.executed:
            await asyncio.sleep(0)
    await q.close()

    with pytest.raises(ClosedError):
        await put
    with pytest.raises(ClosedError):
        await q.kv.put(cluster.first, b"")
    await q.close()


async def test_a_deadline_of_a_command_is_told_to_the_node(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    await asyncio.gather(
        q.kv.put(cluster.first, b"", timeout_s=5.0), q.kv.put(cluster.first, b"", timeout_s=10.0)
    )
    short, long = (command.timeout_ms for command in cluster.nodes["n1"].commands)
    assert 4_000 < short < 5_000
    assert 9_000 < long < 10_000


async def test_an_answer_that_is_too_large_to_be_read_is_no_refusal(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    node = cluster.nodes["n1"]
    huge = CommandReply(payload=bytes(20 << 20))
    node.answer = lambda _: CommandAnswer(reply=huge)

    with pytest.raises(OutcomeUnknownError, match="more than a client reads"):
        await q.kv.put(cluster.first, b"1")

    assert len(node.commands) == 1

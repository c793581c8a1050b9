"""The committer: what was marked is committed together, later or at once, and is never lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from quorate.client import (
    AsyncClient,
    ClosedError,
    InvalidError,
    OutcomeUnknownError,
    RejectedError,
    UnavailableError,
)
from quorate.plugin.slots import even_cut
from quorate.v1.admin_pb2 import ShardPlace, TopologyResponse
from quorate.v1.batch_pb2 import BatchReply, ShardRevision
from quorate_offset.client import Committer, commits
from quorate_offset.client.shards import Shards
from quorate_offset.families import GROUP
from quorate_offset.v1.commands_pb2 import COMMIT_MODE_MONOTONIC, GroupCommit
from quorate_offset.v1.service_pb2 import CommitOffsetsResponse, OffsetRefusal

Answer = Callable[[Sequence[GroupCommit]], Awaitable[CommitOffsetsResponse]]

#: So long that no test comes to it.
NEVER_S = 3_600.0
#: So short that a test does not wait for it.
SOON_S = 0.001
#: What an answer has that its shard has kept.
KEPT = [ShardRevision(shard=0, revision=1)]


class FakeCluster:
    """Stands in for a cluster: tells where shards are, and answers commits as a test says."""

    def __init__(self, shards: int = 1) -> None:
        self.shards = shards
        self.asked = 0
        self.unreachable = 0
        #: What was committed, attempt by attempt.
        self.attempts: list[list[GroupCommit]] = []
        #: One for each of the next attempts; then all is well.
        self.answers: list[Answer] = []
        self._news = asyncio.Condition()

    async def topology(self, *, timeout_s: float | None = None) -> TopologyResponse:
        self.asked += 1
        if self.unreachable:
            self.unreachable -= 1
            raise UnavailableError("no node answers")
        return TopologyResponse(
            shards=[
                ShardPlace(group=GROUP, number=number, slots=slots)
                for number, slots in enumerate(even_cut(self.shards))
            ]
        )

    async def commit_many(self, groups: Sequence[GroupCommit]) -> CommitOffsetsResponse:
        self.attempts.append(list(groups))
        answer = self.answers.pop(0) if self.answers else well
        async with self._news:
            self._news.notify_all()
        return await answer(groups)

    async def attempted(self, count: int) -> None:
        """Wait until so many attempts have come."""
        async with asyncio.timeout(60), self._news:
            await self._news.wait_for(lambda: len(self.attempts) >= count)

    def committer(self, *, interval_s: float = NEVER_S) -> Committer:
        return Committer(
            self.commit_many,
            Shards(cast("AsyncClient", self)),
            monotonic=True,
            interval_s=interval_s,
            timeout_s=1.0,
        )

    def offsets(self) -> list[list[tuple[str, str, int, int]]]:
        """Return group, topic, partition and offset of what was committed, by attempt."""
        return [
            [
                (group.group, commit.topic, commit.partition, commit.offset)
                for group in attempt
                for commit in group.commits
            ]
            for attempt in self.attempts
        ]


async def well(groups: Sequence[GroupCommit]) -> CommitOffsetsResponse:
    return CommitOffsetsResponse(revisions=KEPT)


def refusing(*refusals: OffsetRefusal) -> Answer:
    async def refuse(groups: Sequence[GroupCommit]) -> CommitOffsetsResponse:
        return CommitOffsetsResponse(refusals=refusals, revisions=KEPT)

    return refuse


def of_batch(*, forgotten: Sequence[int]) -> Answer:
    """Answer as a client does: all was carried out, and of some groups no shard kept the answer."""

    async def answer(groups: Sequence[GroupCommit]) -> CommitOffsetsResponse:
        reply = BatchReply(items=len(groups), revisions=KEPT, forgotten=forgotten)
        return commits.answer(commits.cut(groups), reply)

    return answer


def raising(error: Exception) -> Answer:
    async def fail(groups: Sequence[GroupCommit]) -> CommitOffsetsResponse:
        raise error

    return fail


def waiting(gate: asyncio.Event, then: Answer = well) -> Answer:
    async def wait(groups: Sequence[GroupCommit]) -> CommitOffsetsResponse:
        await gate.wait()
        return await then(groups)

    return wait


async def until(holds: Callable[[], Any]) -> None:
    """Wait for what the committer does behind an answer."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(SOON_S)


@asynccontextmanager
async def closing(committer: Committer) -> AsyncIterator[Committer]:
    try:
        yield committer
    finally:
        await committer.close()


async def test_the_last_mark_of_each_partition_is_committed_in_one_call() -> None:
    cluster = FakeCluster()
    async with cluster.committer() as committer:
        for offset in range(10):
            committer.mark("t", "a", "x", 0, offset)
        committer.mark("t", "a", "x", 1, 5, metadata="here")
        committer.mark("t", "b", "x", 0, 7)
        assert committer.dirty == 3
        assert await committer.flush() == []
        assert committer.dirty == 0
    assert cluster.offsets() == [[("a", "x", 0, 9), ("a", "x", 1, 5), ("b", "x", 0, 7)]]
    [[a, b]] = cluster.attempts
    assert (a.mode, a.tenant, a.commits[1].metadata) == (COMMIT_MODE_MONOTONIC, "t", "here")
    assert not b.HasField("generation")


async def test_marks_are_committed_without_being_asked() -> None:
    cluster = FakeCluster()
    async with closing(cluster.committer(interval_s=SOON_S)) as committer:
        committer.mark("t", "a", "x", 0, 1)
        await until(lambda: not committer.dirty)
        committer.mark("t", "a", "x", 0, 2)
        await until(lambda: not committer.dirty)
    assert cluster.offsets() == [[("a", "x", 0, 1)], [("a", "x", 0, 2)]]
    assert cluster.asked == 1


async def test_a_flush_without_marks_asks_nothing() -> None:
    cluster = FakeCluster()
    async with cluster.committer() as committer:
        await committer.flush()
    assert cluster.attempts == []


async def test_what_fails_in_the_background_is_tried_again() -> None:
    cluster = FakeCluster()
    cluster.answers = [
        raising(UnavailableError("no leader")),
        raising(OutcomeUnknownError("lost")),
        raising(RejectedError("RESOURCE_EXHAUSTED")),
        refusing(OffsetRefusal(group=0, code="UNAVAILABLE")),
    ]
    async with closing(cluster.committer(interval_s=SOON_S)) as committer:
        committer.mark("t", "a", "x", 0, 1)
        await cluster.attempted(5)
        await until(lambda: not committer.dirty)
        assert await committer.flush() == []
    assert cluster.offsets() == [[("a", "x", 0, 1)]] * 5


async def test_a_flush_raises_what_keeps_marks_and_keeps_them() -> None:
    cluster = FakeCluster()
    cluster.answers = [
        raising(UnavailableError("no leader")),
        refusing(OffsetRefusal(group=1, code="OUTCOME_UNKNOWN", message="lost")),
    ]
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 1)
        committer.mark("t", "b", "x", 0, 2)
        with pytest.raises(UnavailableError, match="no leader"):
            await committer.flush()
        assert committer.dirty == 2
        with pytest.raises(OutcomeUnknownError, match="1 offsets are not committed yet"):
            await committer.flush()
        assert committer.dirty == 1
        await committer.flush()
    assert cluster.offsets()[1:] == [[("a", "x", 0, 1), ("b", "x", 0, 2)], [("b", "x", 0, 2)]]


async def test_a_mark_that_is_made_during_an_attempt_is_not_lost() -> None:
    cluster, gate = FakeCluster(), asyncio.Event()
    cluster.answers = [waiting(gate)]
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 1)
        first = asyncio.create_task(committer.flush())
        await cluster.attempted(1)
        committer.mark("t", "a", "x", 0, 2)
        second = asyncio.create_task(committer.flush())
        for _ in range(100):
            await asyncio.sleep(0)
        # One attempt at a time: they cannot overtake each other.
        assert len(cluster.attempts) == 1
        gate.set()
        await asyncio.gather(first, second)
        assert committer.dirty == 0
    assert cluster.offsets() == [[("a", "x", 0, 1)], [("a", "x", 0, 2)]]


async def test_a_newer_mark_takes_the_place_of_one_that_failed() -> None:
    cluster = FakeCluster()
    cluster.answers = [raising(UnavailableError("no leader"))]
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 1)
        with pytest.raises(UnavailableError):
            await committer.flush()
        committer.mark("t", "a", "x", 0, 2)
        await committer.flush()
    assert cluster.offsets()[1] == [("a", "x", 0, 2)]


async def test_a_flush_that_is_given_up_loses_nothing() -> None:
    cluster = FakeCluster()
    cluster.answers = [waiting(asyncio.Event())]
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 1)
        flushing = asyncio.create_task(committer.flush())
        await cluster.attempted(1)
        flushing.cancel()
        await asyncio.gather(flushing, return_exceptions=True)
        assert committer.dirty == 1
        await committer.flush()
    assert cluster.offsets() == [[("a", "x", 0, 1)]] * 2


@pytest.mark.parametrize(
    "code",
    ["FENCED", "NOT_FOUND", "INVALID_ARGUMENT", "PERMISSION_DENIED", "FAILED_PRECONDITION"],
)
async def test_a_refusal_is_told_once_and_not_tried_again(code: str) -> None:
    cluster = FakeCluster()
    cluster.answers = [refusing(OffsetRefusal(group=0, commit=1, code=code, message="because"))]
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 1)
        committer.mark("t", "a", "x", 1, 2)
        [refused] = await committer.flush()
        assert (refused.pending.commit.partition, refused.pending.commit.offset) == (1, 2)
        assert (refused.code, refused.message) == (code, "because")
        assert committer.dirty == 0
        assert await committer.flush() == []
    assert len(cluster.attempts) == 1


async def test_a_refused_group_is_told_offset_by_offset() -> None:
    cluster = FakeCluster()
    cluster.answers = [refusing(OffsetRefusal(group=0, code="FENCED", message="old"))]
    async with cluster.committer() as committer:
        for partition in range(3):
            committer.mark("t", "a", "x", partition, 1, generation=4)
        committer.mark("t", "b", "x", 0, 1)
        refused = await committer.flush()
    assert [each.pending.commit.partition for each in refused] == [0, 1, 2]
    assert cluster.attempts[0][0].generation == 4


async def test_a_mark_whose_answer_was_not_kept_is_committed_once_more() -> None:
    cluster = FakeCluster()
    refusal = OffsetRefusal(group=0, commit=0, code="FENCED", message="too old")
    cluster.answers = [of_batch(forgotten=[1]), refusing(refusal)]
    async with cluster.committer() as committer:
        for group in ("f", "g", "h"):
            committer.mark("t", group, "a", 0, 1)
        with pytest.raises(OutcomeUnknownError, match="no longer keeps the answer"):
            await committer.flush()
        assert committer.dirty == 1

        [refused] = await committer.flush()
        assert (refused.pending.group, refused.code) == ("g", "FENCED")
        assert committer.dirty == 0
    assert cluster.offsets()[1:] == [[("g", "a", 0, 1)]]


async def test_a_mark_behind_a_larger_offset_has_what_it_wanted() -> None:
    cluster = FakeCluster()
    cluster.answers = [refusing(OffsetRefusal(group=0, commit=0, code="BEHIND"))]
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 1)
        assert await committer.flush() == []
        assert committer.dirty == 0


async def test_closing_flushes_and_takes_no_more_marks() -> None:
    cluster = FakeCluster()
    committer = cluster.committer()
    committer.mark("t", "a", "x", 0, 1)
    assert await committer.close() == []
    assert cluster.offsets() == [[("a", "x", 0, 1)]]
    with pytest.raises(ClosedError):
        committer.mark("t", "a", "x", 0, 2)


async def test_closing_that_fails_keeps_the_marks_for_another_flush() -> None:
    cluster = FakeCluster()
    cluster.answers = [raising(UnavailableError("no leader"))]
    committer = cluster.committer()
    committer.mark("t", "a", "x", 0, 1)
    with pytest.raises(UnavailableError):
        await committer.close()
    assert committer.dirty == 1
    await committer.flush()
    assert committer.dirty == 0


async def test_leaving_the_block_raises_refusals_that_nobody_has_seen() -> None:
    cluster = FakeCluster()
    cluster.answers = [refusing(OffsetRefusal(group=0, commit=0, code="FENCED", message="old"))]
    with pytest.raises(RejectedError, match=r"offset 3 of t/a, x/0: old") as raised:
        async with cluster.committer() as committer:
            committer.mark("t", "a", "x", 0, 3)
    assert raised.value.code == "FENCED"


async def test_an_error_in_the_block_is_not_hidden_by_refusals() -> None:
    cluster = FakeCluster()
    cluster.answers = [refusing(OffsetRefusal(group=0, commit=0, code="FENCED"))]

    async def work() -> None:
        async with cluster.committer() as committer:
            committer.mark("t", "a", "x", 0, 3)
            raise KeyError

    with pytest.raises(KeyError):
        await work()
    assert len(cluster.attempts) == 1


async def test_a_shard_that_does_not_answer_delays_its_own_groups_alone() -> None:
    cluster, gate = FakeCluster(shards=4), asyncio.Event()
    shards = Shards(cast("AsyncClient", cluster))
    await shards.learn()
    names = {shards.of("t", f"group {number}"): f"group {number}" for number in range(100)}
    assert sorted(names) == [0, 1, 2, 3]
    cluster.answers = [waiting(gate)]
    async with closing(cluster.committer(interval_s=SOON_S)) as committer:
        committer.mark("t", names[0], "x", 0, 1)
        await cluster.attempted(1)
        for offset in range(3):
            for shard in (0, 1, 2, 3):
                committer.mark("t", names[shard], "x", 0, offset)
            await until(lambda: committer.dirty == 1)
        assert [names[0]] == [each.group for each in cluster.attempts[0]]
        assert all(each.group != names[0] for rest in cluster.attempts[1:] for each in rest)
        gate.set()
        await until(lambda: not committer.dirty)
    assert cluster.offsets()[-1] == [(names[0], "x", 0, 2)]


async def test_generations_of_a_group_are_committed_one_after_the_other() -> None:
    cluster = FakeCluster()
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 5, generation=2)
        committer.mark("t", "a", "x", 0, 4, generation=1)
        committer.mark("t", "a", "x", 1, 3)
        committer.mark("t", "b", "x", 0, 9, generation=8)
        await committer.flush()
    told = [
        [(each.group, each.generation if each.HasField("generation") else None) for each in rest]
        for rest in cluster.attempts
    ]
    assert told == [[("a", None), ("b", 8)], [("a", 1)], [("a", 2)]]


async def test_many_marks_go_in_commands_of_bounded_size() -> None:
    cluster = FakeCluster()
    async with cluster.committer() as committer:
        for partition in range(25_000):
            committer.mark("t", "a", "x", partition, 1)
        await committer.flush()
    assert list(map(len, cluster.offsets())) == [10_000, 10_000, 5_000]


async def test_a_group_that_cannot_be_right_keeps_no_other_back() -> None:
    async def picky(groups: Sequence[GroupCommit]) -> CommitOffsetsResponse:
        if any(group.group == "bad" for group in groups):
            raise InvalidError("groups[0]", "its key is too long")
        return CommitOffsetsResponse(revisions=KEPT)

    cluster = FakeCluster()
    cluster.answers = [picky] * 20
    async with cluster.committer() as committer:
        for name in ("a", "b", "bad", "c"):
            committer.mark("t", name, "x", 0, 1)
        [refused] = await committer.flush()
        assert committer.dirty == 0
    assert (refused.pending.group, refused.code) == ("bad", "INVALID_ARGUMENT")
    committed = {each.group for attempt in cluster.attempts[1:] for each in attempt}
    assert committed == {"a", "b", "bad", "c"}


async def test_marks_wait_for_a_cluster_that_cannot_be_reached() -> None:
    cluster = FakeCluster()
    cluster.unreachable = 1
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 1)
        with pytest.raises(UnavailableError, match="no node answers"):
            await committer.flush()
        assert committer.dirty == 1
        await committer.flush()
    assert cluster.offsets() == [[("a", "x", 0, 1)]]


async def test_marks_wait_for_shards_that_are_not_founded_yet() -> None:
    cluster = FakeCluster()
    cluster.shards, founded = 1, FakeCluster.topology

    async def nothing(*, timeout_s: float | None = None) -> TopologyResponse:
        return TopologyResponse()

    cluster.topology = nothing  # type: ignore[method-assign]
    async with cluster.committer() as committer:
        committer.mark("t", "a", "x", 0, 1)
        with pytest.raises(UnavailableError, match="no node knows all shards of group offset"):
            await committer.flush()
        cluster.topology = founded.__get__(cluster)  # type: ignore[method-assign]
        await committer.flush()
    assert cluster.offsets() == [[("a", "x", 0, 1)]]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"tenant": ""}, "tenant"),
        ({"group": ""}, "group"),
        ({"topic": "x" * 256}, "topic"),
        ({"offset": -1}, "offset"),
        ({"offset": 1 << 63}, "mark"),
        ({"partition": -1}, "mark"),
        ({"partition": 1 << 32}, "mark"),
        ({"generation": -1}, "mark"),
        ({"metadata": "\ud800"}, "mark"),
        ({"group": "\ud800"}, "mark"),
    ],
)
async def test_what_cannot_be_right_is_refused_where_it_is_marked(
    wrong: dict[str, Any], field: str
) -> None:
    right = {"tenant": "t", "group": "a", "topic": "x", "partition": 0, "offset": 1}
    async with FakeCluster().committer() as committer:
        with pytest.raises(InvalidError) as refused:
            committer.mark(**{**right, **wrong})
        assert refused.value.field == field
        assert committer.dirty == 0


async def test_any_thread_may_mark() -> None:
    cluster = FakeCluster()
    async with closing(cluster.committer(interval_s=SOON_S)) as committer:

        def mark(thread: int) -> None:
            for number in range(500):
                committer.mark("t", "a", "x", thread * 500 + number, 1)

        await asyncio.gather(*(asyncio.to_thread(mark, thread) for thread in range(8)))
        await until(lambda: not committer.dirty)
    committed = [partition for rest in cluster.offsets() for _, _, partition, _ in rest]
    assert sorted(committed) == list(range(8 * 500))


async def test_a_flush_that_failed_is_made_good_in_the_background() -> None:
    cluster = FakeCluster()
    cluster.answers = [raising(UnavailableError("no leader"))]
    async with closing(cluster.committer(interval_s=SOON_S)) as committer:
        committer.mark("t", "a", "x", 0, 1)
        with pytest.raises(UnavailableError):
            await committer.flush()
        await until(lambda: not committer.dirty)
    assert cluster.offsets() == [[("a", "x", 0, 1)]] * 2

"""What the handlers of resets and deletions do to one shard."""

import pytest
from quorate.plugin import Row
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate_offset.families import OFFSETS, group_key
from quorate_offset.marks import read_mark
from quorate_offset.offsets import rows
from quorate_offset.offsets.apply import (
    commit_offsets,
    delete_offsets,
    fence_groups,
    reset_offsets,
)
from quorate_offset.v1.commands_pb2 import (
    GroupCommit,
    GroupFence,
    OffsetCommit,
    OffsetDeletion,
    OffsetList,
    OffsetReset,
    OffsetsChanged,
    PartitionOffset,
    ResetToOffset,
    SetOffsets,
)
from quorate_offset.v1.queries_pb2 import CommittedOffset
from quorate_offset.v1.service_pb2 import (
    CommitOffsetsRequest,
    DeleteOffsetsRequest,
    FenceGroupsRequest,
)

BILLING = group_key("acme", "billing")
Stored = dict[tuple[str, int], int]


@pytest.fixture
def committed(shard: MemoryTxn) -> MemoryTxn:
    """The transaction after a commit of a/0, a/1 and b/0, at 2,000 ms."""
    commits = [
        OffsetCommit(topic=topic, partition=partition, offset=10, metadata="m")
        for topic, partition in (("a", 0), ("a", 1), ("b", 0))
    ]
    item = GroupCommit(tenant="acme", group="billing", commits=commits, generation=3)
    other = GroupCommit(tenant="acme", group="billings", commits=commits[:1])
    commit_offsets(shard, CommitOffsetsRequest(groups=[item, other]))
    return shard.then(2_000)


def reset(txn: MemoryTxn, *resets: OffsetReset) -> BatchReply:
    return reset_offsets(txn, SetOffsets(resets=resets))


def to(offset: int, topic: str = "", partition: int | None = None, **more: object) -> OffsetReset:
    target = ResetToOffset(offset=offset, topic=topic, partition=partition)
    return OffsetReset(tenant="acme", group="billing", to_offset=target, **more)  # type: ignore[arg-type]


def listed(*offsets: tuple[str, int, int]) -> OffsetReset:
    named = [PartitionOffset(topic=a, partition=b, offset=c) for a, b, c in offsets]
    return OffsetReset(tenant="acme", group="billing", to_offsets=OffsetList(offsets=named))


def delete(txn: MemoryTxn, *deletions: OffsetDeletion) -> BatchReply:
    return delete_offsets(txn, DeleteOffsetsRequest(deletions=deletions))


def gone(topic: str = "", partition: int | None = None, group: str = "billing") -> OffsetDeletion:
    return OffsetDeletion(tenant="acme", group=group, topic=topic, partition=partition)


def stored(txn: MemoryTxn) -> Stored:
    found: list[CommittedOffset] = [
        rows.committed_offset(Row(key, value, 0))
        for key, value in txn.rows(OFFSETS).items()
        if key.startswith(BILLING)
    ]
    return {(each.topic, each.partition): each.offset for each in found}


def changed(reply: BatchReply) -> list[int]:
    assert reply.items == len(reply.replies)
    return [OffsetsChanged.FromString(each).offsets for each in reply.replies]


def codes(reply: BatchReply) -> list[tuple[int, str]]:
    return [(each.item, each.code) for each in reply.refusals]


@pytest.mark.parametrize("at_a_time", [1, 2, 100])
@pytest.mark.parametrize(
    ("asked", "left"),
    [
        (to(5), {("a", 0): 5, ("a", 1): 5, ("b", 0): 5}),
        (to(5, "a"), {("a", 0): 5, ("a", 1): 5, ("b", 0): 10}),
        (to(5, "a", 1), {("a", 0): 10, ("a", 1): 5, ("b", 0): 10}),
        (to(5, "c", 7), {("a", 0): 10, ("a", 1): 10, ("b", 0): 10, ("c", 7): 5}),
        (listed(("a", 0, 1), ("z", 2, 3)), {("a", 0): 1, ("a", 1): 10, ("b", 0): 10, ("z", 2): 3}),
    ],
)
def test_a_reset_sets_what_it_names(
    committed: MemoryTxn,
    asked: OffsetReset,
    left: Stored,
    at_a_time: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorate.apply.txn.AT_A_TIME", at_a_time)
    before = stored(committed)

    reply = reset(committed, asked)

    assert not reply.refusals
    assert stored(committed) == left
    moved = {key for key, offset in left.items() if before.get(key) != offset}
    assert changed(reply) == [len(moved)]
    mark = read_mark(committed, BILLING)
    assert (mark.revision, mark.committed_at_ms) == (committed.revision, 2_000)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (to(5, "nothing"), "NOT_FOUND"),
        (to(-1), "INVALID_ARGUMENT"),
        (to(1, "", 3), "INVALID_ARGUMENT"),
        (to(1, "t" * 256), "INVALID_ARGUMENT"),
        (listed(), "INVALID_ARGUMENT"),
        (listed(("a", 0, 1), ("a", 0, 2)), "INVALID_ARGUMENT"),
        (listed(("a", 0, -1)), "INVALID_ARGUMENT"),
        (listed(("", 0, 1)), "INVALID_ARGUMENT"),
        (to(1, generation=3), "FENCED"),
        (to(1, generation=2), "FENCED"),
        (OffsetReset(tenant="acme", group="billing"), "INVALID_ARGUMENT"),
        (OffsetReset(tenant="acme", to_offset=ResetToOffset()), "INVALID_ARGUMENT"),
        (OffsetReset(tenant="strange", group="g", to_offset=ResetToOffset()), "NOT_FOUND"),
        (OffsetReset(tenant="leaving", group="g"), "FAILED_PRECONDITION"),
    ],
)
def test_a_bad_reset_keeps_no_other_back(
    committed: MemoryTxn, asked: OffsetReset, code: str
) -> None:
    before = stored(committed)
    assert codes(reset(committed, asked)) == [(0, code)]
    assert stored(committed) == before
    assert read_mark(committed, BILLING).revision < committed.revision

    reply = reset(committed, asked, to(4, "b"))

    assert codes(reply) == [(0, code)]
    assert changed(reply) == [0, 1]


def test_a_reset_with_a_generation_fences_those_who_still_run(committed: MemoryTxn) -> None:
    assert not reset(committed, to(0, generation=4)).refusals

    item = GroupCommit(
        tenant="acme", group="billing", commits=[OffsetCommit(topic="a")], generation=3
    )
    reply = commit_offsets(committed, CommitOffsetsRequest(groups=[item]))
    assert [each.code for each in reply.refusals] == ["FENCED"]


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        (gone("a", 1), [("a", 0), ("b", 0)]),
        (gone("a"), [("b", 0)]),
        (gone(), []),
        (gone("a", 9), [("a", 0), ("a", 1), ("b", 0)]),
        (gone(group="nobody"), [("a", 0), ("a", 1), ("b", 0)]),
    ],
)
def test_a_deletion_deletes_what_it_names_and_no_neighbour(
    committed: MemoryTxn, asked: OffsetDeletion, left: list[tuple[str, int]]
) -> None:
    total = len(committed.rows(OFFSETS))

    reply = delete(committed, asked)

    assert list(stored(committed)) == left
    assert changed(reply) == [3 - len(left)]
    assert len(committed.rows(OFFSETS)) == total - 3 + len(left)
    moved = read_mark(committed, BILLING).revision == committed.revision
    assert moved == (len(left) < 3)
    assert read_mark(committed, BILLING).deleted == (not left)


def test_the_last_offset_takes_the_time_of_the_newest_commit_along(committed: MemoryTxn) -> None:
    delete(committed, gone("a"))
    assert read_mark(committed, BILLING).committed_at_ms == 1_000

    delete(committed, gone("b", 0))

    mark = read_mark(committed, BILLING)
    assert (mark.committed_at_ms, mark.deleted, mark.generation) == (0, False, 3)


def test_a_deleted_group_stays_fenced_until_it_is_there_again(committed: MemoryTxn) -> None:
    delete(committed, gone())
    later = committed.then(3_000)
    assert changed(delete(later, gone())) == [0]
    assert read_mark(later, BILLING).revision == committed.revision

    item = GroupCommit(
        tenant="acme", group="billing", commits=[OffsetCommit(topic="a")], generation=2
    )
    stale = commit_offsets(later, CommitOffsetsRequest(groups=[item]))
    item.generation = 3
    fresh = commit_offsets(later, CommitOffsetsRequest(groups=[item]))

    assert codes(stale) == [(0, "FENCED")]
    assert not fresh.refusals
    assert not read_mark(later, BILLING).deleted


@pytest.mark.parametrize(
    "bad",
    [gone("", 1), gone("t" * 256), gone(group=""), OffsetDeletion(group="billing")],
)
def test_a_bad_deletion_keeps_no_other_back(committed: MemoryTxn, bad: OffsetDeletion) -> None:
    reply = delete(committed, bad, gone("b"))

    assert codes(reply) == [(0, "INVALID_ARGUMENT")]
    assert changed(reply) == [0, 1]


def test_what_a_leaving_tenant_has_can_be_deleted(committed: MemoryTxn) -> None:
    deletion = OffsetDeletion(tenant="leaving", group="g")

    assert not delete(committed, deletion).refusals


@pytest.mark.parametrize(
    ("fence", "code"),
    [
        (GroupFence(tenant="acme", group="billing"), "INVALID_ARGUMENT"),
        (GroupFence(tenant="acme", generation=1), "INVALID_ARGUMENT"),
        (GroupFence(tenant="strange", group="g", generation=1), "NOT_FOUND"),
        (GroupFence(tenant="leaving", group="g", generation=1), "FAILED_PRECONDITION"),
        (GroupFence(tenant="acme", group="billing", generation=2), "FENCED"),
    ],
)
def test_a_bad_fence_keeps_no_other_back(
    committed: MemoryTxn, fence: GroupFence, code: str
) -> None:
    good = GroupFence(tenant="acme", group="audit", generation=1)

    reply = fence_groups(committed, FenceGroupsRequest(fences=[fence, good]))

    assert codes(reply) == [(0, code)]
    assert read_mark(committed, group_key("acme", "audit")).generation == 1


def test_the_same_fence_changes_nothing(committed: MemoryTxn) -> None:
    fence = GroupFence(tenant="acme", group="billing", generation=3)

    fence_groups(committed, FenceGroupsRequest(fences=[fence]))

    assert read_mark(committed, BILLING).revision < committed.revision

"""What the handler of commits does to one shard."""

import pytest
from quorate.testing import MemoryTxn
from quorate_offset.families import CHANGES, MARKS, OFFSETS, change_key, group_key
from quorate_offset.marks import read_mark
from quorate_offset.names import LONGEST_NAME
from quorate_offset.offsets.apply import commit_offsets, fence_groups
from quorate_offset.offsets.validation import LONGEST_METADATA
from quorate_offset.v1.commands_pb2 import (
    COMMIT_MODE_MONOTONIC,
    CommitMode,
    GroupCommit,
    GroupCommitReply,
    GroupFence,
    OffsetCommit,
)
from quorate_offset.v1.rows_pb2 import Mark, Offset
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest, FenceGroupsRequest

BILLING = group_key("acme", "billing")
Refusals = list[tuple[int, int | None, str]]


def of(partition: int, offset: int, expected: int | None = None, topic: str = "a") -> OffsetCommit:
    return OffsetCommit(topic=topic, partition=partition, offset=offset, expected_offset=expected)


def group(
    *commits: OffsetCommit,
    name: str = "billing",
    tenant: str = "acme",
    generation: int | None = None,
    mode: CommitMode = CommitMode.COMMIT_MODE_UNSPECIFIED,
) -> GroupCommit:
    return GroupCommit(tenant=tenant, group=name, commits=commits, generation=generation, mode=mode)


def commit(txn: MemoryTxn, *groups: GroupCommit) -> Refusals:
    """Commit, and return what was refused: the group, the commit or None for all, the code."""
    reply = commit_offsets(txn, CommitOffsetsRequest(groups=groups))
    assert reply.items == len(groups)
    assert len(reply.replies) in (0, len(groups))
    found: Refusals = [(each.item, None, each.code) for each in reply.refusals]
    for item, encoded in enumerate(reply.replies):
        refusals = GroupCommitReply.FromString(encoded).refusals
        found += [(item, each.commit, each.code) for each in refusals]
    return found


def offsets(txn: MemoryTxn) -> dict[bytes, int]:
    return {
        key.removeprefix(BILLING): Offset.FromString(row).offset
        for key, row in txn.rows(OFFSETS).items()
    }


def values(txn: MemoryTxn) -> list[int]:
    return list(offsets(txn).values())


def test_commits_of_many_groups_are_stored_with_their_time(shard: MemoryTxn) -> None:
    assert not commit(shard, group(of(0, 5), of(1, 0)), group(of(0, 9, topic="b"), name="audit"))

    rows = [Offset.FromString(row) for row in shard.rows(OFFSETS).values()]
    assert [(row.offset, row.committed_at_ms) for row in rows] == [
        (9, 1_000),
        (5, 1_000),
        (0, 1_000),
    ]


def test_an_unconditional_commit_may_go_back(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 5)))
    assert not commit(shard.then(2_000), group(of(0, 3)))
    assert not commit(shard, group(of(0, 3), mode=CommitMode.COMMIT_MODE_UNCONDITIONAL))


def test_a_monotonic_commit_never_goes_back(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 5), of(1, 5), of(2, 5)))
    later = shard.then(2_000)

    found = commit(later, group(of(0, 4), of(1, 5), of(2, 6), of(3, 0), mode=COMMIT_MODE_MONOTONIC))

    assert found == [(0, 0, "BEHIND")]
    assert values(later) == [5, 5, 6, 0]


@pytest.mark.parametrize(
    ("stands", "expected", "allowed"),
    [
        (None, 0, True),
        (None, -1, True),
        (None, 1, False),
        (0, 0, True),
        (0, -1, False),
        (5, 5, True),
        (5, 0, False),
        (5, 4, False),
        (5, -1, False),
    ],
)
def test_a_commit_with_an_expectation_is_a_compare_and_set(
    shard: MemoryTxn, stands: int | None, expected: int, allowed: bool
) -> None:
    if stands is not None:
        commit(shard, group(of(0, stands)))
    later = shard.then(2_000)

    found = commit(later, group(of(0, 77, expected), of(1, 1)))

    assert found == ([] if allowed else [(0, 0, "OFFSET_MISMATCH")])
    left = [77] if allowed else [] if stands is None else [stands]
    assert values(later) == [*left, 1]


def test_a_monotonic_compare_and_set_must_pass_both(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 5)))

    found = commit(shard.then(2_000), group(of(0, 4, 5), mode=COMMIT_MODE_MONOTONIC))

    assert found == [(0, 0, "BEHIND")]


def test_a_stale_generation_is_fenced_with_its_whole_group(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 5), generation=4))
    later = shard.then(2_000)

    found = commit(
        later,
        group(of(0, 6), generation=3),
        group(of(1, 1), name="audit", generation=1),
        group(of(1, 8)),
        group(of(2, 8), generation=4),
    )

    assert found == [(0, None, "FENCED")]
    assert values(later) == [1, 5, 8, 8]


def test_a_larger_generation_raises_the_group_even_when_no_offset_is_taken(
    shard: MemoryTxn,
) -> None:
    assert commit(shard, group(of(0, -1), generation=9)) == [(0, 0, "INVALID_ARGUMENT")]

    assert read_mark(shard, BILLING).generation == 9
    assert commit(shard, group(of(0, 1), generation=8)) == [(0, None, "FENCED")]


def test_a_generation_of_a_batch_fences_what_follows_in_it(shard: MemoryTxn) -> None:
    refused = commit(
        shard,
        group(of(0, 1), generation=5),
        group(of(1, 1), generation=4),
        group(of(2, 1), generation=5),
        group(of(3, 1), generation=6),
    )

    assert refused == [(1, None, "FENCED")]
    assert list(offsets(shard).values()) == [1, 1, 1]
    assert read_mark(shard, BILLING).generation == 6


def test_the_mark_of_a_commit_is_the_message_as_protobuf_writes_it(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 1), generation=5), group(of(0, 1), name="audit"))
    later = shard.then(shard.now_ms + 9)
    commit(later, group(of(0, 2)), group(of(0, 2), name="audit"))

    for name, generation in (("billing", 5), ("audit", 0)):
        key = group_key("acme", name)
        mark = Mark(
            generation=generation,
            revision=later.revision,
            committed_at_ms=later.now_ms,
            changed_at_ms=later.now_ms,
        )
        assert later.rows(MARKS)[key] == mark.SerializeToString(deterministic=True)
    assert list(later.rows(CHANGES)) == [
        change_key(later.revision, group_key("acme", name)) for name in ("audit", "billing")
    ]


def test_a_fence_keeps_older_generations_out(shard: MemoryTxn) -> None:
    fence = GroupFence(tenant="acme", group="billing", generation=5)
    reply = fence_groups(shard, FenceGroupsRequest(fences=[fence, fence]))
    assert not reply.refusals

    assert commit(shard, group(of(0, 1), generation=4)) == [(0, None, "FENCED")]
    assert not commit(shard, group(of(0, 1), generation=5))
    fence.generation = 4
    stale = fence_groups(shard, FenceGroupsRequest(fences=[fence]))
    assert [each.code for each in stale.refusals] == ["FENCED"]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (group(of(0, 1), tenant="strange"), "NOT_FOUND"),
        (group(of(0, 1), tenant="leaving"), "FAILED_PRECONDITION"),
        (group(of(0, 1), tenant=""), "INVALID_ARGUMENT"),
        (group(of(0, 1), name=""), "INVALID_ARGUMENT"),
        (group(of(0, 1), name="g" * (LONGEST_NAME + 1)), "INVALID_ARGUMENT"),
        (group(of(0, 1), mode=9), "INVALID_ARGUMENT"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_group_keeps_no_other_back(shard: MemoryTxn, bad: GroupCommit, code: str) -> None:
    assert commit(shard, bad, group(of(0, 7))) == [(0, None, code)]
    assert values(shard) == [7]
    assert list(shard.rows(MARKS)) == [BILLING]


@pytest.mark.parametrize(
    "bad",
    [
        of(0, -1),
        of(0, 1, -2),
        of(0, 1, topic=""),
        of(0, 1, topic="t" * (LONGEST_NAME + 1)),
        OffsetCommit(topic="a", offset=1, metadata="m" * (LONGEST_METADATA + 1)),
    ],
)
def test_a_bad_offset_keeps_no_other_back(shard: MemoryTxn, bad: OffsetCommit) -> None:
    assert commit(shard, group(of(5, 5), bad, of(6, 6))) == [(0, 1, "INVALID_ARGUMENT")]
    assert values(shard) == [5, 6]


def test_what_is_twice_in_a_batch_is_taken_once(shard: MemoryTxn) -> None:
    found = commit(
        shard,
        group(of(0, 1), of(0, 2), of(1, 3)),
        group(of(1, 4), of(2, 5)),
        group(of(0, 6), name="audit"),
    )

    assert found == [(0, 1, "INVALID_ARGUMENT"), (1, 0, "INVALID_ARGUMENT")]
    assert values(shard) == [6, 1, 3, 5]


def test_refusals_are_in_the_order_of_the_commits(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 5), of(2, 5)))

    found = commit(
        shard.then(2_000),
        group(of(0, 1), of(1, -1), of(2, 1), of(2, 9), mode=COMMIT_MODE_MONOTONIC),
    )

    assert found == [
        (0, 0, "BEHIND"),
        (0, 1, "INVALID_ARGUMENT"),
        (0, 2, "BEHIND"),
        (0, 3, "INVALID_ARGUMENT"),
    ]


def test_a_group_without_commits_is_no_group(shard: MemoryTxn) -> None:
    assert not commit(shard, group())
    assert not shard.rows(MARKS)


def test_the_index_has_one_row_a_group_under_its_newest_revision(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 1)), group(of(0, 1), name="audit"), group(of(1, 1)))
    later = shard.then(2_000)
    commit(later, group(of(0, 2)))

    assert list(later.rows(CHANGES)) == [
        change_key(shard.revision, group_key("acme", "audit")),
        change_key(later.revision, BILLING),
    ]
    mark = read_mark(later, BILLING)
    assert (mark.revision, mark.committed_at_ms) == (later.revision, 2_000)
    assert mark.changed_at_ms == 2_000


def test_a_batch_that_changes_nothing_leaves_the_version(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 5), generation=2))
    before = shard.rows(MARKS), shard.rows(CHANGES)
    later = shard.then(2_000)

    commit(later, group(of(0, 4), mode=COMMIT_MODE_MONOTONIC, generation=2))

    assert (later.rows(MARKS), later.rows(CHANGES)) == before


def test_every_commit_is_an_event_of_its_row(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 5), of(1, 6)))

    assert [event.family for event in shard.events] == [OFFSETS, OFFSETS]  # type: ignore[union-attr]


def test_a_message_says_what_stands(shard: MemoryTxn) -> None:
    commit(shard, group(of(0, 5), generation=2))
    command = CommitOffsetsRequest(groups=[group(of(0, 1, 4), of(1, 1, 2), generation=2)])
    [encoded] = commit_offsets(shard.then(2_000), command).replies

    assert [each.message for each in GroupCommitReply.FromString(encoded).refusals] == [
        "offset 5 is committed, and 4 is expected: fetch it again",
        "no offset is committed, and 2 is expected: fetch it again",
    ]
    stale = CommitOffsetsRequest(groups=[group(of(0, 1), generation=1)])
    [refusal] = commit_offsets(shard.then(2_000), stale).refusals
    assert refusal.message == (
        "generation 1 is stale (the group's is 2): the consumer must join its group again"
    )

"""Commits of many groups are cut into commands, and answered by the positions of the request."""

from quorate.v1.batch_pb2 import BatchReply, ItemRefusal, ShardRevision
from quorate_offset.client.commits import answer, commands, cut
from quorate_offset.offsets.validation import MOST_OFFSETS
from quorate_offset.v1.commands_pb2 import (
    COMMIT_MODE_MONOTONIC,
    CommitRefusal,
    GroupCommit,
    GroupCommitReply,
    OffsetCommit,
)
from quorate_offset.v1.service_pb2 import OffsetRefusal


def group(name: str, count: int, *, metadata: str = "") -> GroupCommit:
    return GroupCommit(
        tenant="t",
        group=name,
        mode=COMMIT_MODE_MONOTONIC,
        generation=7,
        commits=[
            OffsetCommit(topic="a", partition=each, offset=each, metadata=metadata)
            for each in range(count)
        ],
    )


def refused(*commits: int) -> bytes:
    return GroupCommitReply(
        refusals=[CommitRefusal(commit=commit, code="BEHIND", message="x") for commit in commits]
    ).SerializeToString()


def test_small_groups_share_a_command() -> None:
    groups = [group("a", 3), group("b", 4)]
    [command] = commands(cut(groups))
    assert list(command.groups) == groups


def test_no_command_holds_too_many_offsets() -> None:
    made = commands(cut(group(str(each), 1_000) for each in range(25)))
    assert [len(command.groups) for command in made] == [10, 10, 5]
    assert [each.group for command in made for each in command.groups] == list(map(str, range(25)))


def test_no_command_holds_too_many_bytes() -> None:
    made = commands(cut([group("a", 500, metadata="x" * 1_000) for _ in range(3)]))
    assert [len(command.groups) for command in made] == [2, 1]
    assert all(command.ByteSize() <= 1 << 20 for command in made)


def test_a_group_that_is_too_large_is_cut_and_keeps_its_generation_and_mode() -> None:
    whole = group("a", 2 * MOST_OFFSETS + 1)
    made = commands(cut([whole]))
    parts = [part for command in made for part in command.groups]
    assert [len(part.commits) for part in parts] == [MOST_OFFSETS, MOST_OFFSETS, 1]
    assert [commit for part in parts for commit in part.commits] == list(whole.commits)
    assert {(part.tenant, part.group, part.mode, part.generation) for part in parts} == {
        ("t", "a", COMMIT_MODE_MONOTONIC, 7)
    }


def test_a_large_group_without_a_generation_gets_none() -> None:
    whole = group("a", MOST_OFFSETS + 1)
    whole.ClearField("generation")
    assert not any(piece.commit.HasField("generation") for piece in cut([whole]))


def test_refusals_are_named_by_group_and_commit() -> None:
    pieces = cut([group("a", 2), group("b", 2), group("c", 2)])
    reply = BatchReply(
        items=3,
        refusals=[ItemRefusal(item=1, code="FENCED", message="y")],
        replies=[refused(1), b"", b""],
        revisions=[ShardRevision(shard=2, revision=9)],
    )
    response = answer(pieces, reply)
    assert list(response.refusals) == [
        OffsetRefusal(group=0, commit=1, code="BEHIND", message="x"),
        OffsetRefusal(group=1, code="FENCED", message="y"),
    ]
    assert not response.refusals[1].HasField("commit")
    assert list(response.revisions) == [ShardRevision(shard=2, revision=9)]


def test_refusals_of_a_group_that_was_cut_are_named_by_its_own_positions() -> None:
    pieces = cut([group("a", MOST_OFFSETS + 3)])
    told = answer(pieces, BatchReply(items=2, replies=[refused(5), refused(2)]))
    assert [each.commit for each in told.refusals] == [5, MOST_OFFSETS + 2]

    lost = answer(pieces, BatchReply(items=2, refusals=[ItemRefusal(item=1, code="UNAVAILABLE")]))
    assert [(each.group, each.commit) for each in lost.refusals] == [
        (0, MOST_OFFSETS + each) for each in range(3)
    ]

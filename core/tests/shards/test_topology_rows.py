import pytest
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.shards.topology_rows import (
    check_goes_on,
    is_changing,
    is_forming,
    is_placed,
    parents_of,
    replicas_of,
    replicas_wanted,
)
from quorate.v1 import control_pb2 as pb

ONE, TWO = pb.ShardMember(node="a", replica=1), pb.ShardMember(node="b", replica=2)


@pytest.mark.parametrize(
    ("row", "parents", "forming", "changing"),
    [
        (pb.ShardRow(), (), False, False),
        (pb.ShardRow(split=pb.ShardSplit(number=1)), (), False, True),
        (pb.ShardRow(merge=pb.ShardMerge(number=1)), (), False, True),
        (pb.ShardRow(parent=pb.ShardParent(number=3)), (3,), True, True),
        (pb.ShardRow(parent=pb.ShardParent(number=3, index=7)), (3,), False, False),
        (pb.ShardRow(union=pb.ShardUnion(base=1, other=2)), (1, 2), True, True),
        (pb.ShardRow(union=pb.ShardUnion(base=1, other=2, base_index=7)), (1, 2), False, True),
        (
            pb.ShardRow(union=pb.ShardUnion(base=1, other=2, base_index=7, settled=True)),
            (1, 2),
            False,
            False,
        ),
    ],
    ids=["alone", "split", "merged", "part", "cut", "union", "frozen", "settled"],
)
def test_a_row_says_what_becomes_of_its_shard(
    row: pb.ShardRow, parents: tuple[int, ...], forming: bool, changing: bool
) -> None:
    row.group = "g"
    assert parents_of(row) == tuple(ShardId("g", number) for number in parents)
    assert is_forming(row) == forming
    assert is_changing(row) == changing


def test_the_first_members_are_replicas_until_others_are_named() -> None:
    assert replicas_of(pb.ShardRow(members=[ONE])) == [ONE]
    assert replicas_of(pb.ShardRow(members=[ONE], replicas=[ONE, TWO])) == [ONE, TWO]


def test_a_number_of_replicas_counts_as_far_as_all_nodes_declare_it() -> None:
    def declares(**groups: int) -> pb.NodeDeclaration:
        named = [pb.DeclaredGroup(name=name, replicas=each) for name, each in groups.items()]
        return pb.NodeDeclaration(groups=named)

    wanted = replicas_wanted([declares(metadata=3, a=3, b=3), declares(a=3, b=5, c=0)])
    assert wanted == {"metadata": 3, "a": 3}
    assert is_placed(pb.ShardRow(group="a"), wanted)
    assert not is_placed(pb.ShardRow(group="b"), wanted)
    # The first shard has a replica on every node.
    assert not is_placed(pb.ShardRow(group="metadata"), wanted)
    assert is_placed(pb.ShardRow(group="metadata", number=1), wanted)


@pytest.mark.parametrize(("change", "number"), [(pb.MEMBER_CHANGE_ADD, 6), (0, 7)])
def test_a_change_is_over_when_another_took_its_place(change: int, number: int) -> None:
    row = pb.MemberRow(node="a", number=number)
    row.change = change  # type: ignore[assignment]
    with pytest.raises(Rejected, match="this change of a has ended"):
        check_goes_on(row, "a", 7)
    check_goes_on(pb.MemberRow(node="a", number=7, change=pb.MEMBER_CHANGE_REMOVE), "a", 7)

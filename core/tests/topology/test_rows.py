import pytest
from quorate.plugin import Rejected
from quorate.topology.rows import check_at_rest
from quorate.v1 import control_pb2 as pb


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (None, "NOT_FOUND"),
        (pb.ShardRow(merged_into=3), "NOT_FOUND"),
        (pb.ShardRow(move=pb.ReplicaMove(number=1)), "MOVE_UNDER_WAY"),
        (pb.ShardRow(split=pb.ShardSplit(number=1)), "ASKED"),
        (pb.ShardRow(union=pb.ShardUnion(base=1, other=2)), "ASKED"),
    ],
    ids=["none", "merged", "moving", "split", "forming"],
)
def test_a_shard_that_changes_is_left_alone(row: pb.ShardRow | None, code: str) -> None:
    with pytest.raises(Rejected, match="g/1") as refused:
        check_at_rest(row, "g/1", "ASKED")
    assert refused.value.code == code


def test_a_shard_at_rest_may_change() -> None:
    row = pb.ShardRow(group="g", number=1, parent=pb.ShardParent(number=0, index=9))
    assert check_at_rest(row, "g/1", "ASKED") is row

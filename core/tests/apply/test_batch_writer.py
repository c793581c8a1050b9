import pytest
from quorate.apply.batch_writer import compare
from quorate.apply.outcomes import RowsDifferError
from quorate.plugin.shard_id import ShardId

SHARD = ShardId("tested", 3)


@pytest.mark.parametrize(
    ("index", "own", "checksum"), [(7, 1, 1), (7, None, 1), (0, 1, 2)], ids=["same", "old", "none"]
)
def test_a_checksum_that_is_not_known_differs_from_none(
    index: int, own: int | None, checksum: int
) -> None:
    compare(SHARD, index, own, checksum)


def test_rows_differ_at_the_index_of_the_checksum() -> None:
    with pytest.raises(RowsDifferError, match="index 7 the checksum is 00000001 here") as differs:
        compare(SHARD, 7, 1, 2)
    assert differs.value.index == 7

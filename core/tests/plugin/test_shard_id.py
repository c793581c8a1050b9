from __future__ import annotations

import pytest
from quorate.plugin.shard_id import ShardId


@pytest.mark.parametrize(
    ("text", "shard"),
    [("metadata/0", ShardId("metadata", 0)), ("my-group_2/1023", ShardId("my-group_2", 1023))],
)
def test_a_name_is_read_as_it_is_written(text: str, shard: ShardId) -> None:
    assert ShardId.parse(text) == shard
    assert str(shard) == text


@pytest.mark.parametrize(
    "text", ["", "metadata", "metadata/", "/0", "a/-1", "a/01", "A/1", "a/1/2", "a/1\n", "a/²"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write <group>/<number>"):
        ShardId.parse(text)


def test_shards_are_in_the_order_of_their_numbers() -> None:
    assert sorted([ShardId("b", 2), ShardId("b", 10), ShardId("a", 11)]) == [
        ShardId("a", 11),
        ShardId("b", 2),
        ShardId("b", 10),
    ]

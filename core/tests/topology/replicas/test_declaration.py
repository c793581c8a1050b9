"""The declaration of a node against the rows and the levels of its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest
from quorate.apply.levels import CORE, rows_of
from quorate.plugin.shard_id import ShardId
from quorate.topology.replicas.declaration import (
    GroupsDifferError,
    ReleaseTooOldError,
    are_known,
    check_configured,
    check_levels,
)
from quorate.v1.control_pb2 import NodeDeclaration, ShardParent, ShardRow

OURS: Final = NodeDeclaration(node="a", version="2", levels=rows_of({CORE: 2, "toy": 1, "late": 3}))


@pytest.mark.parametrize(
    ("stored", "known"),
    [
        ({CORE: 2, "toy": 1, "late": 3}, True),
        ({CORE: 1, "toy": 1, "late": 3}, False),
        # It was stored before the node got a plugin.
        ({CORE: 2, "toy": 1}, True),
        # It was stored by a release without levels.
        ({}, False),
    ],
)
def test_a_cluster_knows_the_levels_of_a_node(stored: Mapping[str, int], known: bool) -> None:
    assert are_known(OURS, NodeDeclaration(node="a", levels=rows_of(stored))) is known


def test_a_release_supports_the_levels_in_force() -> None:
    check_levels(OURS, {CORE: 2})
    with pytest.raises(ReleaseTooOldError, match="quorate 2 is too old for the cluster of a"):
        check_levels(OURS, {CORE: 3})


def test_the_shards_that_a_group_was_founded_with_are_counted() -> None:
    rows = {ShardId("toy", number): ShardRow(group="toy", number=number) for number in range(2)}
    rows[ShardId("toy", 2)] = ShardRow(group="toy", number=2, parent=ShardParent(number=1))

    check_configured({"toy": 2, "other": 5}, rows)
    with pytest.raises(GroupsDifferError, match=r"shards is 3, .* has 2 shards of group toy"):
        check_configured({"toy": 3}, rows)

"""What the leader of a merge reads before it freezes a shard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from google.protobuf.message import Message
from quorate.groups.merges import Merges
from quorate.groups.refusals import NotProposedError
from quorate.groups.shard.shard import Shard
from quorate.plugin import keys
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.storage.rows import REVISION
from quorate.v1.control_pb2 import ShardMerge, ShardRow

OTHER = ShardId("toy", 2)
MERGE = 9


class Metadata:
    """The replica of metadata/0 here, which learns the newest at a barrier."""

    def __init__(self, newest: ShardRow | None) -> None:
        self.data = self
        self._newest, self._known = newest, ShardRow()

    async def read_barrier(self, _: float) -> int:
        self._known = self._newest or self._known
        return 1

    def get(self, family: str, key: bytes) -> bytes | None:
        assert (family, key) == ("core.shards", keys.pack(OTHER.group, OTHER.number))
        if not self._known.group:
            return None
        return REVISION.pack(1 << 20) + self._known.SerializeToString()


async def version_of(newest: ShardRow | None) -> int:
    """Return the version with which the other shard is frozen, as the newest row has it."""

    async def submit(shard: ShardId, message: Message) -> None:
        raise AssertionError(f"{message} is not for {shard}")

    found = {METADATA: cast("Shard", Metadata(newest))}
    get: Callable[[ShardId], Shard | None] = found.get
    merges = Merges(get, dict, submit, asyncio.get_running_loop())
    return await merges._version(OTHER, MERGE)


def row(version: int, merge: int | None = None) -> ShardRow:
    found = ShardRow(group=OTHER.group, number=OTHER.number, version=version)
    if merge is not None:
        found.merge.CopyFrom(ShardMerge(number=merge, base=1, other=2, into=3))
    return found


async def test_a_shard_is_frozen_with_the_version_after_that_of_the_newest_row() -> None:
    """One that takes the merge back has the version after that."""
    assert await version_of(row(4, MERGE)) == 5


@pytest.mark.parametrize("newest", [None, row(6), row(6, MERGE + 1)], ids=["no", "none", "other"])
async def test_nothing_is_frozen_for_a_merge_that_was_taken_back(newest: ShardRow | None) -> None:
    with pytest.raises(NotProposedError, match="has ended"):
        await version_of(newest)

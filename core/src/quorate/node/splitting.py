"""What operators have done with the number of shards."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from quorate.apply.control import METADATA
from quorate.apply.splits import check_splittable, parts_of
from quorate.groups.groups import Groups
from quorate.groups.node_shards import NodeShards
from quorate.groups.refusals import UnreadableError
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slots_in
from quorate.v1 import admin_pb2 as pb
from quorate.v1.control_pb2 import AbandonSplit, BeginSplit, BeginSplitReply, FinishSplit, ShardRow

_RECORD_S: Final = 15.0
_CATCH_UP_S: Final = 2.0


@dataclass(eq=False)
class Splitting:
    """Has metadata/0 record what the leaders of shards carry out."""

    _shards: NodeShards
    _groups: Groups

    async def split(
        self, shard: ShardId, into: int, *, check_only: bool = False, most_shards: int = 0
    ) -> pb.SplitShardResponse:
        """Begin to split a shard; raises `Rejected` if it cannot be.

        One that nobody ordered names the most shards that its group may have.
        """
        row, into = await self._row(shard), into or 2
        check_splittable(row, str(shard), into)
        assert row is not None
        kept, *given = parts_of(row.slots, into)
        rows = [each for each in self._shards.rows().values() if each.group == shard.group]
        numbers, drawn = [each.number for each in rows], [each.drawn for each in rows]
        first = max(*numbers, *drawn) + 1
        made = list(range(first, first + len(given)))
        if not check_only:
            command = BeginSplit(
                group=shard.group, number=shard.number, slots=given, most_shards=most_shards
            )
            answer = await self._groups.propose_control(METADATA, command, timeout_s=_RECORD_S)
            made = list(BeginSplitReply.FromString(answer.reply).numbers)
        return pb.SplitShardResponse(
            parts=[
                pb.SplitPart(shard=f"{shard.group}/{number}", slots=len(slots_in(bitmap)))
                for number, bitmap in zip((shard.number, *made), (kept, *given), strict=True)
            ]
        )

    async def cancel(self, shard: ShardId) -> None:
        """Take a split back; raises `Rejected` once the shard was cut."""
        row = await self._row(shard)
        if row is None or not row.HasField("split"):
            raise Rejected("FAILED_PRECONDITION", f"shard {shard} is not being split")
        split = row.split.number
        await self._groups.propose_control(shard, AbandonSplit(split=split), timeout_s=_RECORD_S)
        finish = FinishSplit(group=shard.group, number=shard.number, split=split)
        with suppress(Rejected):
            # The leader of the shard may have been faster.
            await self._groups.propose_control(METADATA, finish, timeout_s=_RECORD_S)

    async def _row(self, shard: ShardId) -> ShardRow | None:
        metadata = self._shards.get(METADATA)
        if metadata is not None:
            with suppress(UnreadableError):
                await metadata.read_barrier(_CATCH_UP_S)
                # What follows the rows has its own turn.
                await asyncio.sleep(0)
        return self._shards.rows().get(shard)

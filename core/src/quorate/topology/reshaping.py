"""Begins splits and merges of shards for operators, and cancels them."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from quorate.apply.freezes import NOT_YET
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import slots_in
from quorate.shards.refusals import NotProposedError, UnreadableError
from quorate.shards.router import Router
from quorate.shards.routing.forwarding import LocalShards
from quorate.shards.shard.shard import Shard
from quorate.topology.changes.merge import check_alike, rows_in
from quorate.topology.commands.merges import check_mergeable, check_pair, common_ancestor
from quorate.topology.commands.splits import check_splittable, parts_of
from quorate.topology.rows import next_number
from quorate.v1 import admin_pb2 as pb
from quorate.v1.control_pb2 import (
    AbandonSplit,
    BeginMerge,
    BeginMergeReply,
    BeginSplit,
    BeginSplitReply,
    CancelMerge,
    FinishSplit,
    ShardRow,
)

_RECORD_S: Final = 15.0
_CATCH_UP_S: Final = 2.0


class Shards(LocalShards, Protocol):
    """The replicas on this node, and the rows of all shards."""

    def rows(self) -> Mapping[ShardId, ShardRow]:
        """Return the rows of `core.shards` on this node."""


@dataclass(eq=False)
class Reshaping:
    """Proposes splits and merges to metadata/0, for the leaders of shards to carry out."""

    _shards: Shards
    _router: Router

    async def split(
        self, shard: ShardId, into: int, *, check_only: bool = False, most_shards: int = 0
    ) -> pb.SplitShardResponse:
        """Begin to split a shard; raises `Rejected` if it cannot be split.

        An automatic split sets `most_shards`, the limit of shards of the group.
        """
        into = into or 2
        row = check_splittable(await self._row(shard), str(shard), into)
        kept, *given = parts_of(row.slots, into)
        first = next_number(self._known(shard.group).values())
        made = list(range(first, first + len(given)))
        if not check_only:
            command = BeginSplit(
                group=shard.group, number=shard.number, slots=given, most_shards=most_shards
            )
            answer = await self._router.propose_control(METADATA, command, timeout_s=_RECORD_S)
            made = list(BeginSplitReply.FromString(answer.reply).numbers)
        return pb.SplitShardResponse(
            parts=[
                pb.SplitPart(shard=f"{shard.group}/{number}", slots=len(slots_in(bitmap)))
                for number, bitmap in zip((shard.number, *made), (kept, *given), strict=True)
            ]
        )

    async def cancel(self, shard: ShardId) -> None:
        """Cancel a split; raises `Rejected` once the shard has been cut."""
        row = await self._row(shard)
        if row is None or not row.HasField("split"):
            raise Rejected("FAILED_PRECONDITION", f"shard {shard} is not being split")
        split = row.split.number
        await self._router.propose_control(shard, AbandonSplit(split=split), timeout_s=_RECORD_S)
        finish = FinishSplit(group=shard.group, number=shard.number, split=split)
        with suppress(Rejected):
            # The leader of the shard may have been faster.
            await self._router.propose_control(METADATA, finish, timeout_s=_RECORD_S)

    async def merge(
        self, one: ShardId, other: ShardId, *, check_only: bool = False
    ) -> pb.MergeShardsResponse:
        """Begin to merge two shards; raises `Rejected` if they cannot be merged.

        The rows of the smaller one are added to the larger one's.
        """
        first = check_mergeable(await self._row(one), str(one))
        second = check_mergeable(await self._row(other), str(other))
        check_pair(first, second)
        here = self._here(one), self._here(other)
        base, added = sorted(here, key=lambda each: rows_in(each.data), reverse=True)
        known = self._known(one.group)
        common = common_ancestor(known, one.number, other.number).last
        try:
            check_alike(base, added, common)
        except Rejected as error:
            # A passing obstacle is waited for.
            if error.code != NOT_YET:
                raise
        number = next_number(known.values())
        if not check_only:
            command = BeginMerge(group=one.group, base=base.id.number, other=added.id.number)
            answer = await self._router.propose_control(METADATA, command, timeout_s=_RECORD_S)
            number = BeginMergeReply.FromString(answer.reply).number
        return pb.MergeShardsResponse(
            shard=f"{one.group}/{number}",
            slots=len(slots_in(first.slots)) + len(slots_in(second.slots)),
        )

    def _known(self, group: str) -> dict[int, ShardRow]:
        rows = self._shards.rows().values()
        return {each.number: each for each in rows if each.group == group}

    def _here(self, shard: ShardId) -> Shard:
        found = self._shards.get(shard)
        if found is None:
            nodes = ", ".join(p.node for p in self._shards.slot_map.members(shard))
            raise NotProposedError(f"shard {shard} is not on this node: ask one of {nodes}")
        return found

    async def cancel_merge(self, shard: ShardId) -> None:
        """Cancel a merge; raises `Rejected` once the new shard owns its slots."""
        row = await self._row(shard)
        if row is None or not row.HasField("merge"):
            raise Rejected("FAILED_PRECONDITION", f"shard {shard} is not being merged")
        command = CancelMerge(
            group=shard.group, number=shard.number, reason="an operator took it back"
        )
        await self._router.propose_control(METADATA, command, timeout_s=_RECORD_S)

    async def _row(self, shard: ShardId) -> ShardRow | None:
        metadata = self._shards.get(METADATA)
        if metadata is not None:
            with suppress(UnreadableError):
                await metadata.read_barrier(_CATCH_UP_S)
                # Subscribers to the rows need a turn of the loop.
                await asyncio.sleep(0)
        return self._shards.rows().get(shard)

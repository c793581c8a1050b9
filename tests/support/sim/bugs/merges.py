"""Bugs in merges of shards: one at the least for each rule of theirs."""

from collections.abc import Container
from typing import Any

from quorate.apply.entries import LoggedCommand
from quorate.apply.entry_builder import EntryBuilder
from quorate.apply.evaluator import Evaluator
from quorate.apply.outcomes import Outcome
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardTxn
from quorate.plugin import keys
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.shards.shard.shard import Shard
from quorate.shards.snapshots import first_state
from quorate.shards.steps import Order, Step, Steps, row_of
from quorate.shards.timing import pause
from quorate.storage.engine.port import Engine
from quorate.storage.families import ANSWERS, DEADLINE_KEYS, DEADLINES, SHARDS
from quorate.topology import rows
from quorate.topology.changes.changes import Changes
from quorate.topology.changes.merge import Merge, Settling
from quorate.topology.commands import merges, unions
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.control_pb2 import FinishMerge, FreezeShard, SettleMerge, ShardRow, UnitedRow

from tests.support.sim.bugs.catalogue import bug
from tests.support.sim.bugs.splits import GAP, PEACE

_add = first_state._add
_has_left = NodeShards.has_left
_look_at = Changes.look_at
_run = EntryBuilder.run
_step = Merge._step
_take = Steps.take


class _Everything(frozenset[str]):
    def issuperset(self, _: Any) -> bool:
        return True


def _has_gone(self: NodeShards, shard: ShardId) -> bool:
    """What was merged has not moved to other nodes."""
    row = self.rows().get(shard)
    return _has_left(self, shard) or (row is not None and bool(row.merged_into))


@bug(EntryBuilder, "run", GAP, PEACE, also=((Evaluator, "of_frozen", _Everything()),))
def frozen_shards_go_on(self: Any, command: LoggedCommand) -> Outcome:
    """Nothing changes in a shard that is frozen."""
    if self.state.frozen and command.slots:
        self.state.frozen = False
        self.state.slots = SlotSet(self.state.slots.version, even_cut(1)[0])
    return _run(self, command)


@bug(first_state, "_add", GAP, PEACE)
def answers_not_added(
    engine: Engine, placed: Container[str], _: Container[str], other: Engine
) -> None:
    """The answers of exactly-once sessions of both come along."""
    _add(engine, placed, {ANSWERS}, other)


@bug(first_state, "_add", GAP, PEACE)
def deadlines_not_added(
    engine: Engine, placed: Container[str], _: Container[str], other: Engine
) -> None:
    """The deadlines of both come along."""
    _add(engine, placed, {DEADLINES, DEADLINE_KEYS}, other)


@bug(unions, "unite", GAP, PEACE)
def counts_not_united(*_: Any) -> list[UnitedRow]:
    """What both count of their rows is added."""
    return []


@bug(Merge, "_step", GAP, PEACE)
async def map_changed_before_the_freeze(self: Merge) -> Step:
    """The map changes once both shards are frozen."""
    shard, row = self.shard, row_of(await self.steps.newest(), self.shard.id)
    if row.HasField("merge") and row.merge.base == row.number and shard.applier.frozen is None:
        early = FinishMerge(
            group=row.group,
            base=row.number,
            merge=row.merge.number,
            base_index=shard.applied,
            other_index=shard.applied,
            term=shard.term,
        )
        return Step((Order(early),), over=True)
    return await _step(self)


@bug(NodeShards, "heir", GAP, PEACE, also=((NodeShards, "has_left", _has_gone),))
def watches_of_merged_shards_not_told(self: NodeShards, shard: ShardId) -> ShardId:
    """A watch of a shard that was merged begins anew."""
    return shard


class _TooEarly(Settling):
    """A merged shard has metadata/0 settle its own merge."""

    async def _step(self) -> Step:
        rows = self.steps.rows()
        new = rows[ShardId(self.shard.id.group, rows[self.shard.id].merged_into)]
        command = SettleMerge(group=new.group, number=new.number, merge=new.union.merge)
        return Step((Order(command),), over=True)


@bug(Changes, "look_at", GAP, PEACE)
def merged_shards_removed_too_early(self: Changes, shard: Shard) -> None:
    """Merged shards stay until a majority has the new one."""
    rows = self._steps.rows()
    row = rows.get(shard.id)
    new = None if row is None else rows.get(ShardId(row.group, row.merged_into))
    if row is not None and row.merged_into and new is not None and not new.union.settled:
        self._steps.carry_out(_TooEarly(self._steps, shard))
    else:
        _look_at(self, shard)


# `cancel` itself is bound to its command when the commands are listed.
@bug(merges, "_take_back", GAP, PEACE)
def taken_back_without_new_versions(
    txn: ShardTxn, both: tuple[ShardRow, ShardRow], new: ShardRow, reason: str
) -> None:
    """Shards go on when their merge is taken back."""
    for row in both:
        row.ClearField("merge")
        row.unmerged = reason
        rows.put_shard(txn, row)
    txn.delete(SHARDS, keys.pack(new.group, new.number))


@bug(Steps, "take", GAP, PEACE)
async def frozen_after_the_merge_was_taken_back(
    self: Steps, step: Step, shard: Shard, term: int
) -> None:
    """What was taken back freezes nothing for good."""
    for act in step.acts:
        if isinstance(act, Order) and isinstance(act.command, FreezeShard):
            # Long enough for somebody to take it back meanwhile.
            await pause(self.loop, 0.2)
            act.command.version = row_of(await self.newest(), act.shard).version + 1
    await _take(self, step, shard, term)

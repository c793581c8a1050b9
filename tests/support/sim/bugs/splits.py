"""Bugs in splits of shards: one at the least for each rule of theirs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from quorate.apply import cuts
from quorate.apply.control import ControlledShard
from quorate.apply.entries import LoggedCommand
from quorate.apply.entry_builder import EntryBuilder
from quorate.apply.outcomes import Refusal
from quorate.plugin.shard_id import ShardId
from quorate.shards.routing import queries
from quorate.shards.shard.applying import ApplyLoop
from quorate.shards.shard.shard import Shard
from quorate.shards.snapshots import first_state
from quorate.shards.steps import Order, Step, row_of
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.families import ANSWERS, DEADLINE_KEYS, DEADLINES
from quorate.topology.changes.split import Split
from quorate.topology.commands import splits
from quorate.topology.replicas import node_shards
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.control_pb2 import FinishSplit

from tests.support.sim.bugs.catalogue import bug
from tests.support.sim.profile import Faults
from tests.support.sim.splits.run import splitting

#: They are looked for in a world of their own.
GAP: Final = "splits"

#: Splits all the time, and not much else goes wrong.
PEACE: Final = replace(
    splitting(1),
    nodes=3,
    shards=1,
    seconds=6.0,
    tail=1_000,
    rests=False,
    lull_s=0.0,
    delay_s=(0.0005, 0.004),
    sync_s=(0.0005, 0.004),
    proposals=80.0,
    reads=20.0,
    sessions=3,
    watchers=2,
    faults=Faults(every_s=1.5, membership=0, empty_disk=0, cluster_power_loss=0, failpoint=0.005),
)
#: Nodes die on the way, and come back with what was durable.
_DEATHS: Final = replace(
    PEACE,
    faults=replace(PEACE.faults, every_s=0.5, crash=5, power_loss=10, failpoint=0.02),
)

_begin_part = first_state.begin_part
_offshoots = NodeShards.offshoots
_step = Split._step


@bug(ApplyLoop, "fork", GAP, PEACE)
def parent_goes_on_before_it_is_copied(self: ApplyLoop) -> None:
    """Every replica copies the state at the cut itself."""
    cut, fork = self._shard.applier.cut_here, self._hooks.fork
    if cut is not None and fork is not None:
        self._loop.create_task(fork(self._shard, cut))  # type: ignore[arg-type]


@bug(EntryBuilder, "_foreign", GAP, PEACE)
def departed_slots_still_accepted(self: Any, command: LoggedCommand) -> Refusal | None:
    """A shard refuses commands of slots that it has given away."""
    return None


@bug(node_shards, "begin_part", GAP, PEACE)
def answers_left_behind(data: ShardData, number: int) -> None:
    """The answers of exactly-once sessions come along."""
    _begin_without(data, number, (ANSWERS,))


@bug(node_shards, "begin_part", GAP, PEACE)
def deadlines_left_behind(data: ShardData, number: int) -> None:
    """Deadlines come along."""
    _begin_without(data, number, (DEADLINES, DEADLINE_KEYS))


def _begin_without(data: ShardData, number: int, families: Iterable[str]) -> None:
    cut = cuts.last_cut(data)
    if cut is not None and any(part.number == number for part in cut.parts):
        batch = Batch()
        for family in families:
            batch.delete_range(family, b"", b"\xff" * 32)
        data.commit(batch, data.record)
    _begin_part(data, number)


@bug(splits, "_forget_deadlines", GAP, PEACE)
def deadlines_of_others_kept(*_: Any) -> None:
    """What is another shard's is forgotten with its deadlines."""


@bug(ControlledShard, "depart", GAP, PEACE)
def counts_not_divided(self: Any, below: Any, family: str, rows: Mapping[bytes, bytes]) -> None:
    """What a shard counts of its rows is divided."""


@bug(MemoryHome, "sync", GAP, _DEATHS)
def led_before_its_base_is_durable(self: MemoryHome, folder: str) -> None:
    """A new shard begins on what is durable."""


@bug(Split, "_step", GAP, PEACE)
async def map_changed_before_the_cut(self: Split) -> Step:
    """The map changes once the shard was cut."""
    shard, row = self.shard, row_of(await self.steps.newest(), self.shard.id)
    if row.HasField("split") and shard.applier.cut is None:
        split, number = row.split.number, shard.id.number
        early = FinishSplit(group=shard.id.group, number=number, split=split, index=shard.applied)
        return Step((Order(early),), over=True)
    return await _step(self)


@bug(NodeShards, "offshoots", GAP, PEACE)
def watches_begin_too_late(self: NodeShards, shard: ShardId) -> list[tuple[ShardId, int]]:
    """A watch goes on in a new shard with the first event after the cut."""
    return [(each, revision + (3 << 20)) for each, revision in _offshoots(self, shard)]


@bug(queries, "_check_slots", GAP, PEACE)
def old_plan_answered(shard: Shard, part: Any) -> None:
    """A query that was planned before the cut is planned again."""

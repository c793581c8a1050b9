"""One shard without Raft: a leader that evaluates commands, and a replica that stores effects."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from google.protobuf.message import Message
from quorate.apply.applier import Applier
from quorate.apply.entries import LoggedCommand
from quorate.apply.evaluator import Evaluator
from quorate.apply.outcomes import Outcome
from quorate.apply.program import Program, families_of
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin import keys
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.topology.commands.routes import ROUTES
from quorate.v1.control_pb2 import AdoptMirror, MirroredRow
from systems.system import Meter


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What applying one kind of command takes one replica."""

    kind: str
    items_per_s: float
    cpu_us: float


class Replica:
    """Evaluates and stores entry by entry; tells the processor time of both."""

    def __init__(self, catalog: Catalog, shard: ShardId, data: ShardData) -> None:
        program = Program.of(catalog, shard.group, ROUTES)
        self._applier: Final = Applier(catalog, shard, data)
        self._evaluator: Final = Evaluator(program, shard, data)
        self._data: Final = data
        self.evaluating_s = 0.0
        self.storing_s = 0.0

    def apply(self, commands: Sequence[LoggedCommand], at_ms: int = 0) -> tuple[Outcome, ...]:
        """Evaluate commands as one entry and store it; raises `RuntimeError` for a refusal."""
        began = time.process_time()
        index = self._data.applied + 1
        evaluation = self._evaluator.evaluate(index, [commands], at_ms or index)
        self._evaluator.logged(evaluation)
        evaluated = time.process_time()
        self._applier.apply([Entry(index, 1, EntryKind.COMMAND, evaluation.payload)])
        self._evaluator.stored(index)
        self.evaluating_s += evaluated - began
        self.storing_s += time.process_time() - evaluated
        [outcomes] = evaluation.outcomes
        for outcome in outcomes:
            if outcome.refusal is not None:
                raise RuntimeError(f"a command was refused: {outcome.refusal}")
        return outcomes

    def adopt(self, family: str, name: str, row: Message) -> None:
        """Make it know a row of another group, whose key is a name."""
        copied = MirroredRow(key=keys.pack(name), value=row.SerializeToString())
        mirror = AdoptMirror(family=family, revision=1, rows=[copied], reset=True)
        self.apply([command_of(mirror)])

    def cost(
        self, kind: str, entries: Sequence[Sequence[LoggedCommand]], items: int
    ) -> tuple[Cost, list[Outcome]]:
        """Apply entries, which have `items` in all; return their cost, and all outcomes."""
        # As a node does when it has started.
        gc.collect()
        gc.freeze()
        meter = Meter(())
        applied = [self.apply(entry) for entry in entries]
        used = meter.read()
        _, cpu_us = used.each_us(items)
        cost = Cost(kind=kind, items_per_s=items / used.seconds, cpu_us=cpu_us)
        return cost, [outcome for outcomes in applied for outcome in outcomes]


@contextmanager
def opened(directory: Path | None, catalog: Catalog, group: str) -> Iterator[Replica]:
    """Give a new replica of the first shard of a group, in a directory of its own."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        data = ShardData.open(DiskHome(Path(place) / "data"), families_of(catalog, group))
        yield Replica(catalog, ShardId(group, 0), data)
        data.close()


def command_of(message: Message, slots: Sequence[int] = ()) -> LoggedCommand:
    """Return a message as a command of the shard."""
    return LoggedCommand(message.DESCRIPTOR.full_name, message.SerializeToString(), slots)

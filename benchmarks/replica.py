"""One shard without Raft: a leader that evaluates commands, and a replica that stores effects."""

import time
from collections.abc import Sequence
from typing import Final

from google.protobuf.message import Message
from quorate.apply.applier import Applier
from quorate.apply.entries import LoggedCommand
from quorate.apply.evaluator import Evaluator
from quorate.apply.outcomes import Outcome
from quorate.apply.program import Program
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.shard_data import ShardData
from quorate.topology.commands.routes import ROUTES


class Replica:
    """Evaluates and stores entry by entry; tells the processor time of both."""

    def __init__(self, catalog: Catalog, shard: ShardId, data: ShardData) -> None:
        program = Program.of(catalog, shard.group, ROUTES)
        self._applier: Final = Applier(catalog, shard, data, counted=program.counted)
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


def command_of(message: Message, slots: Sequence[int] = ()) -> LoggedCommand:
    """Return a message as a command of the shard."""
    return LoggedCommand(message.DESCRIPTOR.full_name, message.SerializeToString(), slots)

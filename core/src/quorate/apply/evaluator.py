"""Evaluates commands once, on the leader: handlers run here, and their effects are replicated.

A handler reads the stored rows and the effects of the entries in flight, in the order of the log:
an entry is committed only after those before it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Final

from quorate.apply import effects
from quorate.apply.control import ShardState
from quorate.apply.effects import Effects
from quorate.apply.entries import LoggedCommand
from quorate.apply.entry_builder import EntryBuilder, EvaluationContext
from quorate.apply.file_sets import FindInFiles
from quorate.apply.layers import Layer, Rows
from quorate.apply.outcomes import Outcome
from quorate.apply.program import Program
from quorate.apply.recent_rows import RecentRows
from quorate.apply.slot_ownership import OwnRows
from quorate.apply.txn import ROW_BYTES
from quorate.consensus.messages import Entry
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.shard_data import ShardData

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationLimits:
    """Limits of commands and entries; sizes are in bytes."""

    #: Of the value of a row.
    row_bytes: int = ROW_BYTES
    #: Of all writes of a command.
    effects_bytes: int = 16 << 20
    #: Of the reply of a command.
    reply_bytes: int = 4 << 20
    #: An entry ends between two writes after effects of this size, or after this processor time:
    #: other programs that take the processor meanwhile make entries no smaller.
    entry_bytes: int = 256 << 10
    entry_s: float = 0.005
    #: The rows of the last entries, up to twice this size, are kept in memory and not read again.
    recent_bytes: int = 4 << 20
    #: A write that takes longer is logged as a warning, because it blocks the node.
    slow_s: float = 0.25
    #: Whether each row keeps its last writer.
    writers: bool = False


#: Called with command, index and error when plugin code failed.
OnFailure = Callable[[str, int, Exception], None]


@dataclass(slots=True, eq=False)
class Evaluation:
    """An entry to log, and the outcomes of its writes once it is stored; it never changes."""

    index: Final[int]
    payload: Final[bytes]
    #: The outcomes of the commands of each write.
    outcomes: Final[list[tuple[Outcome, ...]]]
    layer: Final[Layer]
    #: The families of its events and the full names of emitted messages; None where its effects are
    #: more than what the layer holds.
    names: Final[frozenset[str] | None]
    state: Final[ShardState]
    now_ms: Final[int]
    #: It puts files in place: no command is evaluated before it is stored.
    ingests: Final[bool]


class Evaluator:
    """Runs the handlers of a shard while this replica leads."""

    _state: ShardState

    def __init__(
        self,
        program: Program,
        shard: ShardId,
        data: ShardData,
        *,
        clock: Callable[[], float] = perf_counter,
        processor: Callable[[], float] = thread_time,
        limits: EvaluationLimits | None = None,
        on_failure: OnFailure | None = None,
        find_in_files: FindInFiles | None = None,
        neighbour: Callable[[int], Rows | None] | None = None,
    ) -> None:
        """Evaluate the commands that are proposed to a shard.

        `find_in_files` looks for rows in the files of a set, and `neighbour` returns the rows that
        this node has of another shard of the group, by its number.
        """
        self._clock: Final = clock
        self._processor: Final = processor
        self._limits: Final = EvaluationLimits() if limits is None else limits
        self._on_failure: Final = self._log_failure if on_failure is None else on_failure
        self._context: Final = EvaluationContext(
            program,
            shard,
            data,
            self._limits,
            self._failed,
            find_in_files,
            neighbour or (lambda _: None),
        )
        #: The entries in flight, in order.
        self._flying: Final[deque[Evaluation]] = deque()
        self.begin()
        #: The number of commands that failed by a bug.
        self.failures = 0
        #: The number of writes that took longer than `slow_s`.
        self.slow = 0

    def evaluate(
        self,
        index: int,
        writes: Iterable[Sequence[LoggedCommand]],
        now_ms: int,
        *,
        checked_index: int = 0,
        checksum: int = 0,
    ) -> Evaluation:
        """Evaluate these commands as the entry at `index`, without keeping the effects yet.

        It stops between two writes once the entry is large enough; the rest is for the next one.
        Raises `EngineError` if a row cannot be read; this replica must then stop.
        """
        entry = EntryBuilder(
            self._context, self._top, self._state.copied(), index, max(now_ms, self._now_ms)
        )
        began = at = self._clock()
        used, limits = self._processor(), self._limits
        outcomes: list[tuple[Outcome, ...]] = []
        for commands in writes:
            if outcomes and commands[0].type in self._context.program.of_files:
                break
            outcomes.append(entry.run_all(commands))
            before, at = at, self._clock()
            if at - before > limits.slow_s:
                self._warn_slow(commands, at - before)
            if entry.ingests or entry.size >= limits.entry_bytes:
                break
            # It is slower to ask for than the time.
            if at - began >= limits.entry_s and self._processor() - used >= limits.entry_s:
                break
        payload = entry.payload(checked_index, checksum)
        whole = not entry.ingests and not entry.events.silent
        return Evaluation(
            index,
            payload,
            outcomes,
            entry.layer,
            frozenset(family for family, _, _ in entry.events.runs) if whole else None,
            entry.state,
            entry.now_ms,
            entry.ingests,
        )

    def logged(self, evaluation: Evaluation) -> None:
        """Show the effects of a logged entry to later commands."""
        self._flying.append(evaluation)
        if evaluation.ingests:
            self._ingest = evaluation.index
        cut = evaluation.state.foreign != self._state.foreign
        self._state = evaluation.state
        self._now_ms = evaluation.now_ms
        if cut:
            self._recent = self._new_recent()
            self._flying[0].layer.rebase(self._recent)

    def evaluated(self, entry: Entry) -> Effects | None:
        """Return the effects of an entry in flight; None if it was not evaluated here."""
        for each in self._flying:
            # Another entry may have taken its index, and what was read from the disk is compared
            # with nothing: only the object that was logged counts.
            if each.payload is entry.payload and each.names is not None:
                watched = self._context.program.watched
                return effects.evaluated(each.payload, each.layer, each.names, watched)
        return None

    def stored(self, index: int) -> None:
        """Drop the effects of the entries up to an index, which are stored now."""
        if self._ingest <= index:
            self._ingest = 0
        flying = self._flying
        if flying and flying[0].index <= index:
            while flying and flying[0].index <= index:
                stored = flying.popleft()
                self._recent.keep(stored.layer, len(stored.payload))
            if flying:
                flying[0].layer.rebase(self._recent)

    def begin(self) -> None:
        """Drop all effects that are not stored, and continue from the stored rows.

        Call it when leadership was gained or lost, and when the rows were replaced.
        """
        self._flying.clear()
        #: The entry in flight that puts files in place; 0: there is none.
        self._ingest = 0
        data = self._context.data
        self._now_ms = data.record.now_ms
        self._state = ShardState.of(data)
        self._recent = self._new_recent()

    def _new_recent(self) -> RecentRows:
        """Return the stored rows, without those of foreign slots."""
        rows: Rows = self._context.data
        if self._state.foreign:
            ownership = self._context.program.ownership
            rows = OwnRows(rows, ownership, lambda: self._state.slots.owned)
        return RecentRows(rows, self._limits.recent_bytes)

    @property
    def of_frozen(self) -> frozenset[str]:
        """The commands that a frozen shard carries out."""
        return self._context.program.of_frozen

    @property
    def ingests(self) -> bool:
        """Whether files are being put in place: their rows are not seen by handlers yet."""
        return self._ingest > 0

    @property
    def _top(self) -> Rows:
        return self._flying[-1].layer if self._flying else self._recent

    def _failed(self, command: str, index: int, error: Exception) -> None:
        self.failures += 1
        self._on_failure(command, index, error)

    def _log_failure(self, command: str, index: int, error: Exception) -> None:
        _log.error(
            "command %s at index %d of shard %s failed with %s: %s; its writes were dropped,"
            " repair its data route",
            command,
            index,
            self._context.shard,
            type(error).__name__,
            error,
            exc_info=error,
            extra={"command": command, "index": index, "shard": str(self._context.shard)},
        )

    def _warn_slow(self, commands: Sequence[LoggedCommand], took_s: float) -> None:
        self.slow += 1
        name = commands[0].type if commands else "nothing"
        _log.warning(
            "%d commands of shard %s, %s first, took %d ms to evaluate; this node did nothing else"
            " meanwhile: give less to one command, or repair its handler",
            len(commands),
            self._context.shard,
            name,
            int(took_s * 1_000),
            extra={"command": name, "shard": str(self._context.shard)},
        )

"""Evaluates commands once, on the leader: handlers run here, and their effects are replicated.

A handler reads the stored rows and the effects of the entries in flight, in the order of the log:
an entry is committed only after those before it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter, thread_time
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from quorate.apply import (
    control,
    cuts,
    effects,
    fences,
    file_sets,
    freezes,
    levels,
    publications,
    sessions,
    slot_set,
    writers,
)
from quorate.apply.control import ShardState
from quorate.apply.entries import Copies, LoggedCommand, Stamp, index_of, revision_of
from quorate.apply.file_sets import FindInFiles
from quorate.apply.layers import Layer, Rows, Table
from quorate.apply.outcomes import (
    COPY_BEHIND,
    INTERNAL,
    RESERVED,
    SESSION_EXPIRED,
    TOO_LARGE,
    UNKNOWN_COMMAND,
    WRONG_SHARD,
    CopyBehind,
    Outcome,
    Refusal,
)
from quorate.apply.places import OwnRows
from quorate.apply.program import Handler, Program
from quorate.apply.recent_rows import RecentRows
from quorate.apply.scope import Scope
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ROW_BYTES, ShardTxn
from quorate.plugin import Fence, Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.storage.events import EventRow, Kind, Savepoint
from quorate.storage.families import SLOTS
from quorate.v1.command_pb2 import Command
from quorate.v1.control_pb2 import AdoptSlots, FreezeShard
from quorate.v1.files_pb2 import (
    CloseFileSet,
    FactRow,
    FileSet,
    IngestFileSet,
    ItemCount,
    OpenPublished,
    PublicationMark,
    SortedFile,
)

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


_CLOSE: Final = CloseFileSet.DESCRIPTOR.full_name
#: What a frozen shard carries out.
OF_FROZEN: Final = frozenset({AdoptSlots.DESCRIPTOR.full_name, FreezeShard.DESCRIPTOR.full_name})
#: Each is the first write of its entry.
_PUT: Final = frozenset({IngestFileSet.DESCRIPTOR.full_name, OpenPublished.DESCRIPTOR.full_name})

#: Called with command, index and error when plugin code failed.
OnFailure = Callable[[str, int, Exception], None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An entry to log, and the outcomes of its writes once it is stored."""

    index: int
    payload: bytes
    #: The outcomes of the commands of each write.
    outcomes: list[tuple[Outcome, ...]]
    layer: Layer
    state: ShardState
    now_ms: int
    #: It puts files in place: no command is evaluated before it is stored.
    ingests: bool


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
        self._program: Final = program
        self._shard: Final = shard
        self._data: Final = data
        self._clock: Final = clock
        self._processor: Final = processor
        self._limits: Final = EvaluationLimits() if limits is None else limits
        self._on_failure: Final = self._log_failure if on_failure is None else on_failure
        self.find_in_files = find_in_files
        self.neighbour: Callable[[int], Rows | None] = neighbour or (lambda _: None)
        #: The index, the effects and the size of the entries in flight, in order.
        self._flying: Final[deque[tuple[int, Layer, int]]] = deque()
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
        turn = _Turn(self, index, max(now_ms, self._now_ms))
        began = at = self._clock()
        used, limits = self._processor(), self._limits
        outcomes: list[tuple[Outcome, ...]] = []
        for commands in writes:
            if outcomes and commands[0].type in _PUT:
                break
            outcomes.append(turn.run_all(commands))
            before, at = at, self._clock()
            if at - before > limits.slow_s:
                self._warn_slow(commands, at - before)
            if turn.ingests or turn.size >= limits.entry_bytes:
                break
            # It is slower to ask for than the time.
            if at - began >= limits.entry_s and self._processor() - used >= limits.entry_s:
                break
        head = effects.Head(
            turn.now_ms, turn.state.generation, checked_index, checksum, turn.commands
        )
        quiet = self._program.watched
        tables = [each for each in turn.layer.tables.items() if each[0] not in quiet]
        tables += [(family, Table.of(keys)) for family, keys in turn.events.silent.items()]
        payload = effects.encode(head, turn.events, tables)
        return Evaluation(
            index, payload, outcomes, turn.layer, turn.state, turn.now_ms, turn.ingests
        )

    def logged(self, evaluation: Evaluation) -> None:
        """Show the effects of a logged entry to later commands."""
        self._flying.append((evaluation.index, evaluation.layer, len(evaluation.payload)))
        if evaluation.ingests:
            self._ingest = evaluation.index
        cut = evaluation.state.foreign != self._state.foreign
        self._state = evaluation.state
        self._now_ms = evaluation.now_ms
        if cut:
            self._recent = self._new_recent()
            self._flying[0][1].rebase(self._recent)

    def stored(self, index: int) -> None:
        """Drop the effects of the entries up to an index, which are stored now."""
        if self._ingest <= index:
            self._ingest = 0
        flying = self._flying
        if flying and flying[0][0] <= index:
            while flying and flying[0][0] <= index:
                _, layer, size = flying.popleft()
                self._recent.keep(layer, size)
            if flying:
                flying[0][1].rebase(self._recent)

    def begin(self) -> None:
        """Drop all effects that are not stored, and continue from the stored rows.

        Call it when leadership was gained or lost, and when the rows were replaced.
        """
        self._flying.clear()
        #: The entry in flight that puts files in place; 0: there is none.
        self._ingest = 0
        self._now_ms = self._data.record.now_ms
        self._state = ShardState(
            shard=self._shard,
            mirrored=self._program.mirrored,
            plugins=self._program.plugins,
            families=lambda: self._data.families,
            slots=SlotSet.decode(self._data.get(SLOTS, slot_set.KEY)),
            generation=self._data.record.generation,
            sessions_ms=sessions.first_check(self._data),
            stored=self._data,
            places=self._program.places,
            foreign=cuts.has_foreign(self._data),
            public=self._program.watched,
            counted=self._program.counted,
            closed=frozenset(publications.mark(self._data).closed),
            frozen=freezes.frozen(self._data) is not None,
            neighbour=lambda number: self.neighbour(number),
        )
        self._recent = self._new_recent()

    def _new_recent(self) -> RecentRows:
        """Return the stored rows, without those of foreign slots."""
        rows: Rows = self._data
        if self._state.foreign:
            rows = OwnRows(rows, self._program.places, lambda: self._state.slots.owned)
        return RecentRows(rows, self._limits.recent_bytes)

    @property
    def ingests(self) -> bool:
        """Whether files are being put in place: their rows are not seen by handlers yet."""
        return self._ingest > 0

    @property
    def _top(self) -> Rows:
        return self._flying[-1][1] if self._flying else self._recent

    def _log_failure(self, command: str, index: int, error: Exception) -> None:
        _log.error(
            "command %s at index %d of shard %s failed with %s: %s; its writes were dropped,"
            " repair its data route",
            command,
            index,
            self._shard,
            type(error).__name__,
            error,
            exc_info=error,
            extra={"command": command, "index": index, "shard": str(self._shard)},
        )

    def _warn_slow(self, commands: Sequence[LoggedCommand], took_s: float) -> None:
        self.slow += 1
        name = commands[0].type if commands else "nothing"
        _log.warning(
            "%d commands of shard %s, %s first, took %d ms to evaluate; this node did nothing else"
            " meanwhile: give less to one command, or repair its handler",
            len(commands),
            self._shard,
            name,
            int(took_s * 1_000),
            extra={"command": name, "shard": str(self._shard)},
        )


class _Turn:
    """The commands of one entry."""

    def __init__(self, evaluator: Evaluator, index: int, now_ms: int) -> None:
        self._evaluator: Final = evaluator
        self._program: Final = evaluator._program
        self._limits: Final = evaluator._limits
        self.now_ms: Final = now_ms
        self.layer: Final = Layer(evaluator._top)
        self.events: Final = EventRow()
        self.state = replace(evaluator._state)
        #: The number of evaluated commands, and the approximate size of their writes.
        self.commands = 0
        self.size = 0
        self.ingests = False
        self._index: Final = index
        if self.state.sessions_ms < now_ms and not self.state.frozen:
            self.state.sessions_ms = sessions.expire(self.layer, now_ms, self.state.sessions_ms)

    def run_all(self, commands: Sequence[LoggedCommand]) -> tuple[Outcome, ...]:
        """Evaluate a write; no command overtakes one that is to run again."""
        outcomes: list[Outcome] = []
        try:
            for command in commands:
                outcomes.append(self.run(command))
        except CopyBehind:
            left = len(commands) - len(outcomes)
            why = f"the copies in shard {self.state.shard} may be old: try again"
            revision = revision_of(self._index, max(0, self.commands - 1))
            outcomes += [Outcome(revision, refusal=Refusal(COPY_BEHIND, why))] * left
        return tuple(outcomes)

    def run(self, command: LoggedCommand) -> Outcome:
        """Evaluate the next command."""
        revision = revision_of(self._index, self.commands)
        self.commands += 1
        if self.state.frozen and command.type not in OF_FROZEN:
            return frozen_outcome(self.state.shard, revision)
        if command.stamp is None:
            return self._run(command, revision)
        return self._once(command, command.stamp, revision)

    def _once(self, command: LoggedCommand, stamp: Stamp, revision: int) -> Outcome:
        layer = Layer(self.layer)
        known = sessions.answer_known(layer, command, stamp, revision, self.now_ms)
        foreign = self._foreign(command)
        expired = known and known.refusal and known.refusal.code == SESSION_EXPIRED
        if expired and foreign is not None:
            # The session may live on in the shard to which the slots have gone.
            return Outcome(revision, refusal=foreign)
        if known is not None:
            layer.merge_into(self.layer)
            return known
        refusal = foreign or self._unknown(command)
        if refusal is None and (handler := self._program.handlers.get(command.type)) is not None:
            refusal = self._too_early(handler) or self._closed(command, handler)
        if refusal is not None:
            # Not carried out here, but perhaps later by another leader: record no outcome.
            return Outcome(revision, refusal=refusal)
        outcome = self._run(command, revision)
        sessions.record(layer, command, stamp, outcome)
        layer.merge_into(self.layer)
        return outcome

    def _run(
        self, command: LoggedCommand, revision: int, handler: Handler | None = None
    ) -> Outcome:
        handler = handler or self._program.handlers.get(command.type)
        if handler is None:
            return self._control(command, revision)
        refusal = (
            self._foreign(command) or self._too_early(handler) or self._closed(command, handler)
        )
        if refusal is not None:
            return Outcome(revision, refusal=refusal)
        layer, start = Layer(self.layer), self.events.savepoint()
        if command.fence is not None:
            refusal = self._pass(layer, command.fence)
            if refusal is not None:
                return Outcome(revision, refusal=refusal)
        carry_out = partial(self._carry_out, revision, command.copies)
        txn = self._txn(layer, handler.scope, revision, command.copies, carry_out)
        reply = b""
        try:
            answer = handler.apply(txn, handler.parse(command.payload))
            if answer is not None:
                reply = _serialized(answer)
        except Rejected as error:
            refusal = Refusal(str(error.code), str(error.message))
            if refusal.code in RESERVED and handler.scope is not control.SCOPE:
                refusal = self._failed(command, revision, _reserved(refusal.code))
        except (MemoryError, EngineError):
            raise
        except CopyBehind:
            self.events.rollback_to(start)
            raise
        except Exception as error:  # noqa: BLE001 - a bug of a handler is an outcome too
            refusal = self._failed(command, revision, error)
        finally:
            txn.end()
        if layer.fault is not None:
            # The handler ignored a failed read.
            raise layer.fault
        return self._outcome(command, revision, layer, start, reply, refusal)

    def _pass(self, layer: Layer, fence: Fence) -> Refusal | None:
        """Remember the token of a fence, or return why it is refused."""
        given_out = fence.name.startswith(self._program.fences)
        refusal = fences.refusal_of(layer, fence, given_out=given_out)
        if refusal is None:
            fences.raise_to(layer, fence.name, fence.token, self.now_ms)
        return refusal

    def _carry_out(
        self, revision: int, copies: Copies, below: Layer, command: Command
    ) -> bytes | None:
        """Evaluate a command as a part of another one; raises its refusal.

        It carries out none itself, so that no chain of them is as long as a caller likes.
        """
        handler = self._program.handlers.get(command.type)
        if handler is None or handler.command is None:
            return None
        if not handler.command.public:
            raise Rejected("INVALID_ARGUMENT", f"type: no client may send {command.type}")
        early = self._too_early(handler)
        if early is not None:
            raise Rejected(*early)
        try:
            message = handler.parse(command.payload)
        except DecodeError:
            raise Rejected("INVALID_ARGUMENT", f"payload: is no {command.type}") from None
        if not handler.scope.apart(self.state.closed):
            return None
        if not self.state.slots.owned.issuperset(handler.slots(message)):
            return None
        layer, start = Layer(below), self.events.savepoint()
        if command.HasField("fence"):
            refusal = self._pass(layer, Fence(command.fence.name, command.fence.token))
            if refusal is not None:
                raise Rejected(*refusal)
        txn = self._txn(layer, handler.scope, revision, copies)
        try:
            if handler.command.validate is not None:
                handler.command.validate(message)
            answer = handler.apply(txn, message)
            reply = b"" if answer is None else _serialized(answer)
        except Exception as error:
            self.events.rollback_to(start)
            if isinstance(error, MemoryError | EngineError | Rejected):
                raise
            if isinstance(error, Invalid):
                raise Rejected("INVALID_ARGUMENT", str(error)) from None
            part = LoggedCommand(command.type, command.payload)
            raise Rejected(*self._failed(part, revision, error)) from None
        finally:
            txn.end()
            below.fault = below.fault or layer.fault
        layer.merge_into(below)
        return reply

    def _control(self, command: LoggedCommand, revision: int) -> Outcome:
        refusal = self._unknown(command)
        if refusal is not None:
            return Outcome(revision, refusal=refusal)
        if command.type in _PUT or command.type == _CLOSE:
            return self._of_files(command, revision)
        parse, apply, level = control.ROUTES[command.type]
        state = replace(self.state)
        self.state.depart = partial(self._depart, revision)

        def apply_here(txn: Any, message: Message) -> Message | None:
            return apply(txn, message, self.state)

        handler = Handler(parse, apply_here, control.SCOPE, level=level)
        outcome = self._run(command, revision, handler)
        if outcome.refusal is not None:
            self.state = state
        return outcome

    def _of_files(self, command: LoggedCommand, revision: int) -> Outcome:
        """Put the files of a set in place, or stage or close or open it for a publication."""
        layer, start = Layer(self.layer), self.events.savepoint()
        state = replace(self.state)
        try:
            if command.type == _CLOSE:
                known = self._close(layer, command, revision)
            elif command.type == OpenPublished.DESCRIPTOR.full_name:
                known = self._open(layer, OpenPublished.FromString(command.payload))
            else:
                known = self._ingest(layer, command, revision)
        except (MemoryError, EngineError):
            raise
        except (CopyBehind, Exception) as error:
            self.events.rollback_to(start)
            self.state = state
            if isinstance(error, Rejected):
                return Outcome(revision, refusal=Refusal(str(error.code), str(error.message)))
            if isinstance(error, Exception):
                # A bug of a plugin is an outcome too.
                return Outcome(revision, refusal=self._failed(command, revision, error))
            raise
        if known.ingested_at == self._index:
            self.ingests = True
            for family in sorted(file_sets.rows_by_family(known.files)):
                if family in self._program.watched:
                    self.events.begin(family, Kind.INGESTED)
        layer.merge_into(self.layer)
        return Outcome(revision, _serialized(known))

    def _ingest(self, layer: Layer, command: LoggedCommand, revision: int) -> FileSet:
        """Put the files of a set in place or stage them, unless there are rows of theirs."""
        asked = IngestFileSet.FromString(command.payload)
        known = file_sets.find(layer, asked.name)
        known = file_sets.check_ingest(asked, known, self.state.slots)
        if known.state != FileSet.OPEN:
            return known
        find_in = self._evaluator.find_in_files
        file_sets.check_room(layer, known, asked.files, find_in)
        # What the plugin refuses is known before a publication.
        below = Layer(layer) if asked.stage else layer
        start = self.events.savepoint()
        self._settle(below, known.command, asked.counts, revision, command.copies)
        if asked.stage:
            self.events.rollback_to(start)
            return file_sets.stage(layer, known, asked)
        self._count(layer, asked.files)
        return file_sets.ingest(layer, known, asked, self._index)

    def _close(self, layer: Layer, command: LoggedCommand, revision: int) -> FileSet:
        """Keep what is written with the files of a set, and let nobody change what that is of."""
        asked = CloseFileSet.FromString(command.payload)
        known = file_sets.check_close(asked, file_sets.find(layer, asked.name), self.state.slots)
        if known.state == FileSet.CLOSED:
            return known
        if self.state.closed:
            raise Rejected(file_sets.PUBLISHING, f"shard {self.state.shard} publishes other files")
        file_sets.check_room(layer, known, known.files, self._evaluator.find_in_files)
        below, start = Layer(layer), self.events.savepoint()
        handler = self._settle(below, known.command, known.counts, revision, command.copies)
        self.events.rollback_to(start)
        settled = [
            FactRow(family=family, key=key, value=value)
            for family, table in below.tables.items()
            for key, value in table.rows.items()
            if value is not None
        ]
        self.state.closed = frozenset(handler.scope.writes)
        mark = publications.mark(layer)
        mark.closed.extend(sorted(self.state.closed))
        mark.closing, mark.name = asked.publication, asked.name
        publications.put_mark(layer, mark)
        return file_sets.close(layer, known, asked.publication, settled)

    def _open(self, layer: Layer, asked: OpenPublished) -> FileSet:
        """End a publication here; a repeated command changes nothing."""
        known = file_sets.find(layer, asked.name)
        if known is None or known.publication != asked.publication:
            return known or FileSet()
        files = list(known.files)
        known = file_sets.open_published(layer, known, self._index, committed=asked.committed)
        mark = PublicationMark(number=publications.mark(layer).number)
        if asked.committed:
            self._count(layer, files)
            mark.number = max(mark.number, asked.publication)
        publications.put_mark(layer, mark)
        self.state.closed = frozenset()
        return known

    def _settle(
        self,
        layer: Layer,
        name: str,
        counts: Iterable[ItemCount],
        revision: int,
        copies: Copies,
    ) -> Handler:
        """Write what is kept about all rows of the files; return the handler of their command."""
        handler, load = self._program.handlers.get(name), self._program.file_loads.get(name)
        if handler is None or load is None:
            raise Rejected(UNKNOWN_COMMAND, f"the leader loads no files with rows of {name}")
        early = self._too_early(handler)
        if early is not None:
            raise Rejected(*early)
        if load.settle is not None:
            txn = self._txn(layer, handler.scope, revision, copies)
            load.settle(txn, {each.name: each.items for each in counts})
            txn.end()
        return handler

    def _count(self, layer: Layer, files: Iterable[SortedFile]) -> None:
        """Count the rows of files that are put in place."""
        txn = self._txn(layer, control.SCOPE, revision_of(self._index, 0), Copies.FRESH)
        for family, rows in file_sets.rows_by_family(files).items():
            if family in self._program.counted:
                txn.count_more(family, rows)
        txn.end()

    def _depart(
        self, revision: int, below: Layer, family: str, rows: Mapping[bytes, bytes]
    ) -> None:
        """Take rows that went to another shard out of what this one keeps of all its rows."""
        departs = self._program.places.departures.get(family)
        if departs is None:
            return
        layer, start = Layer(below), self.events.savepoint()
        txn = self._txn(layer, self._program.departures[family], revision, Copies.FRESH)
        try:
            for key, value in rows.items():
                departs(txn, key, value)
        finally:
            txn.end()
            self.events.rollback_to(start)
        layer.merge_into(below)

    def _outcome(
        self,
        command: LoggedCommand,
        revision: int,
        layer: Layer,
        start: Savepoint,
        reply: bytes,
        refusal: Refusal | None,
    ) -> Outcome:
        """Keep the writes of a command, unless it was refused or is too large."""
        if refusal is None:
            if self._limits.writers:
                writer = writers.Writer(revision, self.now_ms, command.caller)
                writers.record(layer, self._program.public, writer)
            size = layer.size(self._program.watched) + self.events.size_since(start)
            refusal = self._excess(command, size, len(reply))
            if refusal is None:
                self.size += size
                layer.merge_into(self.layer)
                return Outcome(revision, reply)
        self.events.rollback_to(start)
        return Outcome(revision, refusal=refusal)

    def _excess(self, command: LoggedCommand, size: int, reply: int) -> Refusal | None:
        limits = self._limits
        if size > limits.effects_bytes:
            what = (
                f"writes {size} bytes; at most {limits.effects_bytes} allowed "
                "(limits.effects_bytes)"
            )
        elif reply > limits.reply_bytes:
            what = (
                f"answers {reply} bytes; at most {limits.reply_bytes} allowed (limits.reply_bytes)"
            )
        else:
            return None
        return Refusal(TOO_LARGE, f"command {command.type} {what}; nothing was written")

    def _txn(
        self,
        layer: Layer,
        scope: Scope,
        revision: int,
        copies: Copies,
        carry_out: Callable[[Layer, Command], bytes | None] | None = None,
    ) -> ShardTxn:
        return ShardTxn(
            layer,
            scope,
            self.events,
            revision=revision,
            at_ms=self.now_ms,
            shard=self.state.shard.number,
            generation=self.state.generation,
            row_bytes=self._limits.row_bytes,
            copies=copies,
            carry_out=carry_out,
        )

    def _foreign(self, command: LoggedCommand) -> Refusal | None:
        """Return the refusal of a command that touches slots which the shard does not own."""
        slots = self.state.slots
        if not command.slots or slots.owned.issuperset(command.slots):
            return None
        missing = min(slot for slot in command.slots if not slots.owns(slot))
        return Refusal(
            WRONG_SHARD,
            f"slot {missing} is not owned by shard {self.state.shard} in version"
            f" {slots.version} of its slots: route the command again",
        )

    def _closed(self, command: LoggedCommand, handler: Handler) -> Refusal | None:
        """Return the refusal of a command that has to wait for the end of a publication."""
        if not self.state.closed or handler.scope.apart(self.state.closed):
            return None
        return Refusal(
            WRONG_SHARD,
            f"shard {self.state.shard} is publishing files, which {command.type} waits for: send"
            " it again",
        )

    def _too_early(self, handler: Handler) -> Refusal | None:
        """Return the refusal of a command that not all nodes of the cluster know yet."""
        if handler.level == levels.LOWEST:
            return None
        level = self._program.in_force(handler.feature)
        if level >= handler.level:
            return None
        return Refusal(
            levels.NOT_IN_FORCE,
            f"it needs level {handler.level} of {handler.feature}, and {level} is in force; when"
            " all nodes run a release that supports it, `quorate upgrade finish` raises the level",
        )

    def _unknown(self, command: LoggedCommand) -> Refusal | None:
        if command.type in self._program.handlers or command.type in control.ROUTES:
            return None
        return Refusal(
            UNKNOWN_COMMAND,
            f"no plugin that is enabled on the leader of shard {self.state.shard} knows command"
            f" {command.type}: enable its plugin there, in the version that declares it",
        )

    def _failed(self, command: LoggedCommand, revision: int, error: Exception) -> Refusal:
        index = index_of(revision)
        self._evaluator.failures += 1
        self._evaluator._on_failure(command.type, index, error)
        return Refusal(
            INTERNAL,
            f"command {command.type} failed at index {index} with {type(error).__name__}; its"
            " writes were dropped; see the leader's log",
        )


def frozen_outcome(shard: ShardId, revision: int) -> Outcome:
    """Return the outcome of a command that a frozen shard does not carry out."""
    why = f"shard {shard} is being merged: route the command again"
    return Outcome(revision, refusal=Refusal(WRONG_SHARD, why))


def _reserved(code: str) -> ValueError:
    return ValueError(f"the handler refused with {code}, a code of core: choose another one")


def _serialized(answer: Message) -> bytes:
    if not isinstance(answer, Message):
        raise TypeError(f"the handler returned a {type(answer).__name__}, not a message")
    return answer.SerializeToString(deterministic=True)

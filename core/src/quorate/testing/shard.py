"""One shard in memory: takes a log, and gives outcomes and contents, by the code of nodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from google.protobuf.message import Message

from quorate.apply.applier import Applier, ApplyLimits
from quorate.apply.deadlines import Deadline
from quorate.apply.entries import LoggedCommand, Stamp, revision_of, whole
from quorate.apply.evaluator import EvaluationLimits, Evaluator
from quorate.apply.outcomes import INTERNAL, Outcome as Answer, Refusal
from quorate.apply.program import Program, families_of
from quorate.apply.scope import Family
from quorate.apply.txn import ShardReader
from quorate.consensus.messages import Entry as LogEntry, EntryKind
from quorate.plugin import Fence, Rejected, Row, Txn, keys
from quorate.plugin.advanced import Event, SessionRef
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.checkpoint import Manifest
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.events import EventLog, StoredEvent
from quorate.storage.families import COUNTS, DEADLINE_KEYS, DEADLINES, FENCES, SEQUENCES, SYSTEM
from quorate.testing.probes import Apply, wrapped
from quorate.testing.stored import deadlines_in, events_of, rows_in
from quorate.topology.commands.routes import ROUTES

#: No limits: the caller alone divides entries into batches.
_STORED: Final = ApplyLimits(turn_bytes=1 << 62, turn_s=float("inf"))
_EVALUATED: Final = EvaluationLimits(entry_bytes=1 << 62, entry_s=float("inf"), slow_s=float("inf"))
_TERM: Final = 1
_EVERYTHING: Final = 1 << 62
#: The families that handlers write besides the rows of their own.
_WRITTEN: Final = frozenset({DEADLINES, DEADLINE_KEYS, FENCES, SEQUENCES, COUNTS})


class InternalError(Exception):
    """A handler raised an unexpected error: a bug of its plugin; its writes were dropped."""

    def __init__(self, command: str, index: int, error: Exception) -> None:
        super().__init__(
            f"command {command} failed at index {index} with "
            f"{type(error).__name__}: {error}; its writes were dropped; repair its data route"
        )
        self.command: Final = command
        self.index: Final = index
        self.__cause__ = error


def command_of(
    message: Message, session: SessionRef | None = None, fence: Fence | None = None
) -> LoggedCommand:
    """Return a command as the log holds it."""
    stamp = None
    if session is not None:
        stamp = Stamp(session.session, session.sequence, session.lowest_unanswered)
    return LoggedCommand(
        message.DESCRIPTOR.full_name,
        message.SerializeToString(deterministic=True),
        stamp=stamp,
        fence=fence,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the log. Entries with skipped indexes were empty."""

    index: int
    commands: tuple[LoggedCommand, ...]
    #: The time of the proposal of its commands, in logical time.
    at_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a command; with a failure there are no events and nothing was written."""

    revision: int
    #: Serialized; b"" of a handler that returned None.
    reply: bytes = b""
    #: The type of the handler's answer, also if the answer is not kept; None: no answer.
    answered: type[Message] | None = None
    failure: Rejected | InternalError | None = None
    events: tuple[Event, ...] = ()
    #: It was applied before, and its answer is not kept.
    forgotten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardState:
    """A snapshot of a shard, from which replay can start."""

    manifest: Manifest
    files: Mapping[str, bytes]


class MemoryShard:
    """A replica of one shard as on a node, on an engine in memory and without Raft."""

    def __init__(
        self,
        catalog: Catalog,
        group: str,
        number: int = 0,
        *,
        state: ShardState | None = None,
        home: MemoryHome | None = None,
    ) -> None:
        self.group: Final = group
        self.number: Final = number
        self._home: Final = MemoryHome() if home is None else home
        kept = [catalog.families[name] for name in families_of(catalog, group)]
        self._families: Final = {family.name: Family.of(family) for family in kept}
        self.data: Final = ShardData.open(self._home, self._families)
        if state is not None and state.manifest.record.position.index:
            _install(self.data, state)
        #: The errors of handlers since the last batch, and those of all commands.
        self._met: Final[deque[InternalError]] = deque()
        self._bugs: Final[dict[int, InternalError]] = {}
        self._answered: Final[dict[int, type[Message]]] = {}
        program = Program.of(wrapped(catalog, self._noting), group, ROUTES)
        shard = ShardId(group, number)
        self.applier: Final = Applier(catalog, shard, self.data, limits=_STORED)
        self.evaluator: Final = Evaluator(
            program,
            shard,
            self.data,
            limits=_EVALUATED,
            on_failure=lambda *met: self._met.append(InternalError(*met)),
        )

    @property
    def applied(self) -> int:
        """The index of the newest entry that was applied."""
        return self.applier.applied

    @property
    def revision(self) -> int:
        """The revision after every command that was applied."""
        return self.applier.revision

    @property
    def now_ms(self) -> int:
        """The shard's logical time."""
        return self.applier.now_ms

    @property
    def orphans(self) -> tuple[str, ...]:
        """The stored families that no plugin of the catalog declares."""
        return self.data.orphans

    def answered(self, revision: int) -> type[Message] | None:
        """Return the type of a handler's answer, also if the answer is not kept."""
        return self._answered.get(revision)

    def apply(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Evaluate entries one after the other, store their effects as one batch, and return the
        outcome of each command in order.
        """
        before = whole(self.applied)
        self._met.clear()
        answers: list[Answer] = []
        logged: list[LogEntry] = []
        index = self.applied
        for entry in entries:
            logged += [
                LogEntry(left_out, _TERM, EntryKind.NOOP, b"")
                for left_out in range(index + 1, entry.index)
            ]
            index = entry.index
            evaluation = self.evaluator.evaluate(index, [entry.commands], entry.at_ms)
            self.evaluator.logged(evaluation)
            answers += evaluation.outcomes[0]
            logged.append(LogEntry(index, _TERM, EntryKind.COMMAND, evaluation.payload))
        self.applier.apply(logged)
        self.evaluator.stored(index)
        happened: dict[int, list[StoredEvent]] = {}
        for event in self.events_after(before):
            happened.setdefault(event.revision, []).append(event)
        revisions = [
            revision_of(entry.index, position)
            for entry in entries
            for position in range(len(entry.commands))
        ]
        return [
            self._outcome(answer, happened.get(revision, ()))
            for revision, answer in zip(revisions, answers, strict=True)
        ]

    # Contents.

    def row(self, family: str, key: bytes) -> Row | None:
        """Return a row, or None if it does not exist."""
        return self.reader(frozenset(self._families)).get_row(family, key)

    def rows(self, family: str) -> list[Row]:
        """Return the rows of a family, in the order of their keys."""
        return list(rows_in(self.data, self._families[family]))

    def reader(self, reads: frozenset[str]) -> ShardReader:
        """Return the reader of a query that may read these families."""
        return self.applier.reader(reads)

    def deadlines(self) -> dict[tuple[str, bytes], Deadline]:
        """Return the pending deadlines, by timer and key."""
        return deadlines_in(self.data)

    def events_after(self, revision: int) -> list[StoredEvent]:
        """Return the events after a revision."""
        log = EventLog(self.data)
        return log.read(revision, max_rows=_EVERYTHING, max_bytes=_EVERYTHING)[0]

    def contents(self) -> list[tuple[str, bytes, bytes]]:
        """Return all writes of handlers in stored form, family by family in order."""
        return [
            (family, key, stored)
            for family in self.data.families
            if family in _WRITTEN or family not in SYSTEM
            for key, stored in self.data.iterate(family, b"", None)
        ]

    def digest(self) -> str:
        """Return a digest of all writes of handlers."""
        digest = sha256()
        for part in self.contents():
            digest.update(keys.pack(*part))
        return digest.hexdigest()

    def replica_digest(self) -> str:
        """Return the digest that replicas are compared by: all rows, the events, the checksum."""
        digest = self.data.digest()
        while not digest.step():
            pass
        return digest.hexdigest()

    # Snapshots and replacement.

    def export(self) -> ShardState:
        """Return a snapshot from which another replica can continue."""
        copy = self.data.checkpoint()
        try:
            manifest = copy.manifest()
            files = {file.name: copy.read(file.name, 0, file.size) for file in manifest.files}
        finally:
            copy.release()
        return ShardState(manifest=manifest, files=files)

    def reopened(self, catalog: Catalog) -> Self:
        """Close this replica, and open its stored data with another catalog."""
        self.data.close()
        return type(self)(catalog, self.group, self.number, home=self._home)

    def load(self, rows: Iterable[tuple[str, bytes, bytes]]) -> None:
        """Store rows in their stored form, one by one."""
        for family, key, stored in rows:
            batch = Batch()
            batch.put(family, key, stored)
            self.data.commit(batch, self.data.record)

    def _noting(self, apply: Apply) -> Apply:
        def noted(txn: Txn, command: Message) -> Message | None:
            reply = apply(txn, command)
            if isinstance(reply, Message):
                self._answered[txn.revision] = type(reply)
            return reply

        return noted

    def _outcome(self, answer: Answer, happened: Iterable[StoredEvent]) -> Outcome:
        failure: Rejected | InternalError | None = None
        if answer.refusal is not None:
            if self._met and _tells_of(answer.refusal, self._met[0]):
                self._bugs[answer.revision] = self._met.popleft()
            failure = self._bugs.get(answer.revision) or Rejected(*answer.refusal)
        return Outcome(
            revision=answer.revision,
            reply=answer.reply,
            answered=self._answered.get(answer.revision),
            failure=failure,
            events=tuple(events_of(happened)),
            forgotten=answer.forgotten,
        )


def _tells_of(refusal: Refusal, bug: InternalError) -> bool:
    where = f"command {bug.command} failed at index {bug.index} "
    return refusal.code == INTERNAL and refusal.message.startswith(where)


def _install(data: ShardData, state: ShardState) -> None:
    incoming = data.incoming(state.manifest)
    for name, content in state.files.items():
        incoming.write(name, 0, content)
    incoming.finish()
    data.install(incoming)
    data.tidy()

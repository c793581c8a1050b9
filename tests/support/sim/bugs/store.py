"""Bugs in what makes rows of a log: installs, sessions, reads, watches, apply, durability."""

from asyncio import get_running_loop
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from quorate.apply import effects, sessions
from quorate.apply.batch_writer import BatchWriter
from quorate.apply.effects import Effects, Head
from quorate.apply.entries import POSITION_BITS, LoggedCommand, Stamp, whole
from quorate.apply.evaluator import Evaluation, Evaluator
from quorate.apply.layers import Layer
from quorate.apply.outcomes import OUT_OF_RANGE, SESSION_EXPIRED, Outcome
from quorate.consensus.inherited import Outbox
from quorate.consensus.journal import Journal, Position
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Entry
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.replica import Replica
from quorate.shards.shard import log_keeper
from quorate.shards.shard.barrier import Barrier
from quorate.shards.shard.log_keeper import LogKeeper
from quorate.shards.shard.proposer import Proposer
from quorate.shards.shard.shard import Shard
from quorate.shards.shard.writes import Write
from quorate.shards.snapshots import queue as snapshots
from quorate.shards.snapshots.snapshot_messages import Offer
from quorate.shards.watching.feeds import LocalFeed, Lost, Page
from quorate.storage.data.checkpoint import Checkpoint, Manifest
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.record import KEY, AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.events import EventLog, EventRow, HistoryGoneError, StoredEvent
from quorate.storage.families import ANSWERS, APPLIED, EVENTS
from quorate.storage.log.shard_journal import ShardJournal
from quorate.storage.touched import Touched

from tests.support.sim.bugs.catalogue import CONFLICTS, CRASHES, POWER, READS, SNAPSHOTS, bug

#: Snapshots all the time, and machines that lose power on their way.
_INSTALLS: Final = replace(
    SNAPSHOTS,
    faults=replace(
        SNAPSHOTS.faults, cut_snapshot=0.1, power_loss=8, cluster_power_loss=3, failpoint=0.03
    ),
)
#: The last part of a snapshot comes when another leader, with a longer log, has sent entries.
_OVERTAKEN: Final = replace(
    SNAPSHOTS,
    long_tails=("n0",),
    faults=replace(SNAPSHOTS.faults, transfer=24, late_snapshot=1.0, cut_snapshot=0.0),
)
#: Logs are cut right behind what is durable.
_TAILLESS: Final = replace(POWER, tail=1, compaction_s=0.05, proposals=120.0)
#: Leadership moves while clients of sessions try again.
_SESSIONS: Final = replace(
    CRASHES,
    proposals=10.0,
    reads=2.0,
    sessions=4,
    session_commands=25.0,
    faults=replace(CRASHES.faults, every_s=0.3, pause=6, transfer=6, slow_way=6, clock_rate=4),
)
#: Watchers that move, and little history.
_WATCHES: Final = replace(
    CRASHES, watchers=6, retained=30, batch_bytes=300, faults=replace(CRASHES.faults, every_s=0.3)
)
#: Followers that lag.
_LAGS: Final = replace(_WATCHES, faults=replace(_WATCHES.faults, every_s=0.2, partition=12))

#: Leadership moves while much is in flight.
_HANDOVERS: Final = replace(
    CONFLICTS,
    proposals=120.0,
    faults=replace(CONFLICTS.faults, every_s=0.3, transfer=8, partition=6, slow_way=6),
)
#: Entries are small, and many of them are in flight.
_FLYING: Final = replace(CRASHES, proposals=120.0, batch_bytes=1)

_shard_commit = ShardData.commit
_unpack_into = effects.unpack_into
_begin = Evaluator.begin
_logged = Evaluator.logged
_log_entry = Proposer._log
_take_effects = BatchWriter._take_effects
_encode = effects.encode
_manifest = Checkpoint.manifest
_answer_known = sessions.answer_known
_record = sessions.record
_encode_events = EventRow.encode
_list = LocalFeed._list
_follow = LocalFeed._follow
_take = LocalFeed.take
_read_events = EventLog.read
_hold = Outbox.hold
_point = MemoryHome.point
_replace_data = Shard.replace_data
_record_encode = AppliedRecord.encode
_init_feed = LocalFeed.__init__


def _own_ms() -> int:
    """Return what the clock of the node shows whose code runs."""
    return 1_000_000 + int(get_running_loop().time() * 1_000)


# Installs.


@bug(MemoryHome, "sync", "install", _INSTALLS)
def pointer_before_files_are_synced(self: MemoryHome, folder: str) -> None:
    """The pointer names only what is durable."""
    return


@bug(MemoryHome, "point", "install", _INSTALLS)
def pointer_not_synced(self: MemoryHome, content: bytes) -> None:
    """The pointer is durable before the old data goes."""
    self._pointers.append(content)


@bug(log_keeper, "log_needs_reset", "install", _INSTALLS)
def log_not_reset_after_an_install(installed: Position | None, journal: Journal) -> bool:
    """A log that lacks the installed snapshot is reset to it."""
    return False


def _welcome(shard: Shard, offer: Offer) -> None:
    return


def _is_ahead_of_nothing(self: Replica, position: Position) -> bool:
    return True


@bug(
    Shard,
    "replace_data",
    "install",
    _OVERTAKEN,
    also=(
        (snapshots, "_demand_welcome", _welcome),
        (Replica, "_snapshot_is_ahead", _is_ahead_of_nothing),
    ),
)
def snapshot_behind_commit_installed(
    self: Shard,
    install: Callable[[ShardData], None],
    position: Position,
    configuration: Configuration,
) -> bool:
    """A snapshot at or below the commit index is refused."""
    self._driver.call(lambda: _install_anyhow(self, install, position, configuration))
    return True


def _install_anyhow(
    shard: Shard,
    install: Callable[[ShardData], None],
    position: Position,
    configuration: Configuration,
) -> None:
    install(shard.data)
    shard.applier.reopened(shard.data)
    shard.replica.snapshot_installed(position, configuration)
    shard._told_applied()


@bug(Checkpoint, "manifest", "install", SNAPSHOTS)
def events_left_out_of_snapshots(self: Checkpoint) -> Manifest:
    """A snapshot brings the events along."""
    manifest = _manifest(self)
    kept = tuple(file for file in manifest.files if file.name != quote(EVENTS))
    return replace(manifest, files=kept)


@bug(Checkpoint, "manifest", "install", SNAPSHOTS)
def answers_left_out_of_snapshots(self: Checkpoint) -> Manifest:
    """A snapshot brings the answers of sessions along."""
    manifest = _manifest(self)
    kept = tuple(file for file in manifest.files if file.name != quote(ANSWERS))
    return replace(manifest, files=kept)


@bug(Outbox, "hold", "install", _INSTALLS)
def install_acknowledged_before_it_is_durable(self: Outbox, message: Any, needs: int) -> None:
    """A snapshot is acknowledged once log and data are durable."""
    body = message.body
    is_install = getattr(body, "success", False) and body.prev_index == body.match > 0
    _hold(self, message, 0 if is_install else needs)


# Durability of the data.


@bug(LogKeeper, "_cut_behind", "durability", _TAILLESS)
def log_cut_above_what_is_durable(self: LogKeeper) -> None:
    """The log is cut below what the data holds durably."""
    policy = self._policy
    wanted = self._journal.tail_from(policy.tail_entries * 3 // 4, policy.tail_bytes * 3 // 4)
    index = min(wanted, self._data.applied)
    if index > self._journal.sentinel.index:
        self._cut(index)


@bug(ShardData, "synced", "durability", _TAILLESS)
def durable_index_read_too_late(self: ShardData, index: int) -> None:
    """What a sync covers is read before it begins."""
    self.durable_index = self.applied


@bug(ShardJournal, "note_applied", "durability", CONFLICTS)
def applied_index_noted_too_high(self: ShardJournal, index: int) -> None:
    """Only what was applied is applied again without a leader."""
    self._witnesses.note_applied(self.shard, self.last.index)


@bug(ShardData, "commit", "apply", CRASHES)
def index_not_in_the_batch(
    self: ShardData, batch: Batch, record: AppliedRecord, seen: Set[str] | None = None
) -> None:
    """The applied index is written with the rows."""
    self.engine.write(batch)
    self.touched = Touched(record.position.index)
    self.record = record
    last = Batch()
    last.put(APPLIED, KEY, record.encode())
    if record.position.index % 3 == 0:
        self.engine.write(last)


@bug(AppliedRecord, "encode", "apply", CRASHES)
def checksum_not_in_the_record(self: AppliedRecord) -> bytes:
    """The running checksum is stored with the applied index."""
    return _record_encode(replace(self, checksum=0))


@bug(effects, "unpack_into", "apply", CRASHES)
def some_effects_left_out(layer: Layer, found: Effects) -> set[str]:
    """Every effect of an entry is stored on every replica."""
    families = list(found.tables)
    if families and _own_ms() % 2:
        del found.tables[families[-1]]
    return _unpack_into(layer, found)


@bug(BatchWriter, "_take_effects", "apply", CRASHES)
def effects_stored_twice(self: Any, entry: Entry, found: Effects) -> None:
    """The effects of an entry are stored once."""
    before = vars(self._data).get("before")
    _take_effects(self, entry, found)
    if before is not None:
        effects.unpack_into(self.layer, effects.decode(before))
    vars(self._data)["before"] = entry.payload


# Evaluation.


@bug(Proposer, "_evaluates", "evaluation", _HANDOVERS)
def evaluated_before_the_first_entry_of_the_term(self: Proposer) -> bool:
    """Handlers run once the rows hold every entry of earlier terms."""
    if self._evaluates_in != self._replica.term and self.leads:
        self._evaluator.begin()
        self._evaluates_in = self._replica.term
    return self.leads


@bug(Evaluator, "begin", "evaluation", _HANDOVERS)
def overlay_kept_after_leadership_was_lost(self: Evaluator) -> None:
    """What was evaluated and is not stored is forgotten with leadership."""
    flying = list(self._flying) if hasattr(self, "_state") else []
    _begin(self)
    self._flying.extend(flying)


@bug(Evaluator, "begin", "evaluation", _HANDOVERS)
def recent_rows_kept_after_leadership_was_lost(self: Evaluator) -> None:
    """What was written last is read anew once another leader may have written it."""
    recent = vars(self).get("_recent")
    _begin(self)
    if recent is not None:
        self._recent = recent


@bug(Evaluator, "logged", "evaluation", _FLYING)
def overlay_forgotten_in_flight(self: Evaluator, evaluation: Evaluation) -> None:
    """Later commands see the effects of the entries in flight."""
    _logged(self, evaluation)
    self._flying.clear()


@bug(Proposer, "_log", "evaluation", _HANDOVERS)
def answered_before_commit(
    self: Proposer, evaluation: Evaluation, writes: Sequence[Write], took_s: float
) -> None:
    """A write is answered once its entry is stored."""
    _log_entry(self, evaluation, writes, took_s)
    for write, outcomes in zip(writes, evaluation.outcomes, strict=True):
        if not write.future.done():
            write.future.set_result(outcomes)


@bug(Proposer, "_log", "evaluation", _HANDOVERS)
def refusal_told_at_once(
    self: Proposer, evaluation: Evaluation, writes: Sequence[Write], took_s: float
) -> None:
    """A refusal speaks of the newest state, and waits for its entry as well."""
    _log_entry(self, evaluation, writes, took_s)
    for write, outcomes in zip(writes, evaluation.outcomes, strict=True):
        if not write.future.done() and all(each.refusal is not None for each in outcomes):
            write.future.set_result(outcomes)


@bug(Evaluator, "begin", "evaluation", CRASHES)
def derived_state_not_renewed(self: Evaluator) -> None:
    """A new leader derives anew from the rows what it knows beside them, its slots among it."""
    before = getattr(self, "_state", None)
    _begin(self)
    if before is not None:
        self._state = before


@bug(effects, "encode", "evaluation", _SESSIONS)
def answers_left_out_of_the_effects(head: Head, happened: EventRow, tables: Any) -> bytes:
    """The answers of sessions are effects: the next leader knows them."""
    return _encode(head, happened, [each for each in tables if each[0] != ANSWERS])


# Sessions.


@bug(sessions, "answer_known", "sessions", _SESSIONS)
def unknown_session_applied(
    layer: Layer, command: LoggedCommand, stamp: Stamp, revision: int, now_ms: int
) -> Outcome | None:
    """A command of a session that is unknown or expired is refused."""
    known = _answer_known(layer, command, stamp, revision, now_ms)
    if known and known.refusal and known.refusal.code == SESSION_EXPIRED:
        return None
    return known


@bug(sessions, "answer_known", "sessions", _SESSIONS)
def below_the_lowest_applied(
    layer: Layer, command: LoggedCommand, stamp: Stamp, revision: int, now_ms: int
) -> Outcome | None:
    """What lies below the lowest unanswered sequence is refused."""
    known = _answer_known(layer, command, stamp, revision, now_ms)
    if known and known.refusal and known.refusal.code == OUT_OF_RANGE:
        return None
    return known


@bug(sessions, "answer_known", "sessions", _SESSIONS)
def sessions_expire_by_the_own_clock(
    layer: Layer, command: LoggedCommand, stamp: Stamp, revision: int, now_ms: int
) -> Outcome | None:
    """Sessions expire by logical time."""
    return _answer_known(layer, command, stamp, revision, _own_ms())


@bug(sessions, "record", "sessions", _SESSIONS)
def answer_not_recorded(
    layer: Layer, command: LoggedCommand, stamp: Stamp, outcome: Outcome
) -> None:
    """An answer is recorded with what the command wrote."""
    return


@bug(sessions, "record", "sessions", _SESSIONS)
def refusal_not_recorded(
    layer: Layer, command: LoggedCommand, stamp: Stamp, outcome: Outcome
) -> None:
    """A refusal is an answer, too."""
    if outcome.refusal is None:
        _record(layer, command, stamp, outcome)


# Reads.


@bug(Barrier, "_wait", "reads", READS)
def read_served_before_applied(self: Barrier, index: int, readers: list[Any]) -> None:
    """A read waits until its index is applied here."""
    self._serve(readers)


@bug(Barrier, "read", "reads", READS)
def read_joins_a_question_under_way(
    self: Barrier, timeout_s: float, *, patient: bool = True
) -> Any:
    """A read never joins a question that was asked before it came."""
    reader = self._reader(timeout_s, patient=patient)
    if self._asked:
        next(iter(self._asked.values())).append(reader)
    else:
        self._arriving.append(reader)
        self._gather()
    return reader.future


@bug(Barrier, "answered", "reads", READS)
def unanswered_read_served(self: Barrier, outcomes: Any) -> None:
    """A read that got no index asks again."""
    known = (ReadOutcome(each.token, each.index or self._applied) for each in outcomes)
    _answered(self, tuple(known))


_answered = Barrier.answered


@bug(Barrier, "wait_for", "reads", READS)
def least_revision_ignored(self: Barrier, index: int, timeout_s: float) -> Any:
    """A read waits for the revision that its caller has seen."""
    reader = self._reader(timeout_s)
    self._serve([reader])
    return reader.future


# Watches.


@bug(EventRow, "encode", "watches", _WATCHES)
def event_row_left_out(self: EventRow, at_ms: int) -> bytes:
    """Every change is in the event row of its entry."""
    if len(self.runs) > 1:
        del self.parts[self.runs[-1][2] :]
        self.runs.pop()
    return _encode_events(self, at_ms)


@bug(LocalFeed, "_list", "watches", _WATCHES)
def revision_taken_after_the_list(self: LocalFeed) -> Page | Lost | None:
    """The revision of a list is read before its rows."""
    page = _list(self)
    if isinstance(page, Page) and not page.listing:
        now = whole(self._replica.data.applied)
        self._position = now
        return replace(page, revision=now)
    return page


@bug(LocalFeed, "__init__", "watches", _WATCHES)
def token_off_by_one(self: LocalFeed, *given: Any) -> None:
    """A watch goes on behind its token, and not behind the entry after it."""
    _init_feed(self, *given)
    if self._position is not None:
        self._position += 1 << POSITION_BITS


@bug(Touched, "unchanged_to", "watches", _WATCHES)
def passed_over(self: Touched, names: Iterable[str], index: int) -> int:
    """A watch passes over entries of other families alone."""
    return index if index < self._known_from else max(index, self._applied)


@bug(EventLog, "read", "watches", _LAGS)
def trimmed_without_a_word(
    self: EventLog, after_revision: int, selection: Mapping[str, bytes] | None = None, **most: Any
) -> tuple[list[StoredEvent], int]:
    """Whoever asks for history that is gone is told so."""
    try:
        return _read_events(self, after_revision, selection, **most)
    except HistoryGoneError as gone:
        behind = (gone.oldest << POSITION_BITS) - 1
        return _read_events(self, behind, selection, **most)


@bug(LocalFeed, "_follow", "watches", _LAGS)
def token_ahead_of_the_replica_forgotten(self: LocalFeed, position: int) -> Page | None:
    """A token that is ahead of the replica waits for it."""
    self._position = min(position, whole(self._replica.data.applied))
    return _follow(self, self._position)


@bug(LocalFeed, "take", "watches", _LAGS)
def resync_swallowed(self: LocalFeed) -> Page | Lost | None:
    """A watch that lost history says so."""
    page = _take(self)
    if isinstance(page, Lost) and self._position is not None:
        self._lost = None
        self._position = whole(self._replica.data.applied)
        return Page((), self._position)
    return page

"""Applies the entries of one shard's log, in order, each exactly once, alike on every replica.

Nothing here depends on a clock but how many entries are taken in one go, and how entries are
divided into batches changes no row, no outcome and no checksum.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final, NamedTuple

from google.protobuf.message import Message

from quorate.apply import checksum as folding, control, deadlines, retention, sessions, slot_set
from quorate.apply.control import ControlRoute, MirrorPosition, Standing
from quorate.apply.entries import (
    EntryError,
    LoggedCommand,
    Stamp,
    decode,
    index_of,
    revision_of,
    whole,
)
from quorate.apply.layers import Layer, Table
from quorate.apply.outcomes import (
    INTERNAL,
    RESERVED,
    WRONG_SHARD,
    AppliedEntry,
    Outcome,
    Refusal,
    ReplicaStoppedError,
)
from quorate.apply.scope import Family, Scope
from quorate.apply.slot_set import SlotSet
from quorate.apply.tally import ApplyTally
from quorate.apply.txn import ShardReader, ShardTxn, number_of
from quorate.consensus.journal import Position
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin import Rejected, Txn
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, EngineError, FullError, Segment, StalledError
from quorate.storage.events import EventRow, event_key
from quorate.storage.families import COUNTS, EVENTS, MEMBERS, NODES, SHARDS, SLOTS

#: The checksums of so many entries are remembered, to be compared with the leader's.
REMEMBERED: Final = 4_096

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyLimits:
    """How much is applied in one go, and how much history is kept."""

    #: A turn ends between two entries once it has taken so many bytes or seconds.
    #: The time leaves out the write at its end, which takes more than the handlers' part.
    turn_bytes: int = 256 << 10
    turn_s: float = 0.005
    #: Events are kept for so many entries and for so long; both are the same on every replica.
    retained_entries: int = 100_000
    retained_ms: int = 300_000


#: Called with command, index and error when code of a plugin failed.
OnFailure = Callable[[str, int, Exception], None]


class _Route(NamedTuple):
    """How a command of a plugin is applied in this shard."""

    parse: Callable[[bytes], Message]
    apply: Callable[[Txn, Message], Message | None]
    scope: Scope


class Applier:
    """The state machine of one shard on this node."""

    def __init__(
        self,
        catalog: Catalog,
        shard: ShardId,
        data: ShardData,
        *,
        clock: Callable[[], float] = perf_counter,
        limits: ApplyLimits | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        self.shard: Final = shard
        self._catalog: Final = catalog
        self._data = data
        self._clock: Final = clock
        self.limits: Final = ApplyLimits() if limits is None else limits
        self._on_failure: Final = self._log_failure if on_failure is None else on_failure
        self._routes: Final = {
            name: _Route(route.parse, route.apply, Scope.of_route(catalog, route))
            for name, route in catalog.routes.items()
            if route.group == shard.group
        }
        self._counted: Final = tuple(
            family.name
            for family in catalog.families.values()
            if family.group == shard.group and family.counted
        )
        #: The families of which every change is an event.
        self._told: Final = frozenset(
            {family.name for family in _own(catalog, shard) if family.public}
            | set(control.SCOPE.writes)
        )
        self._mirrored: Final = mirrored(catalog, shard.group)
        #: How many commands failed by a bug since the start.
        self.failures = 0
        self.tally: Final = ApplyTally()
        #: How many batches changed which shards or nodes there are; other data counts as one, too.
        self.cluster_changes = 0
        self._read_again()

    # How far it has come.

    @property
    def applied(self) -> int:
        """The index of the newest entry that was applied."""
        return self._data.applied

    @property
    def revision(self) -> int:
        """The newest revision that the rows hold: the one behind every command applied."""
        return whole(self._data.applied) if self._data.applied else 0

    @property
    def now_ms(self) -> int:
        """The shard's logical time."""
        return self._data.record.now_ms

    @property
    def slots(self) -> SlotSet:
        """The slots that the shard owns."""
        return self._standing.slots

    @property
    def generation(self) -> int:
        """How many times the cluster was restored from a backup."""
        return self._standing.generation

    def checksum_at(self) -> tuple[int, int]:
        """Return the applied index and the running checksum there, for a leader's entries."""
        return self._data.applied, self._data.record.checksum

    def compare(self, index: int, checksum: int) -> None:
        """Hold a checksum against the own one at an index, if that is remembered.

        Raises `ReplicaStoppedError` when they differ.
        """
        self._compare(index, checksum, {})

    def reopened(self, data: ShardData) -> None:
        """Go on with other data: a snapshot was installed."""
        self._data = data
        self.cluster_changes += 1
        self._read_again()

    # What it shows.

    def reader(self, reads: frozenset[str]) -> ShardReader:
        """Return a view of some families; it is of one moment as long as nothing is applied."""
        return ShardReader(
            self._data,
            Scope.of_reads(self._catalog, reads),
            revision=self.revision,
            now_ms=self.now_ms,
            shard=self._standing.shard.number,
        )

    def counts(self) -> Mapping[str, int]:
        """Return how many rows each family has that is counted."""
        found = {name: self._data.get(COUNTS, name.encode()) for name in self._counted}
        return {name: 0 if stored is None else number_of(stored) for name, stored in found.items()}

    def mirror_position(self, family: str) -> MirrorPosition | None:
        """Return how far the copy of a mirrored family has come; None when it was never begun."""
        return control.mirror_position(self._data, family)

    def due(self, timer: str, now_ms: int, limit: int) -> list[tuple[bytes, int]]:
        """Return the first keys of a timer that are due by now, each with its deadline."""
        low_ms = self._lows.get(timer, deadlines.NEVER_BEFORE)
        found = deadlines.due(self._data, timer, now_ms, limit, low_ms)
        if found:
            self._lows[timer] = found[0][1]
        elif now_ms > low_ms:
            self._lows[timer] = min(now_ms + 1, deadlines.EVER_AFTER)
        return found

    def next_due(self, timer: str) -> int | None:
        """Return the earliest deadline of a timer."""
        found = self.due(timer, deadlines.EVER_AFTER, 1)
        return found[0][1] if found else None

    # What it does.

    def apply(self, entries: Sequence[Entry]) -> list[AppliedEntry]:
        """Apply at least the first of these entries, in one batch, and return what came of them.

        It returns between two entries once a turn is long enough: the rest is for the next call.
        After `StalledError` and `FullError` nothing has happened, and the same entries may be
        given again. Anything else that is raised ends this replica.
        """
        began = self._clock()
        turn = _Turn(self, self._data, self._standing)
        room = self.limits.turn_bytes
        for entry in entries:
            turn.apply(entry)
            room -= len(entry.payload)
            if room <= 0 or self._clock() - began >= self.limits.turn_s:
                break
        turn.commit()
        self.tally.turn(turn.applied, self._clock() - began)
        return turn.applied

    def _committed(self, turn: _Turn) -> None:
        self._standing = turn.standing
        if not turn.layer.tables.keys().isdisjoint((SHARDS, NODES, MEMBERS)):
            self.cluster_changes += 1
        self.failures += len(turn.failed)
        for command, index, error in turn.failed:
            self._on_failure(command, index, error)
        ring = self._checksums
        ring.update(turn.checksums)
        while len(ring) > REMEMBERED:
            del ring[next(iter(ring))]
        for timer, at_ms in deadlines.timers_moved(turn.layer).items():
            low_ms = self._lows.get(timer)
            if low_ms is not None:
                self._lows[timer] = min(low_ms, at_ms)

    def _read_again(self) -> None:
        data = self._data
        #: From where on to look for what is due: rows that were deleted lie before.
        self._lows: dict[str, int] = {}
        self._checksums = {data.applied: data.record.checksum}
        self._standing = Standing(
            shard=self.shard,
            mirrored=self._mirrored,
            slots=SlotSet.decode(data.get(SLOTS, slot_set.KEY)),
            generation=data.record.generation,
            sessions_ms=sessions.first_check(data),
        )

    def _compare(self, index: int, checksum: int, newer: Mapping[int, int]) -> None:
        own = newer.get(index, self._checksums.get(index))
        if index and own is not None and own != checksum:
            raise ReplicaStoppedError(
                index,
                f"The rows of shard {self.shard} on this node are not those of its leader: at index"
                f" {index} the checksum is {own:08x} here and {checksum:08x} there. A handler is"
                " not deterministic, or a disk lied. Replace this member with"
                " `quorate member replace`.",
            )

    def _log_failure(self, command: str, index: int, error: Exception) -> None:
        _log.error(
            "command %s at index %d of shard %s failed with %s: %s; its writes were dropped,"
            " repair its data route",
            command,
            index,
            self.shard,
            type(error).__name__,
            error,
            exc_info=error,
            extra={"command": command, "index": index, "shard": str(self.shard)},
        )


class _Turn:
    """The entries that are applied and stored together."""

    def __init__(self, applier: Applier, data: ShardData, standing: Standing) -> None:
        self._applier: Final = applier
        self._data: Final = data
        self._record = data.record
        self.layer: Final = Layer(data)
        self.standing = replace(standing)
        self.applied: Final[list[AppliedEntry]] = []
        self.checksums: Final[dict[int, int]] = {}
        #: Commands that failed by a bug: told once, when what came of them is stored.
        self.failed: Final[list[tuple[str, int, Exception]]] = []
        self._index = data.applied
        self._now_ms = self._record.now_ms
        self._checksum = self._record.checksum
        self._configuration = (self._record.configuration_index, self._record.configuration)
        #: What this entry's commands changed in families whose changes are not events.
        self._untold: list[tuple[str, Table]] = []
        self._trim_step: Final = retention.step_of(applier.limits.retained_entries)

    def apply(self, entry: Entry) -> None:
        """Apply one entry."""
        if entry.index != self._index + 1:
            raise ValueError(f"entry {entry.index} comes after entry {self._index}")
        self._index = entry.index
        outcomes: tuple[Outcome, ...] = ()
        events = EventRow()
        if entry.kind is EntryKind.COMMAND:
            outcomes = self._commands(entry, events)
        elif entry.kind is EntryKind.CONFIG:
            self._configuration = (entry.index, entry.payload)
        row = events.encode(self._now_ms) if events.parts else b""
        if row:
            self.layer.put(EVENTS, event_key(entry.index), row)
        self._checksum = folding.fold_entry(self._checksum, entry.index, self._now_ms, row)
        self.checksums[entry.index] = self._checksum
        if entry.index % self._trim_step == 0:
            limits = self._applier.limits
            retention.trim(
                self.layer,
                entry.index,
                self._now_ms,
                limits.retained_entries,
                limits.retained_ms,
            )
        self.applied.append(AppliedEntry(entry.index, entry.term, outcomes, self._now_ms))
        self._term = entry.term

    def commit(self) -> None:
        """Store all of it; only then does it exist."""
        batch = Batch()
        for family, table in self.layer.tables.items():
            batch.segments[family] = [Segment(table.ranges, table.rows)]
        configuration_index, configuration = self._configuration
        record = AppliedRecord(
            Position(self._index, self._term),
            configuration_index,
            configuration,
            self._now_ms,
            self._checksum,
            self.standing.generation,
        )
        try:
            self._data.commit(batch, record)
        except (StalledError, FullError):
            raise
        except EngineError as error:
            raise self._stopped(f"cannot be stored: {error}") from error
        self._applier._committed(self)

    def _commands(self, entry: Entry, events: EventRow) -> tuple[Outcome, ...]:
        try:
            batch = decode(entry.payload)
        except EntryError as error:
            raise self._stopped(
                f"cannot be read: {error}. Run the version of quorate that its leader runs."
            ) from None
        self._applier._compare(batch.checked_index, batch.checksum, self.checksums)
        self._check_known(batch.commands)
        self._now_ms = max(self._now_ms, batch.proposed_at_ms)
        if self.standing.sessions_ms < self._now_ms:
            self.standing.sessions_ms = sessions.expire(
                self.layer, self._now_ms, self.standing.sessions_ms
            )
        outcomes = []
        try:
            for revision, command in enumerate(batch.commands, revision_of(entry.index, 0)):
                if command.stamp is None:
                    outcome = self._run(command, revision, events)
                else:
                    outcome = self._once(command, command.stamp, revision, events)
                outcomes.append(outcome)
        except EngineError as error:
            raise self._stopped(f"cannot be applied: {error}") from error
        checksum = folding.fold_tables(self._checksum, self._untold)
        self._checksum = folding.fold_outcomes(checksum, outcomes)
        self._untold.clear()
        return tuple(outcomes)

    def _check_known(self, commands: Sequence[LoggedCommand]) -> None:
        routes = self._applier._routes
        for name in dict.fromkeys([command.type for command in commands]):
            if name not in routes and name not in control.ROUTES:
                raise self._stopped(
                    f"holds command {name}, which no enabled plugin applies in"
                    f" {self.standing.shard.group}. Enable the plugin that declares it, in the"
                    " version that the other nodes have."
                )

    def _once(
        self, command: LoggedCommand, stamp: Stamp, revision: int, events: EventRow
    ) -> Outcome:
        layer = Layer(self.layer)
        known = sessions.answer_known(layer, command, stamp, revision, self._now_ms)
        if known is not None:
            self._merge(layer)
            return known
        refusal = self._foreign(command)
        if refusal is not None:
            # It was not applied, and may be where its slots are: nothing is remembered.
            return Outcome(revision, refusal=refusal)
        outcome = self._run(command, revision, events)
        sessions.record(layer, command, stamp, outcome)
        self._merge(layer)
        return outcome

    def _run(self, command: LoggedCommand, revision: int, events: EventRow) -> Outcome:
        route = self._applier._routes.get(command.type)
        if route is None:
            return self._control(control.ROUTES[command.type], command, revision, events)
        refusal = self._foreign(command)
        if refusal is not None:
            return Outcome(revision, refusal=refusal)
        layer, mark = Layer(self.layer), events.mark()
        txn = self._txn(layer, route.scope, events, revision)
        try:
            answer = route.apply(txn, route.parse(command.payload))
            reply = b"" if answer is None else _serialized(answer)
        except Rejected as error:
            refusal = Refusal(str(error.code), str(error.message))
            if refusal.code in RESERVED:
                refusal = self._failed(command, revision, _reserved(refusal.code))
        except (MemoryError, EngineError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of a handler is an outcome too
            refusal = self._failed(command, revision, error)
        finally:
            txn.end()
        if layer.fault is not None:
            # The handler went on although a read had failed.
            raise layer.fault
        if refusal is not None:
            events.back_to(mark)
            return Outcome(revision, refusal=refusal)
        self._merge(layer)
        return Outcome(revision, reply)

    def _control(
        self, route: ControlRoute, command: LoggedCommand, revision: int, events: EventRow
    ) -> Outcome:
        layer, mark, standing = Layer(self.layer), events.mark(), replace(self.standing)
        txn = self._txn(layer, control.SCOPE, events, revision)
        try:
            answer = route.apply(txn, route.parse(command.payload), self.standing)
            reply = b"" if answer is None else _serialized(answer)
        except Rejected as error:
            refusal = Refusal(error.code, error.message)
        except (MemoryError, EngineError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug in core is an outcome, too
            refusal = self._failed(command, revision, error)
        else:
            self._merge(layer)
            return Outcome(revision, reply)
        self.standing = standing
        events.back_to(mark)
        return Outcome(revision, refusal=refusal)

    def _txn(self, layer: Layer, scope: Scope, events: EventRow, revision: int) -> ShardTxn:
        return ShardTxn(
            layer,
            scope,
            events,
            revision=revision,
            at_ms=self._now_ms,
            shard=self.standing.shard.number,
        )

    def _merge(self, layer: Layer) -> None:
        told = self._applier._told
        for family, table in layer.tables.items():
            if family not in told:
                self._untold.append((family, table))
        layer.merge_into(self.layer)

    def _foreign(self, command: LoggedCommand) -> Refusal | None:
        """Return the refusal of a command that touches slots which the shard does not own."""
        slots = self.standing.slots
        if command.slotless or not command.slots or slots.owned.issuperset(command.slots):
            return None
        missing = min(slot for slot in command.slots if not slots.owns(slot))
        return Refusal(
            WRONG_SHARD,
            f"slot {missing} is not owned by shard {self.standing.shard} in version"
            f" {slots.version} of its slots: route the command anew",
        )

    def _failed(self, command: LoggedCommand, revision: int, error: Exception) -> Refusal:
        index = index_of(revision)
        self.failed.append((command.type, index, error))
        # The text of an error may hold an address, which differs between replicas.
        return Refusal(
            INTERNAL,
            f"command {command.type} failed at index {index} with {type(error).__name__}; its"
            " writes were dropped; the nodes' logs tell more",
        )

    def _stopped(self, what: str) -> ReplicaStoppedError:
        return ReplicaStoppedError(
            self._index, f"Entry {self._index} of shard {self.standing.shard} {what}"
        )


def mirrored(catalog: Catalog, group: str) -> Mapping[str, Family]:
    """Return the families of other groups that handlers and queries of this group read."""
    readers = [route for route in catalog.routes.values() if route.group == group]
    names = {name for route in readers for name in route.reads}
    names.update(name for q in catalog.queries.values() if q.group == group for name in q.reads)
    return {
        name: Family.of(catalog.families[name])
        for name in sorted(names)
        if catalog.families[name].mirrored and catalog.families[name].group != group
    }


def families_of(catalog: Catalog, group: str) -> tuple[str, ...]:
    """Return the families of plugins that the shards of a group keep: its own, and copies."""
    own = {family.name for family in catalog.families.values() if family.group == group}
    return tuple(sorted(own.union(mirrored(catalog, group))))


def _own(catalog: Catalog, shard: ShardId) -> list[Family]:
    return [Family.of(each) for each in catalog.families.values() if each.group == shard.group]


def _reserved(code: str) -> ValueError:
    return ValueError(f"the handler refused with {code}, which is core's own: choose another code")


def _serialized(answer: Message) -> bytes:
    if not isinstance(answer, Message):
        raise TypeError(f"the handler answered a {type(answer).__name__}, not a message")
    return answer.SerializeToString(deterministic=True)

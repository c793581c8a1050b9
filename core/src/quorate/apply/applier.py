"""Stores the effects of a shard's entries in order, each exactly once, the same on every replica.

No plugin code runs here. The division of entries into batches affects no row and no checksum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

from quorate.apply import checks, cuts, deadlines, freezes, publications, slot_set
from quorate.apply.batch_writer import BatchWriter, FindEvaluated, PreparedFiles
from quorate.apply.entries import Copies, whole
from quorate.apply.layers import Rows
from quorate.apply.mirrors import MirrorPosition
from quorate.apply.outcomes import StoredEntry
from quorate.apply.scope import Scope
from quorate.apply.slot_ownership import NOWHERE, OwnRows, Owns, SlotOwnership
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardReader
from quorate.consensus.messages import Entry
from quorate.observe.histogram import SECONDS, Histogram
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.shard_data import ShardData
from quorate.storage.families import (
    FILE_SETS,
    LEVELS,
    MEMBERS,
    NODES,
    PUBLICATIONS,
    SHARDS,
    SLOTS,
)
from quorate.v1.control_pb2 import CheckRows, CutShard
from quorate.v1.files_pb2 import FileSet

_OF_CLUSTER: Final = frozenset((SHARDS, NODES, MEMBERS, LEVELS, PUBLICATIONS))
_OF_CORE: Final = _OF_CLUSTER | {SLOTS, FILE_SETS}

#: Maximum number of recent checksums to compare with the leader's.
REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyLimits:
    """Limits of a turn and of the event history."""

    #: A turn ends between two entries once it has taken this many bytes or seconds.
    #: The time excludes the write at its end.
    turn_bytes: int = 256 << 10
    turn_s: float = 0.005
    #: Events are kept for this many entries and this long; both are the same on every replica.
    retained_entries: int = 100_000
    retained_ms: int = 300_000


class ApplyCounters:
    """Counts the applied entries and commands since the shard was opened, and times the turns."""

    __slots__ = ("commands", "entries", "turns")

    def __init__(self) -> None:
        self.entries = 0
        self.commands = 0
        #: The duration of each turn, including the write at its end.
        self.turns: Final = Histogram(SECONDS)

    def turn(self, entries: int, commands: int, took_s: float) -> None:
        """Count the entries and commands of a turn."""
        self.entries += entries
        self.commands += commands
        self.turns.observe(took_s)


class Applier:
    """The rows of a shard on this node, and the state derived from them."""

    def __init__(
        self,
        catalog: Catalog,
        shard: ShardId,
        data: ShardData,
        *,
        ownership: SlotOwnership = NOWHERE,
        clock: Callable[[], float] = perf_counter,
        limits: ApplyLimits | None = None,
    ) -> None:
        self.shard: Final = shard
        self._catalog: Final = catalog
        self._data = data
        #: Where rows and deadlines belong.
        self.ownership: Final = ownership
        self._clock: Final = clock
        self.limits: Final = ApplyLimits() if limits is None else limits
        #: The scopes of readers by families.
        self._scopes: Final[dict[frozenset[str], Scope]] = {}
        self.counters: Final = ApplyCounters()
        #: The entry whose files are here, and the files.
        self._prepared: PreparedFiles = (0, {})
        #: How many batches changed the shards, nodes or publications; a replacement of the data
        #: counts, too.
        self.cluster_changes = 0
        #: How many batches changed those, slots or sets of files, or had an entry that is no
        #: command; a replacement of the data counts, too.
        self.core_changes = 0
        self._derive()

    # Progress.

    @property
    def applied(self) -> int:
        """The index of the newest stored entry."""
        return self._data.applied

    @property
    def revision(self) -> int:
        """The newest revision of the rows: after every stored command."""
        return whole(self._data.applied) if self._data.applied else 0

    @property
    def now_ms(self) -> int:
        """The shard's logical time."""
        return self._data.record.now_ms

    @property
    def generation(self) -> int:
        """How many times the cluster was restored from a backup."""
        return self._data.record.generation

    def checksum_at(self) -> tuple[int, int]:
        """Return the applied index and its running checksum, for a leader's entries."""
        return self._data.applied, self._data.record.checksum

    def reopened(self, data: ShardData) -> None:
        """Switch to other data, after a snapshot was installed."""
        self._data = data
        self.cluster_changes += 1
        self.core_changes += 1
        self._derive()

    # Reads.

    def reader(self, reads: frozenset[str], copies: Copies = Copies.FRESH) -> ShardReader:
        """Return a view of some families, consistent until something is stored."""
        scope = self._scopes.get(reads)
        if scope is None:
            scope = self._scopes[reads] = Scope.of_reads(self._catalog, reads)
        return ShardReader(
            self.own_rows,
            scope,
            revision=self.revision,
            now_ms=self.now_ms,
            shard=self.shard.number,
            copies=copies,
        )

    def mirror_position(self, family: str) -> MirrorPosition | None:
        """Return the position of the copy of a mirrored family; None before its start."""
        return MirrorPosition.of(self._data, family)

    def due(self, timer: str, now_ms: int, limit: int) -> list[tuple[bytes, int]]:
        """Return the first due keys of a timer with their deadlines."""
        low_ms = self._lows.get(timer, deadlines.NEVER_BEFORE)
        owns = self.ownership.timer_owner(timer, self.slots.owned) if self.foreign else None
        found = deadlines.due(self._data, timer, now_ms, limit, low_ms, owns)
        if found:
            self._lows[timer] = found[0][1]
        elif now_ms > low_ms:
            self._lows[timer] = min(now_ms + 1, deadlines.EVER_AFTER)
        return found

    def next_due(self, timer: str) -> int | None:
        """Return the earliest deadline of a timer."""
        found = self.due(timer, deadlines.EVER_AFTER, 1)
        return found[0][1] if found else None

    # Writes.

    def apply(
        self, entries: Sequence[Entry], evaluated: FindEvaluated = lambda _: None
    ) -> list[StoredEntry]:
        """Store at least the first of these entries in one batch, and return those stored.

        What `evaluated` finds is not unpacked again.

        It stops between two entries at the limit of a turn; pass the rest to the next call.
        After `StalledError` and `FullError` nothing was stored, and the call can be repeated.
        `FilesNeededError` means that the first entry puts files in place: call again once
        `prepared` has them. Any other exception ends this replica.
        """
        began = self._clock()
        batch = BatchWriter(
            self.shard,
            self._data,
            self.limits,
            self._prepared,
            self._checksums,
            self._families,
            evaluated,
        )
        room = self.limits.turn_bytes
        for entry in entries:
            if not batch.take(entry):
                break
            room -= len(entry.payload)
            if room <= 0 or batch.cut or self._clock() - began >= self.limits.turn_s:
                break
        batch.commit()
        self._committed(batch)
        self.counters.turn(len(batch.stored), batch.commands, self._clock() - began)
        return batch.stored

    def prepared(self, files: FileSet, paths: Mapping[str, Sequence[Path]]) -> None:
        """Let the entry of a file set be stored: its files are here, by family."""
        self._prepared = files.ingested_at, paths

    # Splits.

    @property
    def own_rows(self) -> Rows:
        """The rows, without those of slots that the shard has given away or was not given."""
        if not self.foreign:
            return self._data
        owned = self.slots.owned
        return OwnRows(self._data, self.ownership, lambda: owned)

    def owner(self, family: str) -> Owns | None:
        """Return a predicate of rows in own slots; None if all rows of the family are."""
        return self.ownership.owner(family, self.slots.owned) if self.foreign else None

    @property
    def cut_here(self) -> CutShard | None:
        """The cut, if that is the newest applied entry: only now the new shards can be copied."""
        cut = self.cut
        return cut if cut is not None and cut.index == self._data.applied else None

    @property
    def check_here(self) -> CheckRows | None:
        """The last check, if that is the newest applied entry: its rows are those of now."""
        check = self._check
        return check if check is not None and check.index == self._data.applied else None

    def _committed(self, batch: BatchWriter) -> None:
        """Update the state derived from rows by the stored effects."""
        changed = batch.layer.tables
        if batch.files:
            # There are deadlines among the rows, and nobody knows which.
            self._lows.clear()
            self._prepared = 0, {}
        if SLOTS in changed:
            self._derive_slots()
        if not changed.keys().isdisjoint(_OF_CLUSTER):
            self.cluster_changes += 1
        if batch.of_consensus or not changed.keys().isdisjoint(_OF_CORE):
            self.core_changes += 1
        ring = self._checksums
        ring.update(batch.checksums)
        while len(ring) > REMEMBERED:
            del ring[next(iter(ring))]
        for timer, at_ms in deadlines.timers_moved(batch.layer).items():
            low_ms = self._lows.get(timer)
            if low_ms is not None:
                self._lows[timer] = min(low_ms, at_ms)

    def _derive(self) -> None:
        data = self._data
        #: Where to start the search for due keys: only deleted rows are before it.
        self._lows: dict[str, int] = {}
        self._checksums = {data.applied: data.record.checksum}
        self._families = set(data.families)
        self._derive_slots()

    def _derive_slots(self) -> None:
        data = self._data
        #: The slots that the shard owns, and whether there may be rows of others.
        self.slots = SlotSet.decode(data.get(SLOTS, slot_set.KEY))
        self.foreign = cuts.has_foreign(data)
        #: The state of publications in the shard.
        self.published = publications.mark(data)
        #: The last cut of the shard, and how it is frozen, if so.
        self.cut = cuts.last_cut(data)
        self.frozen = freezes.frozen(data)
        self._check = checks.last_check(data)

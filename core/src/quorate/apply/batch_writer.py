"""Stores the effects of one batch of entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zlib import crc32

from quorate.apply import checks, cuts, effects, file_sets, retention
from quorate.apply.effects import Effects, EffectsError
from quorate.apply.layers import Layer
from quorate.apply.outcomes import (
    FilesNeededError,
    ReplicaStoppedError,
    RowsDifferError,
    StoredEntry,
)
from quorate.consensus.journal import Position
from quorate.consensus.messages import COMMAND, CONFIG, Entry
from quorate.observe.failpoints import failpoint
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, EngineError, FullError, Segment, StalledError
from quorate.storage.events import event_key
from quorate.storage.families import EVENTS, FILE_SETS, SLOTS

if TYPE_CHECKING:
    from quorate.apply.applier import ApplyLimits

#: The entry whose files are here, and the files by family.
PreparedFiles = tuple[int, Mapping[str, Sequence[Path]]]
#: Returns the effects of an entry that this replica has evaluated itself, or None.
FindEvaluated = Callable[[Entry], Effects | None]


def compare(shard: ShardId, index: int, own: int | None, checksum: int) -> None:
    """Raise `RowsDifferError` if the checksums of an index differ; None, of index 0: unknown."""
    if index and own is not None and own != checksum:
        raise RowsDifferError(
            index,
            f"The rows of shard {shard} on this node differ from its leader's: at index"
            f" {index} the checksum is {own:08x} here and {checksum:08x} there. The disk or"
            " quorate has a fault. Replace this member with `quorate member replace`.",
        )


class BatchWriter:
    """The entries of one batch: their effects are stored together."""

    def __init__(
        self,
        shard: ShardId,
        data: ShardData,
        limits: ApplyLimits,
        prepared: PreparedFiles,
        known: Mapping[int, int],
        families: set[str],
        evaluated: FindEvaluated = lambda _: None,
    ) -> None:
        """Begin a batch after the newest stored entry.

        `known` are the checksums of earlier entries by index; a family that is opened is added to
        `families`.
        """
        self._shard: Final = shard
        self._data: Final = data
        self._limits: Final = limits
        self._prepared: Final = prepared
        self._known: Final = known
        self._families: Final = families
        self._evaluated: Final = evaluated
        record = data.record
        self.layer: Final = Layer(data)
        self.stored: Final[list[StoredEntry]] = []
        self.commands = 0
        #: The families that changed and the messages that were emitted, for watches.
        self.seen: set[str] = set()
        self.checksums: Final[dict[int, int]] = {}
        #: Whether the last entry cut the shard, or asks for a digest: the rows after it are needed.
        self.cut = False
        #: Whether an entry began a term or changed the members.
        self.of_consensus = False
        self._position = record.position
        self._now_ms = record.now_ms
        self._checksum = record.checksum
        self._generation = record.generation
        self._configuration = (record.configuration_index, record.configuration)
        #: The files that the one entry of this turn puts in place, by family.
        self.files: Mapping[str, Sequence[Path]] = {}
        self._trim_step: Final = retention.step_of(limits.retained_entries)

    def take(self, entry: Entry) -> bool:
        """Add the effects of one entry; False if it is one for a turn of its own."""
        if self.files:
            return False
        index, term, kind, payload = entry
        if index != self._position.index + 1:
            raise ValueError(f"entry {index} comes after entry {self._position.index}")
        before, self._position = self._position, Position(index, term)
        if kind is COMMAND:
            found = self._read(entry)
            ingested = file_sets.ingested_by(found.tables.get(FILE_SETS), index)
            if ingested is not None and self.stored:
                self._position = before
                return False
            if ingested is not None:
                prepared, self.files = self._prepared
                if prepared != index:
                    raise FilesNeededError(ingested)
            self._take_effects(entry, found)
        else:
            self.of_consensus = True
            if kind is CONFIG:
                self._configuration = (index, payload)
        self._checksum = crc32(payload, crc32(index.to_bytes(8, "big"), self._checksum))
        self.checksums[index] = self._checksum
        if index % self._trim_step == 0:
            retention.trim(
                self.layer,
                index,
                self._now_ms,
                self._limits.retained_entries,
                self._limits.retained_ms,
            )
        self.stored.append(StoredEntry(index, term, self._now_ms))
        return True

    def commit(self) -> None:
        """Write the batch; nothing is visible before."""
        batch = Batch()
        for family, table in self.layer.tables.items():
            batch.segments[family] = [Segment(table.ranges, table.rows)]
        try:
            for family in sorted((self.layer.tables.keys() | self.files.keys()) - self._families):
                # The rows of plugins that the leader has and this node lacks are kept.
                self._data.add_family(family)
                self._families.add(family)
            if self.files:
                failpoint("ingest.begun")
                self._data.ingest(self.files)
                failpoint("ingest.placed")
        except (StalledError, FullError):
            raise
        except EngineError as error:
            raise self._stopped(f"cannot be stored: {error}") from error
        configuration_index, configuration = self._configuration
        record = AppliedRecord(
            self._position,
            configuration_index,
            configuration,
            self._now_ms,
            self._checksum,
            self._generation,
        )
        try:
            self._data.commit(batch, record, self.seen)
        except (StalledError, FullError):
            raise
        except EngineError as error:
            raise self._stopped(f"cannot be stored: {error}") from error

    def _read(self, entry: Entry) -> Effects:
        evaluated = self._evaluated(entry)
        if evaluated is not None:
            return evaluated
        try:
            return effects.decode(entry.payload)
        except EffectsError as error:
            raise self._stopped(str(error)) from None

    def _take_effects(self, entry: Entry, found: Effects) -> None:
        head = found.head
        checked = head.checked_index
        own = self.checksums.get(checked, self._known.get(checked))
        compare(self._shard, checked, own, head.checksum)
        self._now_ms = max(self._now_ms, head.now_ms)
        self._generation = max(self._generation, head.generation)
        self.commands += head.commands
        slots = found.tables.get(SLOTS)
        self.cut = slots is not None and not slots.rows.keys().isdisjoint((cuts.CUT, checks.CHECK))
        try:
            self.seen |= effects.unpack_into(self.layer, found)
        except ValueError as error:
            raise self._stopped(f"cannot be read: {error}") from None
        if found.events:
            self.layer.put(EVENTS, event_key(entry.index), found.events)

    def _stopped(self, what: str) -> ReplicaStoppedError:
        index = self._position.index
        return ReplicaStoppedError(index, f"Entry {index} of shard {self._shard} {what}")

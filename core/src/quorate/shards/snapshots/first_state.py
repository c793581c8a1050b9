"""Creates the first state of a shard from other data: copied, and marked as a new history."""

import logging
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import closing
from functools import partial
from itertools import islice, zip_longest
from typing import Final
from zlib import crc32

from quorate.apply import checks, cuts, freezes, placement, slot_set
from quorate.apply.slot_set import SlotSet
from quorate.consensus.journal import Position
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.observe.failpoints import failpoint
from quorate.shards.snapshots.parts import slices
from quorate.storage.data.checkpoint import Manifest
from quorate.storage.data.home import Home
from quorate.storage.data.record import EMPTY, KEY, AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, DamagedError, Engine, EngineError
from quorate.storage.events import LOW_KEY, ROWS_END, event_key
from quorate.storage.families import APPLIED, EVENTS, MIRRORS, SLOTS
from quorate.v1.control_pb2 import ShardOrigin, ShardRow

_log = logging.getLogger(__name__)

#: How far indexes, hence revisions, skip ahead when a history ends: more than a shard assigns
#: between two backups, or before a recovery, and small enough for a thousand times.
_LEAP: Final = 1 << 34

#: How far the indexes of a shard skip ahead of those that were merged into it: more than these log
#: after their freeze.
_FROZEN_ENTRIES: Final = 1 << 20
#: Families of which a merged shard has nothing of the shard that was added.
_NOT_ADDED: Final = frozenset({APPLIED, EVENTS, MIRRORS, SLOTS})
#: Number of rows that are added at once.
_CHUNK: Final = 1_000

#: Reads a part of a file of a copy: its name, the offset and the length.
ReadPart = Callable[[str, int, int], bytes]


def leap(index: int) -> int:
    """Return an index above all that an abandoned history assigned."""
    return (index // _LEAP + 1) * _LEAP


def fill(data: ShardData, manifest: Manifest, read: ReadPart) -> None:
    """Replace the data of a shard by a copy; blocks."""
    incoming = data.incoming(manifest)
    try:
        for name, size, _ in manifest.files:
            for offset, length in slices(size):
                incoming.write(name, offset, read(name, offset, length))
        incoming.finish()
        data.install(incoming)
    except Exception:
        incoming.discard()
        raise


def recover(
    homes: Sequence[Home],
    home: Home,
    families: Iterable[str],
    origin: ShardOrigin,
    configuration: Configuration,
) -> None:
    """Fill an empty home with the state that a recovered shard begins with; blocks.

    `homes` are those of this replica's earlier histories, the newest first: they stay as they are.
    Raises `EngineError`, `OSError`, and `ValueError` if the requested data does not exist.
    """
    wanted = tuple(families)
    with closing(ShardData.open(home, wanted)) as data:
        before = EMPTY
        for each in homes:
            try:
                with closing(ShardData.open(each, wanted)) as old:
                    if not old.applied:
                        continue
                    before = old.record
                    if not origin.empty:
                        _copy(old, data)
                    break
            except DamagedError as error:
                if not origin.empty:
                    raise
                _log.warning("the old data of a shard cannot be read, and is abandoned: %s", error)
        else:
            if not origin.empty:
                raise ValueError(
                    "there is no data of this shard here; recover it from another node"
                )
        index = leap(max(before.position.index, origin.index))
        position = Position(index, before.position.term)
        # Sequences skip ahead with the generation.
        data.begin(
            Batch(),
            AppliedRecord(
                position,
                index,
                configuration.encode(),
                before.now_ms,
                0 if origin.empty else before.checksum,
                max(before.generation, origin.generation) + 1,
            ),
        )


def begin_part(data: ShardData, number: int) -> None:
    """Give a new shard of a cut its slots, if its data is the copy of its parent's.

    It is all that its parent is after the cut: the log, the configuration and the time go on from
    there. Every replica does the same before it applies anything.
    """
    cut = cuts.last_cut(data)
    part = None if cut is None else next((p for p in cut.parts if p.number == number), None)
    if cut is None or part is None:
        return
    batch = Batch()
    batch.put(SLOTS, slot_set.KEY, SlotSet(cut.version, part.slots).encode())
    batch.put(SLOTS, cuts.FOREIGN, cuts.Forgotten().encode())
    for key in (cuts.CUT, cuts.ABANDONED, placement.KEY):
        batch.delete(SLOTS, key)
    data.commit(batch, data.record)


def unite(
    base: ShardData,
    other: ShardData,
    home: Home,
    row: ShardRow,
    placed: Container[str],
    mirrored: Container[str],
) -> None:
    """Fill an unused home with the state that the shard begins with which two become; blocks.

    Both are frozen, so that every replica has the same rows of them: what the new shard begins with
    depends on nothing but these and its row. `placed` are the families of whose rows only one of
    both can have any, `mirrored` those of which each has a copy.
    """

    def change(engine: Engine) -> AppliedRecord:
        other.read_beside(partial(_add, engine, placed, mirrored))
        failpoint("merge.added")
        return _begin_united(engine, row)

    base.fork(home, change)


def _add(engine: Engine, placed: Container[str], mirrored: Container[str], other: Engine) -> None:
    """Add the rows of another shard, but for those that are there."""
    for family in other.families:
        if family in _NOT_ADDED or family in mirrored:
            continue
        if family not in engine.families:
            engine.add_family(family)
        rows = other.iterate(family, b"", None)
        while chunk := list(islice(rows, _CHUNK)):
            there: Sequence[bytes | None] = ()
            if family not in placed:
                there = engine.get_many(family, [key for key, _ in chunk])
            batch = Batch()
            for (key, value), known in zip_longest(chunk, there):
                if known is None:
                    batch.put(family, key, value)
            engine.write(batch, patient=True)


def _begin_united(engine: Engine, row: ShardRow) -> AppliedRecord:
    frozen = freezes.frozen(engine)
    if frozen is None or frozen.merge != row.union.merge:
        raise EngineError(f"the base of shard {row.group}/{row.number} is not frozen for it.")
    batch = Batch()
    for each in frozen.united:
        if each.HasField("value"):
            batch.put(each.family, each.key, each.value)
        else:
            batch.delete(each.family, each.key)
    batch.put(SLOTS, slot_set.KEY, SlotSet(row.version, row.slots).encode())
    for key in (
        freezes.FROZEN,
        cuts.CUT,
        cuts.ABANDONED,
        cuts.FOREIGN,
        placement.KEY,
        checks.CHECK,
    ):
        batch.delete(SLOTS, key)
    # Frozen shards log that they refuse commands, and tell their indexes to readers.
    index = max(row.union.base_index, row.union.other_index) + _FROZEN_ENTRIES
    # No watch comes from before.
    batch.delete_range(EVENTS, b"", ROWS_END + b"\xff")
    batch.put(EVENTS, LOW_KEY, event_key(index))
    members = [Member(Peer(each.node, each.replica)) for each in row.union.members]
    record = AppliedRecord(
        # What is done in the name of a term may go on with a later one.
        Position(index, row.union.term),
        index,
        Configuration.of(members).encode(),
        frozen.now_ms,
        crc32(b"%d" % row.union.merge),
        frozen.generation,
    )
    batch.put(APPLIED, KEY, record.encode())
    engine.write(batch, patient=True)
    return record


def _copy(old: ShardData, data: ShardData) -> None:
    checkpoint = old.checkpoint()
    try:
        fill(data, checkpoint.manifest(), checkpoint.read)
    finally:
        checkpoint.release()

"""Creates the first state of a shard from other data: copied, and marked as a new history."""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Final

from quorate.apply import cuts, placement, slot_set
from quorate.apply.slot_set import SlotSet
from quorate.consensus.journal import Position
from quorate.consensus.membership import Configuration
from quorate.groups.snapshots.parts import slices
from quorate.storage.data.checkpoint import Manifest
from quorate.storage.data.home import Home
from quorate.storage.data.record import EMPTY, AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, DamagedError
from quorate.storage.families import SLOTS
from quorate.v1.control_pb2 import ShardOrigin

_log = logging.getLogger(__name__)

#: How far indexes, hence revisions, skip ahead when a history ends: more than a shard assigns
#: between two backups, or before a recovery, and small enough for a thousand times.
_LEAP: Final = 1 << 34

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


def _copy(old: ShardData, data: ShardData) -> None:
    checkpoint = old.checkpoint()
    try:
        fill(data, checkpoint.manifest(), checkpoint.read)
    finally:
        checkpoint.release()

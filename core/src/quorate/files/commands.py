"""The commands of file sets and publications."""

from collections.abc import Sequence
from typing import Final

from quorate.apply import file_sets, publications
from quorate.apply.control import ControlledShard, ControlRoute, in_first
from quorate.apply.entries import index_of
from quorate.apply.file_sets import PUBLISHING
from quorate.apply.layers import Layer
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardTxn
from quorate.groups.topology_rows import SPLITTING, is_changing, shards
from quorate.plugin import Rejected, keys
from quorate.storage.families import FILE_SETS, PUBLICATIONS
from quorate.v1 import files_pb2 as pb


def open_file_set(txn: ShardTxn, asked: pb.OpenFileSet, _: ControlledShard) -> pb.FileSet:
    """Open a set, or return the one of that name."""
    if not asked.name or not asked.command:
        raise Rejected("INVALID_ARGUMENT", "name the file set, and the command of its rows")
    known = file_sets.find(txn.layer, asked.name)
    if known is not None:
        file_sets.refuse_dropped(known)
    if known is not None and known.command != asked.command:
        raise Rejected(
            "OTHER_LOAD",
            f"the files of {asked.name} have rows of {known.command}, not of {asked.command}:"
            " choose another name",
        )
    if known is not None:
        return known
    opened = pb.FileSet(
        name=asked.name,
        command=asked.command,
        state=pb.FileSet.OPEN,
        revision=txn.revision,
        now_ms=txn.now_ms,
        generation=txn.generation,
    )
    _put(txn.layer, opened)
    return opened


def ingest_file_set(txn: ShardTxn, asked: pb.IngestFileSet, shard: ControlledShard) -> pb.FileSet:
    """Put the files of a set in place or stage them, unless there are rows of theirs."""
    layer = txn.layer
    known = file_sets.find(layer, asked.name)
    known = file_sets.check_ingest(asked, known, shard.state.slots)
    if known.state != pb.FileSet.OPEN:
        return known
    file_sets.check_room(layer, known, asked.files, shard.find_in_files)
    if asked.stage:
        # What the plugin refuses is known before a publication.
        shard.settled_later(layer, known.command, asked.counts)
        known.state, known.slots = pb.FileSet.STAGED, asked.slots
        known.files.extend(asked.files)
        known.counts.extend(asked.counts)
        _put(layer, known)
        return known
    shard.settle(layer, known.command, asked.counts)
    shard.place_files(txn, asked.files)
    return _ingest(layer, known, asked, index_of(txn.revision))


def close_file_set(txn: ShardTxn, asked: pb.CloseFileSet, shard: ControlledShard) -> pb.FileSet:
    """Keep the writes that come with the files of a set, and let nothing change that they need."""
    layer, state = txn.layer, shard.state
    known = _check_close(asked, file_sets.find(layer, asked.name), state.slots)
    if known.state == pb.FileSet.CLOSED:
        return known
    if state.closed:
        raise Rejected(PUBLISHING, f"shard {shard.id} publishes other files")
    file_sets.check_room(layer, known, known.files, shard.find_in_files)
    settled, state.closed = shard.settled_later(layer, known.command, known.counts)
    mark = publications.mark(layer)
    mark.closed.extend(sorted(state.closed))
    mark.closing, mark.name = asked.publication, asked.name
    publications.put_mark(layer, mark)
    known.state, known.publication = pb.FileSet.CLOSED, asked.publication
    for family, table in settled.tables.items():
        for key, value in table.rows.items():
            if value is not None:
                known.settled.add(family=family, key=key, value=value)
    _put(layer, known)
    return known


def open_published(txn: ShardTxn, asked: pb.OpenPublished, shard: ControlledShard) -> pb.FileSet:
    """End a publication here; a repeated command changes nothing."""
    layer = txn.layer
    known = file_sets.find(layer, asked.name)
    if known is None or known.publication != asked.publication:
        return known or pb.FileSet()
    settled = list(known.settled)
    known.ClearField("settled")
    known.ClearField("publication")
    mark = pb.PublicationMark(number=publications.mark(layer).number)
    if asked.committed:
        for row in settled:
            layer.put(row.family, row.key, row.value)
        given = pb.IngestFileSet(files=known.files, counts=known.counts)
        for name in ("files", "counts", "slots"):
            known.ClearField(name)
        _ingest(layer, known, given, index_of(txn.revision) if given.files else 0)
        if given.files:
            shard.place_files(txn, given.files)
        mark.number = max(mark.number, asked.publication)
    else:
        known.state = pb.FileSet.STAGED
        _put(layer, known)
    publications.put_mark(layer, mark)
    shard.state.closed = frozenset()
    return known


def drop_file_set(txn: ShardTxn, asked: pb.DropFileSet, _: ControlledShard) -> None:
    """End a set for good, unless it was ingested; or forget it."""
    known = file_sets.find(txn.layer, asked.name)
    if known is not None and known.state == pb.FileSet.CLOSED:
        raise Rejected(PUBLISHING, f"{asked.name} is being published: try again")
    if asked.forget:
        txn.layer.delete(FILE_SETS, asked.name.encode())
        return
    if known is None or known.state != pb.FileSet.INGESTED:
        _put(txn.layer, pb.FileSet(name=asked.name, state=pb.FileSet.DROPPED))


def begin_publication(txn: ShardTxn, asked: pb.BeginPublication) -> pb.Publication:
    """Begin a publication in every shard of a group, one at a time."""
    known = publications.find(txn.layer, asked.group, asked.name)
    if known is not None and (known.parts or known.state == pb.Publication.COMMITTED):
        return known
    other = next(
        (each for each in publications.under_way(txn.layer) if each.group == asked.group), None
    )
    if other is not None:
        raise Rejected(PUBLISHING, f"{other.name} is being published: try again after it")
    begun = pb.Publication(
        group=asked.group,
        name=asked.name,
        command=asked.command,
        number=txn.revision,
        state=pb.Publication.CLOSING,
    )
    for row in shards(txn):
        if row.group != asked.group or row.merged_into:
            continue
        if is_changing(row):
            raise Rejected(
                SPLITTING,
                f"shard {row.group}/{row.number} is being split or merged: publish when it is over",
            )
        begun.parts.add(shard=row.number)
    if not begun.parts:
        raise Rejected("NOT_FOUND", f"there is no shard of group {asked.group}")
    _put_publication(txn, begun)
    return begun


def report_publication(txn: ShardTxn, asked: pb.ReportPublication) -> pb.Publication:
    """Record the state of a shard; commit once all are closed, abort if one cannot close."""
    known = publications.find(txn.layer, asked.group, asked.name)
    if known is None or known.number != asked.publication:
        return known or pb.Publication()
    if asked.over and known.state != pb.Publication.CLOSING:
        left = [each for each in known.parts if each.shard != asked.shard]
        del known.parts[:]
        known.parts.extend(left)
    elif asked.failure:
        _abort(known, asked.failure)
    elif known.state == pb.Publication.CLOSING:
        for part in known.parts:
            part.closed |= part.shard == asked.shard
        if all(part.closed for part in known.parts):
            known.state = pb.Publication.COMMITTED
    _put_publication(txn, known)
    return known


def end_publication(txn: ShardTxn, asked: pb.EndPublication) -> pb.Publication:
    """Abort a publication that is not committed; or forget one that has ended."""
    known = publications.find(txn.layer, asked.group, asked.name)
    if known is None:
        return pb.Publication()
    if not asked.forget:
        _abort(known, "its load was aborted")
        _put_publication(txn, known)
    elif known.parts:
        raise Rejected(PUBLISHING, f"{known.name} is being published: forget it after that")
    else:
        txn.layer.delete(PUBLICATIONS, keys.pack(known.group, known.name))
    return known


#: Clients cannot send them.
ROUTES: Final[Sequence[ControlRoute]] = (
    ControlRoute(pb.OpenFileSet, open_file_set),
    ControlRoute(pb.IngestFileSet, ingest_file_set, of_files=True),
    ControlRoute(pb.CloseFileSet, close_file_set, of_files=True),
    ControlRoute(pb.OpenPublished, open_published, of_files=True),
    ControlRoute(pb.BeginPublication, in_first(begin_publication)),
    ControlRoute(pb.ReportPublication, in_first(report_publication)),
    ControlRoute(pb.EndPublication, in_first(end_publication)),
    ControlRoute(pb.DropFileSet, drop_file_set),
)


def _ingest(layer: Layer, known: pb.FileSet, asked: pb.IngestFileSet, index: int) -> pb.FileSet:
    """Record that the entry at an index puts files in place; return the set."""
    known.state, known.ingested_at = pb.FileSet.INGESTED, index
    for file in asked.files:
        # What the ranges were for is over.
        kept = known.files.add()
        kept.CopyFrom(file)
        kept.ClearField("ranges")
    known.rows = sum(count.items for count in asked.counts)
    _put(layer, known)
    return known


def _check_close(asked: pb.CloseFileSet, known: pb.FileSet | None, slots: SlotSet) -> pb.FileSet:
    """Return the set that can be closed for a publication, or is; raises `Rejected`."""
    if known is None:
        raise Rejected("NOT_FOUND", f"there is no file set {asked.name}: stage it first")
    file_sets.refuse_dropped(known)
    staged = known.state == pb.FileSet.STAGED and known.command == asked.command
    if not staged and (known.state, known.publication) != (pb.FileSet.CLOSED, asked.publication):
        raise Rejected("FAILED_PRECONDITION", f"the file set {asked.name} is not staged")
    return file_sets.check_files(known, known, slots) if known.files else known


def _put(layer: Layer, row: pb.FileSet) -> None:
    layer.put(FILE_SETS, row.name.encode(), row.SerializeToString(deterministic=True))


def _abort(known: pb.Publication, reason: str) -> None:
    if known.state == pb.Publication.CLOSING:
        known.state, known.reason = pb.Publication.ABORTED, reason


def _put_publication(txn: ShardTxn, row: pb.Publication) -> None:
    value = row.SerializeToString(deterministic=True)
    txn.layer.put(PUBLICATIONS, keys.pack(row.group, row.name), value)

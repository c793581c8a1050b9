"""The commands of file sets and publications, and the checks before them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from quorate.apply import file_sets, publications
from quorate.apply.control import ControlledShard, ControlRoute, in_first
from quorate.apply.entries import index_of
from quorate.apply.file_sets import PUBLISHING, FindInFiles
from quorate.apply.layers import Layer, Rows
from quorate.apply.outcomes import WRONG_SHARD
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected, keys
from quorate.plugin.keys import shown
from quorate.plugin.slots import BITMAP_BYTES, slots_in
from quorate.shards.topology_rows import SPLITTING, is_changing, shards
from quorate.storage.families import FILE_SETS, PUBLICATIONS, SYSTEM
from quorate.v1 import files_pb2 as pb

ROWS_EXIST: Final = "ROWS_EXIST"
#: Maximum number of rows, in place where files have others, that are looked up in the files: their
#: leader does nothing else meanwhile.
LOOKED_UP: Final = 10_000
#: Maximum number of files of a family: until they are merged, each read looks into every one, and
#: the engine stops writes at 64.
MOST_FILES: Final = 48


def open_file_set(txn: ShardTxn, asked: pb.OpenFileSet, _: ControlledShard) -> pb.FileSet:
    """Open a set, or return the one of that name."""
    if not asked.name or not asked.command:
        raise Rejected("INVALID_ARGUMENT", "name the file set, and the command of its rows")
    known = file_sets.find(txn.layer, asked.name)
    refuse_dropped(known)
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
    known = check_ingest(asked, known, shard.state.slots)
    if known.state != pb.FileSet.OPEN:
        return known
    check_room(layer, known, asked.files, shard.find_in_files)
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
    check_room(layer, known, known.files, shard.find_in_files)
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


def check_ingest(asked: pb.IngestFileSet, known: pb.FileSet | None, slots: SlotSet) -> pb.FileSet:
    """Return the set that can be ingested, or was; raises `Rejected`."""
    if known is None:
        raise Rejected("NOT_FOUND", f"there is no file set {asked.name}: open it first")
    refuse_dropped(known)
    if known.state != pb.FileSet.OPEN:
        if _rows_of(known.files) != _rows_of(asked.files):
            raise Rejected(
                "OTHER_COMMAND",
                f"other rows of {asked.name} were ingested or staged: choose another name",
            )
        if known.state != pb.FileSet.INGESTED and not asked.stage:
            raise Rejected(
                "FAILED_PRECONDITION", f"{asked.name} is staged in all shards: publish it"
            )
        return known
    return _check_files(asked, known, slots)


def check_room(
    rows: Rows, known: pb.FileSet, files: Iterable[pb.SortedFile], find_in: FindInFiles | None
) -> None:
    """Refuse files that have rows which are in place already.

    Where few rows are between those of the files, each is looked up in them.
    """
    left = LOOKED_UP
    for file in files:
        if file.family in SYSTEM:
            # Deadlines are there with the rows that they are of.
            continue
        for span in file.ranges:
            found = islice(rows.iterate(file.family, span.first, span.last + b"\0"), left + 1)
            keys = [key for key, _ in found]
            if not keys:
                continue
            left -= len(keys)
            if left < 0 or find_in is None:
                raise Rejected(
                    ROWS_EXIST,
                    f"{file.family} has rows between {shown(span.first)} and {shown(span.last)}"
                    f" already, like {shown(keys[0])}: load by commands (load.mode rpc), which"
                    " replaces or merges them",
                )
            existing = find_in(known, file.family, keys)
            if existing is not None:
                raise Rejected(
                    ROWS_EXIST,
                    f"{file.family} has a row {shown(existing)} already: load by commands"
                    " (load.mode rpc), which replaces or merges it",
                )


def refuse_dropped(known: pb.FileSet | None) -> None:
    """Raise `Rejected` for a set that was dropped."""
    if known is not None and known.state == pb.FileSet.DROPPED:
        raise Rejected("LOAD_ABORTED", f"load {known.name} was aborted: choose another load id")


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


def _check_files(
    asked: pb.IngestFileSet | pb.FileSet, known: pb.FileSet, slots: SlotSet
) -> pb.FileSet:
    """Return the set whose files can be put in place; raises `Rejected`."""
    if not asked.files and isinstance(asked, pb.IngestFileSet) and asked.stage:
        # Every shard takes part in a publication.
        return known
    if not asked.files:
        raise Rejected("INVALID_ARGUMENT", f"there are no files of {asked.name} to ingest")
    counts = Counter(file.family for file in asked.files)
    if max(counts.values()) > MOST_FILES:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"{asked.name} has {max(counts.values())} files of one family in a shard; at most"
            f" {MOST_FILES} allowed: load fewer and larger partitions",
        )
    if len(asked.slots) != BITMAP_BYTES:
        raise Rejected("INVALID_ARGUMENT", f"slots are {BITMAP_BYTES} bytes")
    missing = min((slot for slot in slots_in(asked.slots) if not slots.owns(slot)), default=None)
    if missing is not None:
        raise Rejected(
            WRONG_SHARD,
            f"the files of {asked.name} have rows of slot {missing}, which the shard does not own"
            f" in version {slots.version} of its slots: load them again",
        )
    return known


def _rows_of(files: Iterable[pb.SortedFile]) -> set[tuple[str, bytes]]:
    return {(file.family, file.rows_digest) for file in files}


def _check_close(asked: pb.CloseFileSet, known: pb.FileSet | None, slots: SlotSet) -> pb.FileSet:
    """Return the set that can be closed for a publication, or is; raises `Rejected`."""
    if known is None:
        raise Rejected("NOT_FOUND", f"there is no file set {asked.name}: stage it first")
    refuse_dropped(known)
    staged = known.state == pb.FileSet.STAGED and known.command == asked.command
    if not staged and (known.state, known.publication) != (pb.FileSet.CLOSED, asked.publication):
        raise Rejected("FAILED_PRECONDITION", f"the file set {asked.name} is not staged")
    return _check_files(known, known, slots) if known.files else known


def _put(layer: Layer, row: pb.FileSet) -> None:
    layer.put(FILE_SETS, row.name.encode(), row.SerializeToString(deterministic=True))


def _abort(known: pb.Publication, reason: str) -> None:
    if known.state == pb.Publication.CLOSING:
        known.state, known.reason = pb.Publication.ABORTED, reason


def _put_publication(txn: ShardTxn, row: pb.Publication) -> None:
    value = row.SerializeToString(deterministic=True)
    txn.layer.put(PUBLICATIONS, keys.pack(row.group, row.name), value)

"""File sets of a shard: rows that are made elsewhere and put in place by one entry.

The row of a set is written by the entries that open, ingest and drop it. An entry whose row says
that it ingests makes every replica put the files in place before it stores the entry's effects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from quorate.apply.layers import Rows, Table
from quorate.apply.outcomes import WRONG_SHARD
from quorate.apply.slot_set import SlotSet
from quorate.plugin import Rejected
from quorate.plugin.keys import shown
from quorate.plugin.slots import BITMAP_BYTES, slots_in
from quorate.storage.families import FILE_SETS, SYSTEM
from quorate.v1 import files_pb2 as pb

ROWS_EXIST: Final = "ROWS_EXIST"
#: A publication is under way that has the files, or may have them.
PUBLISHING: Final = "PUBLISHING"
ABORTED: Final = "LOAD_ABORTED"
#: Maximum number of rows, in place where files have others, that are looked up in the files: their
#: leader does nothing else meanwhile.
LOOKED_UP: Final = 10_000
#: Maximum number of files of a family: until they are merged, each read looks into every one, and
#: the engine stops writes at 64.
MOST_FILES: Final = 48

#: Whether the files of a set on this node have a row of a family with one of these keys: the first
#: such key. None: unknown.
FindInFiles = Callable[[pb.FileSet, str, list[bytes]], bytes | None]


def find(rows: Rows, name: str) -> pb.FileSet | None:
    """Return the set of a name, if there is one."""
    row = rows.get(FILE_SETS, name.encode())
    return None if row is None else pb.FileSet.FromString(row)


def all_sets(rows: Rows) -> Iterator[pb.FileSet]:
    """Yield every set, in the order of their names."""
    for _, row in rows.iterate(FILE_SETS, b"", None):
        yield pb.FileSet.FromString(row)


def unfinished(rows: Rows) -> pb.FileSet | None:
    """Return a set whose files are not in place, and may still be put there."""
    over = (pb.FileSet.INGESTED, pb.FileSet.DROPPED)
    return next((each for each in all_sets(rows) if each.state not in over), None)


def ingested_by(table: Table | None, index: int) -> pb.FileSet | None:
    """Return the set that the entry at an index puts in place, if it does so."""
    rows = () if table is None else table.rows.values()
    for row in filter(None, rows):
        found = pb.FileSet.FromString(row)
        if found.ingested_at == index:
            return found
    return None


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
    return check_files(asked, known, slots)


def check_files(
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


def rows_by_family(files: Iterable[pb.SortedFile]) -> Mapping[str, int]:
    """Return the number of rows of each family."""
    found: dict[str, int] = {}
    for file in files:
        found[file.family] = found.get(file.family, 0) + file.rows
    return found


def _rows_of(files: Iterable[pb.SortedFile]) -> set[tuple[str, bytes]]:
    return {(file.family, file.rows_digest) for file in files}


def refuse_dropped(known: pb.FileSet) -> None:
    """Raise `Rejected` for a set that was dropped."""
    if known.state == pb.FileSet.DROPPED:
        raise Rejected(ABORTED, f"load {known.name} was aborted: choose another load id")

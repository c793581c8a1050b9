"""The marks of groups: generation, version and age, and the index of the groups by version."""

from collections.abc import Iterable, Iterator

from quorate.plugin import Reader, Rejected, Txn, read_each

from quorate_offset.families import CHANGES, MARKS, change_key, change_of
from quorate_offset.v1.rows_pb2 import Mark


def read_mark(reader: Reader, group: bytes) -> Mark:
    """Return the mark of the group with this key; an empty one when it has none."""
    stored = reader.get(MARKS, group)
    return Mark() if stored is None else Mark.FromString(stored)


def read_marks(reader: Reader, groups: Iterable[bytes]) -> dict[bytes, Mark]:
    """Return the marks of the groups with these keys; empty ones of those that have none."""
    named = list(groups)
    rows = read_each(reader, MARKS, named)
    return {
        group: Mark() if row is None else Mark.FromString(row.value)
        for group, row in zip(named, rows, strict=True)
    }


def changes(reader: Reader, *, after: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """Yield revision and key of the groups that changed behind a revision, in their order."""
    for row in reader.scan(CHANGES, change_key(after + 1, b""), b"\xff", limit=limit):
        yield change_of(row.key)


def note_change(txn: Txn, group: bytes, mark: Mark) -> None:
    """Keep a group's mark with this command as its last change, and its place in the index."""
    if mark.revision != txn.revision:
        if mark.revision:
            txn.delete(CHANGES, change_key(mark.revision, group))
        txn.put(CHANGES, change_key(txn.revision, group), b"")
    mark.revision = txn.revision
    mark.changed_at_ms = txn.proposed_at_ms
    txn.put(MARKS, group, mark.SerializeToString(deterministic=True))


def note_commit(txn: Txn, group: bytes, mark: Mark) -> None:
    """Keep a group's mark after one of its offsets was written."""
    # Zero means that there are no offsets.
    mark.committed_at_ms = max(1, txn.proposed_at_ms)
    mark.deleted = False
    note_change(txn, group, mark)


def pass_fence(mark: Mark, generation: int) -> bool:
    """Return whether a generation raises the group's, and raise it; refuse a smaller one."""
    if generation < mark.generation:
        raise Rejected(
            "FENCED",
            f"generation {generation} is older than the group's, which is {mark.generation}: "
            "the consumer must join its group again",
        )
    raised = generation > mark.generation
    mark.generation = generation
    return raised

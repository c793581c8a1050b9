"""The marks of groups: generation, version and age, and the index of the groups by version."""

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Final

from quorate.plugin import Reader, Rejected, Txn, keys

from quorate_offset.families import CHANGES, FLOORS, MARKS, change_key, change_of
from quorate_offset.v1.rows_pb2 import Mark

_DELETED: Final = keys.pack("deleted")
_GENERATION_TAG: Final = 1 << 3 | 1
_GENERATION: Final = Struct("<BQ")
# The beginning of a mark: the generation unless it is 0, then the revision.
_FENCED: Final = Struct("<xQxQ")
_UNFENCED: Final = Struct("<xQ")


def read_mark(reader: Reader, group: bytes) -> Mark:
    """Return the mark of the group with this key; an empty mark if it has none."""
    stored = reader.get(MARKS, group)
    return Mark() if stored is None else Mark.FromString(stored)


def generation_and_revision(mark: bytes) -> tuple[int, int]:
    """Return generation and revision of an encoded mark, without the cost of a message."""
    if mark[0] == _GENERATION_TAG:
        generation, revision = _FENCED.unpack_from(mark)
        return generation, revision
    [revision] = _UNFENCED.unpack_from(mark)
    return 0, revision


def changes(reader: Reader, *, after: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """Yield revision and key of the groups that changed after a revision, in order."""
    for row in reader.scan(CHANGES, change_key(after + 1, b""), b"\xff", limit=limit):
        yield change_of(row.key)


def note_change(txn: Txn, group: bytes, mark: Mark) -> None:
    """Write a group's mark with this command as its last change, and update the index."""
    if mark.revision != txn.revision:
        if mark.revision:
            txn.delete(CHANGES, change_key(mark.revision, group))
        txn.put(CHANGES, change_key(txn.revision, group), b"")
    mark.revision = txn.revision
    mark.changed_at_ms = txn.proposed_at_ms
    txn.put(MARKS, group, mark.SerializeToString(deterministic=True))


def note_commit(txn: Txn, group: bytes, mark: Mark) -> None:
    """Write a group's mark after a change of its offsets."""
    # Zero means that there are no offsets.
    mark.committed_at_ms = max(1, txn.proposed_at_ms)
    mark.deleted = False
    note_change(txn, group, mark)


def note_commits(
    txn: Txn,
    groups: Iterable[bytes],
    marks: Mapping[bytes, bytes | None],
    raised: Mapping[bytes, int],
) -> None:
    """Write the marks of groups after changes of their offsets, as `note_commit` does.

    `marks` holds the stored marks, `raised` the generations that this command has raised.
    """
    now_ms, change = txn.proposed_at_ms, change_key(txn.revision, b"")
    noted = Mark(revision=txn.revision, committed_at_ms=max(1, now_ms), changed_at_ms=now_ms)
    common = noted.SerializeToString(deterministic=True)
    index: dict[bytes, bytes] = {}
    kept: dict[bytes, bytes] = {}
    for group in groups:
        generation, mark = 0, marks[group]
        if mark is not None:
            generation, revision = generation_and_revision(mark)
            txn.delete(CHANGES, change_key(revision, group))
        generation = raised.get(group, generation)
        index[change + group] = b""
        kept[group] = (
            _GENERATION.pack(_GENERATION_TAG, generation) + common if generation else common
        )
    txn.put_each(CHANGES, index)
    txn.put_each(MARKS, kept)


def read_floor(reader: Reader) -> int:
    """Return the revision up to which a shard has forgotten deleted groups; 0: none yet.

    Every group that a shard knows has changed after it: a reader of changes with an older token
    may have missed deletions, one with a newer token has not.
    """
    return int.from_bytes(reader.get(FLOORS, _DELETED) or b"")


def raise_floor(txn: Txn, revision: int, group: bytes) -> bool:
    """Raise the floor to the change of a group to forget, unless an older change is left."""
    [oldest] = changes(txn, after=0, limit=1)
    if oldest != (revision, group):
        return False
    txn.put(FLOORS, _DELETED, revision.to_bytes(8))
    return True


def raises_fence(stands: int, generation: int) -> bool:
    """Return whether a generation is larger than the current one; refuse a smaller one."""
    if generation < stands:
        raise Rejected(
            "FENCED",
            f"generation {generation} is stale (the group's is {stands}): "
            "the consumer must join its group again",
        )
    return generation > stands


def pass_fence(mark: Mark, generation: int) -> bool:
    """Return whether a generation raises the group's, and raise it; refuse a smaller one."""
    raised = raises_fence(mark.generation, generation)
    mark.generation = generation
    return raised

"""The reads of offsets: they run where the rows are."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from quorate.plugin import Reader, keys, read_each, read_range

from quorate_offset.families import MARKS, OFFSETS, group_key, group_of, offset_key
from quorate_offset.marks import changes, read_floor, read_mark
from quorate_offset.offsets.rows import committed_offset, rows_under
from quorate_offset.v1 import queries_pb2 as pb
from quorate_offset.v1.rows_pb2 import Mark

#: Groups that are listed when a query does not say how many.
PAGE: Final = 100
#: Offsets of one message.
MOST_TOGETHER: Final = 2_000
#: Changes that are listed when a query does not say how many.
CHANGES_PAGE: Final = 1_000
#: The offsets of one answer to `ListChanges`, in bytes: so it fits into one message.
CHANGES_BYTES: Final = 4 * 1024 * 1024


def fetch_group(reader: Reader, query: pb.FetchGroupQuery) -> Iterator[pb.GroupOffsets]:
    """Yield offsets of one group; nothing when there is no such group."""
    group = group_key(query.tenant, query.group)
    mark = read_mark(reader, group)
    if not mark.revision or mark.deleted:
        return
    if query.partitions:
        offsets = _named(reader, group, query.partitions)
    else:
        prefix = group + keys.pack(query.topic) if query.topic else group
        offsets = map(committed_offset, rows_under(reader, prefix))
    yield from _parts(query.tenant, query.group, mark, offsets)


def fetch_groups(reader: Reader, query: pb.FetchGroupsQuery) -> Iterator[pb.GroupOffsets]:
    """Yield the offsets of those of many groups that this shard has, by tenant and name."""
    for key in sorted({group_key(each.tenant, each.group) for each in query.groups}):
        tenant, group = group_of(key)
        yield from fetch_group(reader, pb.FetchGroupQuery(tenant=tenant, group=group))


def get_group_state(reader: Reader, query: pb.GetGroupStateQuery) -> Iterator[pb.GroupState]:
    """Yield the state of a group; nothing when there is no such group."""
    key = group_key(query.tenant, query.group)
    mark = read_mark(reader, key)
    if mark.revision and not mark.deleted:
        yield _state(reader, key, mark)


def list_group_states(reader: Reader, query: pb.ListGroupStatesQuery) -> Iterator[pb.GroupState]:
    """Yield the states of groups of this shard, by tenant and name."""
    start, end = keys.opening(query.tenant, query.prefix) if query.tenant else keys.prefix()
    if query.after.tenant:
        after = keys.successor(group_key(query.after.tenant, query.after.group))
        start = min(end, max(start, after))
    rows = read_range(reader, MARKS, start, end)
    marks = ((row.key, Mark.FromString(row.value)) for row in rows)
    found = (_state(reader, key, mark) for key, mark in marks if not mark.deleted)
    return islice(found, query.limit or PAGE)


def list_changes(reader: Reader, query: pb.ListChangesQuery) -> Iterator[pb.ShardChanges]:
    """Yield, in one answer, the groups of this shard that changed after the token."""
    since = next((each.revision for each in query.since if each.shard == reader.shard), 0)
    # Ahead of the shard is who knows a history that was undone: a backup was restored.
    resync = 0 < since < read_floor(reader) or since > reader.revision
    answer = pb.ShardChanges(shard=reader.shard, resync=resync)
    found = _page(reader, 0 if resync else since, query.limit or CHANGES_PAGE, answer)
    room = CHANGES_BYTES
    for (revision, key), row in zip(
        found, read_each(reader, MARKS, [key for _, key in found]), strict=True
    ):
        tenant, group = group_of(key)
        mark = Mark() if row is None else Mark.FromString(row.value)
        change = answer.changes.add(
            tenant=tenant,
            group=group,
            revision=revision,
            generation=mark.generation,
            deleted=mark.deleted,
        )
        answer.rows_read += 2
        if not mark.deleted:
            room -= _fill(reader, key, change, room, answer)
    yield answer


def list_idle_groups(reader: Reader, query: pb.ListIdleGroupsQuery) -> Iterator[pb.IdleGroup]:
    """Yield groups of the shard that is asked; the others have no answer."""
    if query.shard != reader.shard:
        return
    # Logical time and revisions grow together: after a group that is young all are.
    for revision, key in changes(reader, after=0, limit=max(1, query.limit)):
        if read_mark(reader, key).changed_at_ms > query.changed_until_ms:
            return
        tenant, group = group_of(key)
        yield pb.IdleGroup(shard=reader.shard, tenant=tenant, group=group, revision=revision)


def _page(
    reader: Reader, since: int, limit: int, answer: pb.ShardChanges
) -> list[tuple[int, bytes]]:
    """Return a page of the index, and say where the next one begins.

    A revision is never divided: a token could not tell which of its groups were read.
    """
    found = list(changes(reader, after=since, limit=limit + 1))
    if len(found) <= limit:
        answer.revision = reader.revision
        return found
    last = found[limit - 1][0]
    # An entry has at most 10,000 groups, all of which may have one revision.
    while found[-1][0] == last:
        more = list(changes(reader, after=since, limit=2 * len(found)))
        if len(more) == len(found):
            answer.revision = reader.revision
            return found
        found = more
    answer.more = True
    answer.revision = last
    return [change for change in found if change[0] <= last]


def _fill(
    reader: Reader, key: bytes, change: pb.GroupChange, room: int, answer: pb.ShardChanges
) -> int:
    """Add a group's offsets while there is room for them, and return how many bytes they take."""
    size = 0
    for row in rows_under(reader, key):
        answer.rows_read += 1
        size += len(row.key) + len(row.value)
        if size > room:
            change.partial = True
            change.ClearField("offsets")
            return 0
        change.offsets.append(committed_offset(row))
    return size


def _named(
    reader: Reader, group: bytes, partitions: Sequence[pb.TopicPartition]
) -> Iterator[pb.CommittedOffset]:
    named = {offset_key(group + keys.pack(each.topic), each.partition) for each in partitions}
    for row in read_each(reader, OFFSETS, sorted(named)):
        if row is not None:
            yield committed_offset(row)


def _parts(
    tenant: str, group: str, mark: Mark, offsets: Iterator[pb.CommittedOffset]
) -> Iterator[pb.GroupOffsets]:
    """Yield at least one message, also of a group without offsets."""
    part = list(islice(offsets, MOST_TOGETHER))
    while True:
        following = list(islice(offsets, MOST_TOGETHER))
        yield pb.GroupOffsets(
            tenant=tenant,
            group=group,
            offsets=part,
            revision=mark.revision,
            generation=mark.generation,
        )
        if not following:
            return
        part = following


def _state(reader: Reader, key: bytes, mark: Mark) -> pb.GroupState:
    tenant, group = group_of(key)
    return pb.GroupState(
        tenant=tenant,
        group=group,
        generation=mark.generation,
        revision=mark.revision,
        shard=reader.shard,
        committed_at_ms=mark.committed_at_ms,
        changed_at_ms=mark.changed_at_ms,
    )

"""The queries of offsets, which run on the shard that holds the rows."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

from quorate.plugin import Reader, keys

from quorate_offset.families import MARKS, OFFSETS, group_key, group_of, offset_key
from quorate_offset.marks import changes, read_floor, read_mark
from quorate_offset.offsets.rows import committed_offset, rows_under
from quorate_offset.v1 import queries_pb2 as pb
from quorate_offset.v1.rows_pb2 import Mark

#: Groups listed by default.
PAGE: Final = 100
#: The most offsets in one message.
MOST_TOGETHER: Final = 2_000
#: Changes listed by default.
CHANGES_PAGE: Final = 1_000
#: The size limit of the offsets in one answer to `ListChanges`, which must fit into one message.
CHANGES_BYTES: Final = 4 * 1024 * 1024


def fetch_group(reader: Reader, query: pb.FetchGroupQuery) -> Iterator[pb.GroupOffsets]:
    """Yield offsets of one group; nothing if it does not exist."""
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
    """Yield the offsets of the named groups that this shard holds, by tenant and name."""
    for key in sorted({group_key(each.tenant, each.group) for each in query.groups}):
        tenant, group = group_of(key)
        yield from fetch_group(reader, pb.FetchGroupQuery(tenant=tenant, group=group))


def get_group_state(reader: Reader, query: pb.GetGroupStateQuery) -> Iterator[pb.GroupState]:
    """Yield the state of a group; nothing if it does not exist."""
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
    rows = reader.scan(MARKS, start, end)
    marks = ((row.key, Mark.FromString(row.value)) for row in rows)
    found = (_state(reader, key, mark) for key, mark in marks if not mark.deleted)
    return islice(found, query.limit or PAGE)


def list_changes(reader: Reader, query: pb.ListChangesQuery) -> Iterator[pb.ShardChanges]:
    """Yield one answer with the groups of this shard that changed after the token."""
    since = next((each.revision for each in query.since if each.shard == reader.shard), 0)
    # A token ahead of the shard is of a history that a restored backup has undone.
    resync = 0 < since < read_floor(reader) or since > reader.revision
    answer = pb.ShardChanges(shard=reader.shard, resync=resync)
    found = _page(reader, 0 if resync else since, query.limit or CHANGES_PAGE, answer)
    room = CHANGES_BYTES
    for (revision, key), row in zip(
        found, reader.get_rows(MARKS, [key for _, key in found]), strict=True
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
    """Yield idle groups of the requested shard; other shards yield nothing."""
    if query.shard != reader.shard:
        return
    # Logical time and revisions grow together: every group after a young one is young.
    for revision, key in changes(reader, after=0, limit=max(1, query.limit)):
        if read_mark(reader, key).changed_at_ms > query.changed_until_ms:
            return
        tenant, group = group_of(key)
        yield pb.IdleGroup(shard=reader.shard, tenant=tenant, group=group, revision=revision)


def _page(
    reader: Reader, since: int, limit: int, answer: pb.ShardChanges
) -> list[tuple[int, bytes]]:
    """Return a page of the index, and record the start of the next one in the answer.

    A revision is never split: a token could not tell which of its groups were read.
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
    """Add a group's offsets if all of them fit, and return their size in bytes."""
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
    for row in reader.get_rows(OFFSETS, sorted(named)):
        if row is not None:
            yield committed_offset(row)


def _parts(
    tenant: str, group: str, mark: Mark, offsets: Iterator[pb.CommittedOffset]
) -> Iterator[pb.GroupOffsets]:
    """Yield the offsets in messages; at least one, even for a group without offsets."""
    parts = iter(lambda: list(islice(offsets, MOST_TOGETHER)), [])
    for part in chain([next(parts, [])], parts):
        yield pb.GroupOffsets(
            tenant=tenant,
            group=group,
            offsets=part,
            revision=mark.revision,
            generation=mark.generation,
        )


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

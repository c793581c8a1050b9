"""The read of expiry: it finds what has been idle for long, oldest first."""

from collections.abc import Iterator

from quorate.plugin import Reader, keys

from quorate_offset.families import group_of
from quorate_offset.marks import changes, read_mark
from quorate_offset.v1.queries_pb2 import IdleGroup, ListIdleGroupsQuery


def list_idle_groups(reader: Reader, query: ListIdleGroupsQuery) -> Iterator[IdleGroup]:
    """Yield groups of the shard that is asked; the others have no answer."""
    if query.shard != reader.shard:
        return
    # Logical time and revisions grow together: behind a group that is young all are.
    for revision, key in changes(reader, after=0, limit=max(1, query.limit)):
        if read_mark(reader, key).changed_at_ms > query.changed_until_ms:
            return
        tenant, group = group_of(key)
        yield IdleGroup(shard=reader.shard, tenant=tenant, group=group, revision=revision)


def idle_order(answer: IdleGroup) -> bytes:
    """Return the key by which answers are merged."""
    return keys.pack(answer.shard, answer.revision, answer.tenant, answer.group)

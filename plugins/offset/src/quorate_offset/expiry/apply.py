"""The handler of expiry: deletes what has been idle, and forgets what was deleted long ago."""

from quorate.plugin import Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.families import CHANGES, MARKS, change_key, group_key
from quorate_offset.marks import raise_floor, read_mark
from quorate_offset.offsets.apply import delete_group
from quorate_offset.v1.commands_pb2 import ExpireGroups, GroupExpiry, OffsetsChanged


def expire_groups(txn: Txn, command: ExpireGroups) -> BatchReply:
    """Expire the groups that have not changed since they were found idle."""
    return answer_each(txn, command.groups, _expire)


def _expire(txn: Txn, expiry: GroupExpiry) -> OffsetsChanged | None:
    group = group_key(expiry.tenant, expiry.group)
    mark = read_mark(txn, group)
    if mark.revision != expiry.revision:
        return None
    if not mark.deleted:
        return OffsetsChanged(offsets=delete_group(txn, group))
    if raise_floor(txn, mark.revision, group):
        txn.delete(CHANGES, change_key(mark.revision, group))
        txn.delete(MARKS, group)
    return None

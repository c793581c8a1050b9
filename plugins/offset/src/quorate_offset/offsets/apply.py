"""The handlers of offsets.

Every check precedes every write: a refused group leaves nothing behind.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

from quorate.plugin import Invalid, Rejected, Txn, keys
from quorate.plugin.advanced import answer_each
from quorate.plugin.batches import refusal_of
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.families import MARKS, OFFSETS, group_key, offset_key
from quorate_offset.marks import (
    generation_and_revision,
    note_change,
    note_commit,
    note_commits,
    pass_fence,
    raises_fence,
    read_mark,
)
from quorate_offset.names import LONGEST_NAME, accept_tenant, check_name, name_fault
from quorate_offset.offsets.rows import (
    committed_part,
    offset_in,
    offset_part,
    offset_row,
    rows_under,
)
from quorate_offset.offsets.validation import LONGEST_METADATA, MODES, NONE, commit_fault
from quorate_offset.v1 import commands_pb2 as pb, rows_pb2, service_pb2 as requests


def commit_offsets(txn: Txn, command: requests.CommitOffsetsRequest) -> BatchReply:
    """Commit offsets of many groups; each is answered, and a refused one does not block others."""
    batch = _Commits(txn)
    # In row order, which makes the inserts of every replica cheaper.
    groups = sorted(batch.accepted(command.groups), key=itemgetter(2))
    named = list(dict.fromkeys([key for _, _, key in groups]))
    marks = dict(zip(named, txn.get_values(MARKS, named), strict=True))
    for position, item, key in groups:
        batch.take(position, item, key, marks[key])
    batch.compare()
    batch.write(marks)
    return batch.reply(len(command.groups))


def fence_groups(txn: Txn, command: requests.FenceGroupsRequest) -> BatchReply:
    """Fence many groups."""
    return answer_each(txn, command.fences, _fence)


def reset_offsets(txn: Txn, command: pb.SetOffsets) -> BatchReply:
    """Set offsets of many groups unconditionally."""
    return answer_each(txn, command.resets, _reset)


def delete_offsets(txn: Txn, command: requests.DeleteOffsetsRequest) -> BatchReply:
    """Delete offsets of many groups."""
    return answer_each(txn, command.deletions, _delete)


def delete_group(txn: Txn, group: bytes) -> int:
    """Delete all offsets of the group with this key, and return their number.

    Its generation is kept for a while, so that its consumers stay fenced.
    """
    mark = read_mark(txn, group)
    if not mark.revision or mark.deleted:
        return 0
    deleted = _delete_under(txn, group)
    mark.deleted = True
    mark.committed_at_ms = 0
    note_change(txn, group, mark)
    return deleted


def _stands(offset: int) -> str:
    return "no offset is committed" if offset == NONE else f"offset {offset} is committed"


def _expects(offset: int) -> str:
    return "none is expected" if offset == NONE else f"{offset} is expected"


#: A valid commit that must be compared with the stored offset: the positions of its group and of
#: the commit in it, the group, whether it is monotonic, the expected offset (None: any), the
#: offset, and its metadata.
_Conditional: TypeAlias = tuple[int, int, bytes, bool, int | None, int, str]


class _Commits:
    """The offsets of one batch on their way into rows; each is visited once.

    Marks are read in one batch, offsets for conditional commits in another, and all rows are
    written together: reading or writing a single row takes longer than all other work on an
    offset.
    """

    def __init__(self, txn: Txn) -> None:
        self._txn: Final = txn
        self._committed: Final = committed_part(txn.proposed_at_ms)
        #: Refusals of groups and of commits, by the position of the group.
        self._refused: Final[dict[int, Rejected | Invalid]] = {}
        self._refusals: Final[dict[int, list[pb.CommitRefusal]]] = {}
        #: The packed topics; empty for an invalid name.
        self._topics: Final[dict[str, bytes]] = {}
        self._partitions: Final[dict[int, bytes]] = {}
        #: By key: the rows to write, and the commits to compare with stored offsets.
        self._rows: Final[dict[bytes, bytes]] = {}
        self._compared: Final[dict[bytes, _Conditional]] = {}
        #: The groups with a written offset, and the raised generations.
        self._written: Final[dict[bytes, None]] = {}
        self._raised: Final[dict[bytes, int]] = {}

    def accepted(self, items: Iterable[pb.GroupCommit]) -> list[tuple[int, pb.GroupCommit, bytes]]:
        """Return the valid groups, each with its position and its key; refuse the others."""
        found: list[tuple[int, pb.GroupCommit, bytes]] = []
        tenants: set[str] = set()
        for position, item in enumerate(items):
            tenant, group = item.tenant, item.group
            try:
                if not 0 < len(group) <= LONGEST_NAME:
                    check_name("group", group)
                if tenant not in tenants:
                    accept_tenant(self._txn, tenant)
                    tenants.add(tenant)
                if item.mode not in MODES:
                    raise Invalid("mode", f"{item.mode} is unknown to this version")
            except (Rejected, Invalid) as refusal:
                self._refused[position] = refusal
            else:
                found.append((position, item, group_key(tenant, group)))
        return found

    def take(self, position: int, item: pb.GroupCommit, group: bytes, mark: bytes | None) -> None:
        """Sort a group's commits into unconditional and conditional ones, or refuse the group."""
        if item.HasField("generation"):
            stands = self._raised.get(group)
            if stands is None:
                stands = 0 if mark is None else generation_and_revision(mark)[0]
            try:
                if raises_fence(stands, item.generation):
                    self._raised[group] = item.generation
            except Rejected as refusal:
                self._refused[position] = refusal
                return
        rows, compared, committed = self._rows, self._compared, self._committed
        parts = self._partitions
        monotonic = item.mode == pb.COMMIT_MODE_MONOTONIC
        topic, topic_key, before = None, b"", len(rows)
        for at, commit in enumerate(item.commits):
            if commit.topic != topic:
                topic = commit.topic
                topic_key = self._topic_key(group, topic)
            expected = commit.expected_offset if commit.HasField("expected_offset") else None
            offset, metadata = commit.offset, commit.metadata
            if (
                not topic_key
                or offset < 0
                or len(metadata) > LONGEST_METADATA
                or (expected is not None and expected < NONE)
            ):
                self._refuse(position, at, "INVALID_ARGUMENT", ": ".join(commit_fault(commit)))
                continue
            partition = commit.partition
            part = parts.get(partition)
            if part is None:
                part = parts[partition] = keys.pack(partition)
            key = topic_key + part
            if key in compared or key in rows:
                named = f"partition {partition} of topic {topic}"
                message = f"{named} occurs twice in the batch"
                self._refuse(position, at, "INVALID_ARGUMENT", message)
            elif monotonic or expected is not None:
                compared[key] = position, at, group, monotonic, expected, offset, metadata
            elif metadata:
                rows[key] = offset_row(offset, committed, metadata)
            else:
                rows[key] = offset_part(offset) + committed
        if len(rows) > before:
            self._written[group] = None

    def compare(self) -> None:
        """Accept or refuse the conditional commits by the stored offsets."""
        rows, committed, written = self._rows, self._committed, self._written
        values = self._txn.get_values(OFFSETS, list(self._compared))
        for (key, each), value in zip(self._compared.items(), values, strict=True):
            item, at, group, monotonic, expected, offset, metadata = each
            stands = NONE if value is None else offset_in(value)
            if expected is not None and expected != stands and (expected or value is not None):
                message = f"{_stands(stands)}, and {_expects(expected)}: fetch it again"
                self._refuse(item, at, "OFFSET_MISMATCH", message)
            elif monotonic and offset < stands:
                message = f"{_stands(stands)}, and {offset} is behind it"
                self._refuse(item, at, "BEHIND", message)
            else:
                rows[key] = offset_row(offset, committed, metadata)
                written[group] = None

    def write(self, marks: Mapping[bytes, bytes | None]) -> None:
        """Write the rows, and the marks of the changed groups."""
        self._txn.put_each(OFFSETS, self._rows)
        note_commits(self._txn, self._written, marks, self._raised)
        for group, generation in self._raised.items():
            if group not in self._written:
                stored = marks[group]
                mark = rows_pb2.Mark() if stored is None else rows_pb2.Mark.FromString(stored)
                mark.generation = generation
                note_change(self._txn, group, mark)

    def reply(self, items: int) -> BatchReply:
        """Return the reply to all groups."""
        answer = BatchReply(items=items)
        for position, refused in sorted(self._refused.items()):
            answer.refusals.append(refusal_of(position, refused))
        replies = [b""] * items
        for position, refusals in self._refusals.items():
            refusals.sort(key=lambda refusal: refusal.commit)
            reply = pb.GroupCommitReply(refusals=refusals)
            replies[position] = reply.SerializeToString(deterministic=True)
        answer.replies.extend(replies)
        return answer

    def _topic_key(self, group: bytes, topic: str) -> bytes:
        packed = self._topics.get(topic)
        if packed is None:
            packed = self._topics[topic] = b"" if name_fault(topic) else keys.pack(topic)
        return packed and group + packed

    def _refuse(self, item: int, commit: int, code: str, message: str) -> None:
        refusal = pb.CommitRefusal(commit=commit, code=code, message=message)
        self._refusals.setdefault(item, []).append(refusal)


def _fence(txn: Txn, fence: pb.GroupFence) -> None:
    accept_tenant(txn, fence.tenant)
    check_name("group", fence.group)
    if not fence.generation:
        raise Invalid("generation", "must be at least 1")
    group = group_key(fence.tenant, fence.group)
    mark = read_mark(txn, group)
    if pass_fence(mark, fence.generation):
        mark.deleted = False
        note_change(txn, group, mark)


def _reset(txn: Txn, reset: pb.OffsetReset) -> pb.OffsetsChanged:
    accept_tenant(txn, reset.tenant)
    check_name("group", reset.group)
    group = group_key(reset.tenant, reset.group)
    mark = read_mark(txn, group)
    if reset.HasField("generation") and not pass_fence(mark, reset.generation):
        raise Rejected(
            "FENCED",
            f"the group already has generation {reset.generation}: a reset that fences its "
            "consumers needs a larger one",
        )
    offsets = _offsets_of_reset(txn, reset, group)
    committed = committed_part(txn.proposed_at_ms)
    for key, offset in offsets.items():
        txn.put(OFFSETS, key, offset_row(offset, committed, ""))
    note_commit(txn, group, mark)
    return pb.OffsetsChanged(offsets=len(offsets))


def _offsets_of_reset(txn: Txn, reset: pb.OffsetReset, group: bytes) -> dict[bytes, int]:
    """Return the offsets that a reset writes, by the keys of the rows."""
    target = reset.WhichOneof("target")
    if target == "to_offsets":
        return _listed(reset.to_offsets.offsets, group)
    if target is None:
        raise Invalid("target", "must be one of to_offset, to_offsets")
    to = reset.to_offset
    _accept_offset("to_offset.offset", to.offset)
    partition = to.partition if to.HasField("partition") else None
    prefix = _filtered(group, to.topic, partition)
    if partition is not None:
        return {prefix: to.offset}
    found = {row.key: to.offset for row in rows_under(txn, prefix)}
    if not found:
        raise Rejected(
            "NOT_FOUND",
            f"group {reset.group} of tenant {reset.tenant} has no such offsets to reset: "
            "name the partition to create one",
        )
    return found


def _listed(offsets: Sequence[pb.PartitionOffset], group: bytes) -> dict[bytes, int]:
    if not offsets:
        raise Invalid("to_offsets", "must not be empty")
    listed: dict[bytes, int] = {}
    for each in offsets:
        check_name("topic", each.topic)
        _accept_offset("offset", each.offset)
        key = offset_key(group + keys.pack(each.topic), each.partition)
        if key in listed:
            named = f"partition {each.partition} of topic {each.topic}"
            raise Invalid("to_offsets", f"{named} occurs twice")
        listed[key] = each.offset
    return listed


def _delete(txn: Txn, deletion: pb.OffsetDeletion) -> pb.OffsetsChanged:
    check_name("tenant", deletion.tenant)
    check_name("group", deletion.group)
    group = group_key(deletion.tenant, deletion.group)
    partition = deletion.partition if deletion.HasField("partition") else None
    prefix = _filtered(group, deletion.topic, partition)
    if not deletion.topic:
        return pb.OffsetsChanged(offsets=delete_group(txn, group))
    deleted = _delete_under(txn, prefix) if partition is None else _delete_one(txn, prefix)
    if deleted:
        mark = read_mark(txn, group)
        if not any(rows_under(txn, group)):
            mark.committed_at_ms = 0
        note_change(txn, group, mark)
    return pb.OffsetsChanged(offsets=deleted)


def _filtered(group: bytes, topic: str, partition: int | None) -> bytes:
    """Return the key prefix of the named offsets; for one partition, its key."""
    if not topic:
        if partition is not None:
            raise Invalid("partition", "needs a topic")
        return group
    check_name("topic", topic)
    topic_key = group + keys.pack(topic)
    return topic_key if partition is None else offset_key(topic_key, partition)


def _delete_under(txn: Txn, prefix: bytes) -> int:
    deleted = [row.key for row in rows_under(txn, prefix)]
    for key in deleted:
        txn.delete(OFFSETS, key)
    return len(deleted)


def _delete_one(txn: Txn, key: bytes) -> int:
    if txn.get(OFFSETS, key) is None:
        return 0
    txn.delete(OFFSETS, key)
    return 1


def _accept_offset(field: str, offset: int) -> None:
    if offset < 0:
        raise Invalid(field, f"must not be negative, and is {offset}")

"""Offsets as rows of a table, for bulk loads and reads."""

from typing import Final

from quorate.plugin import Extension, Invalid, keys
from quorate.plugin.advanced import Column, Table
from quorate.plugin.checking import check_longest

from quorate_offset.families import OFFSETS
from quorate_offset.names import check_name
from quorate_offset.offsets.validation import LONGEST_METADATA
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.rows_pb2 import Offset
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest

_LARGEST_PARTITION: Final = (1 << 32) - 1


def to_item(
    tenant: str, group: str, topic: str, partition: int, offset: int, metadata: str | None
) -> GroupCommit:
    """Return the unconditional commit of one offset.

    Everything that a handler would refuse is refused here, except for a missing tenant: the
    refusal of an offset within its group is not reported as that of an item would be.
    """
    metadata = metadata or ""
    check_name("tenant", tenant)
    check_name("group", group)
    check_name("topic", topic)
    if not 0 <= partition <= _LARGEST_PARTITION:
        raise Invalid("partition", f"must be from 0 to {_LARGEST_PARTITION}, not {partition}")
    if offset < 0:
        raise Invalid("offset", f"must not be negative, and is {offset}")
    check_longest("metadata", metadata, LONGEST_METADATA)
    commit = OffsetCommit(topic=topic, partition=partition, offset=offset, metadata=metadata)
    return GroupCommit(tenant=tenant, group=group, commits=[commit])


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return an offset as its columns."""
    stored = Offset.FromString(value)
    return *keys.unpack(key), stored.offset, stored.metadata or None


TABLE: Final = Table(
    family=OFFSETS,
    columns=(
        Column(name="tenant", type="string"),
        Column(name="group", type="string"),
        Column(name="topic", type="string"),
        Column(name="partition", type="long"),
        Column(name="offset", type="long"),
        Column(name="metadata", type="string", nullable=True),
    ),
    key=("tenant", "group", "topic", "partition"),
    write=CommitOffsetsRequest,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
    plain=True,
)
EXTENSION: Final = Extension(point="spark.tables", name=OFFSETS, value=TABLE)

"""The rows of nodes and shards, which metadata/0 has for all of a cluster."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from google.protobuf.message import Message

from quorate.apply.layers import Rows
from quorate.plugin import Reader, Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.storage.families import SHARDS
from quorate.storage.rows import value_of
from quorate.v1 import control_pb2 as pb

#: Why a change of members is refused.
CHANGE_UNDER_WAY: Final = "CHANGE_UNDER_WAY"
CHANGE_OVER: Final = "CHANGE_OVER"
OTHER_REPLICA: Final = "OTHER_REPLICA"
#: Why a change of a shard is refused.
MOVING: Final = "MOVE_UNDER_WAY"
SPLITTING: Final = "SPLIT_UNDER_WAY"
MERGING: Final = "MERGE_UNDER_WAY"
MERGE_OVER: Final = "MERGE_OVER"
REFUSED: Final = "FAILED_PRECONDITION"
INVALID: Final = "INVALID_ARGUMENT"

#: More than any number of nodes or shards.
_ALL: Final = 1 << 20
_END: Final = b"\xff" * 8

M = TypeVar("M", bound=Message)


def replicas_of(row: pb.ShardRow) -> list[pb.ShardMember]:
    """Return the current replicas of a shard."""
    return list(row.replicas or row.members)


def parents_of(row: pb.ShardRow) -> tuple[ShardId, ...]:
    """Return the parents of a shard: the one that was split, or both that were merged, if any."""
    if row.HasField("union"):
        numbers = (row.union.base, row.union.other)
        return tuple(ShardId(row.group, number) for number in numbers)
    return (ShardId(row.group, row.parent.number),) if row.HasField("parent") else ()


def is_forming(row: pb.ShardRow) -> bool:
    """Whether its parents are not cut or frozen yet: a shard has no slots and no replicas then."""
    if row.HasField("union"):
        return not row.union.base_index
    return row.HasField("parent") and not row.parent.index


def is_changing(row: pb.ShardRow) -> bool:
    """Whether a shard is being split or merged, or comes from that and is not safe yet."""
    unsettled = row.HasField("union") and not row.union.settled
    return row.HasField("split") or row.HasField("merge") or is_forming(row) or unsettled


def replicas_wanted(declarations: Iterable[pb.NodeDeclaration]) -> dict[str, int]:
    """Return the number of replicas of each group, as far as all nodes declare the same.

    The shards of other groups have a replica on every node, and so has the first of metadata.
    """
    wanted: dict[str, int] = {}
    for declaration in declarations:
        for group in declaration.groups:
            if wanted.setdefault(group.name, group.replicas) != group.replicas:
                wanted[group.name] = 0
    return {group: replicas for group, replicas in wanted.items() if replicas}


def is_placed(row: pb.ShardRow, wanted: Iterable[str]) -> bool:
    """Whether a shard has a number of replicas; `wanted` are the groups with one."""
    return row.group in wanted and (row.group, row.number) != METADATA


def check_goes_on(row: pb.MemberRow, node: str, number: int) -> None:
    """Raise `Rejected` if the row of the node is not of this change any more."""
    if not row.change or row.number != number:
        raise Rejected(
            CHANGE_OVER,
            f"this change of {node} has ended or was replaced; `quorate status` shows the members",
        )


def rows_of(reader: Reader, family: str, kind: type[M]) -> list[M]:
    """Return all rows of a family of core's own."""
    return [kind.FromString(row.value) for row in reader.scan(family, b"", _END, limit=_ALL)]


def stored_rows(rows: Rows, family: str, kind: type[M]) -> Iterator[M]:
    """Yield all rows of a family of core's own, as metadata/0 has stored them."""
    return (kind.FromString(value_of(row)) for _, row in rows.iterate(family, b"", None))


def shards(reader: Reader) -> list[pb.ShardRow]:
    """Return the rows of all shards."""
    return rows_of(reader, SHARDS, pb.ShardRow)

"""The words for changing and reading offsets."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.plugin import Command, Items, Query

from quorate_offset.families import GROUP, group_key
from quorate_offset.offsets import queries
from quorate_offset.offsets.validation import (
    check_commits,
    check_deletions,
    check_fences,
    check_resets,
)
from quorate_offset.pages import Named, group_order
from quorate_offset.v1.commands_pb2 import (
    COMMIT_MODE_MONOTONIC,
    CommitOffsetsCommand,
    DeleteOffsetsCommand,
    FenceGroupsCommand,
    GroupCommit,
    GroupFence,
    OffsetCommit,
    OffsetDeletion,
    OffsetList,
    OffsetReset,
    PartitionOffset,
    ResetOffsetsCommand,
    ResetToOffset,
)
from quorate_offset.v1.queries_pb2 import (
    FetchGroupQuery,
    FetchGroupsQuery,
    GetGroupStateQuery,
    ListChangesQuery,
    ListGroupStatesQuery,
)


def shard_of(item: Named) -> bytes:
    """Return the shard key of whatever names a group."""
    return group_key(item.tenant, item.group)


_BILLING: Final = GroupCommit(
    tenant="acme",
    group="billing",
    commits=[
        OffsetCommit(topic="orders", partition=0, offset=100),
        OffsetCommit(topic="orders", partition=1, offset=7, expected_offset=-1, metadata="node-1"),
    ],
)
_FENCED: Final = GroupCommit(
    tenant="acme",
    group="billing",
    commits=[
        OffsetCommit(topic="orders", partition=0, offset=99),
        OffsetCommit(topic="orders", partition=1, offset=8, expected_offset=7),
    ],
    mode=COMMIT_MODE_MONOTONIC,
    generation=4,
)
_AUDIT: Final = GroupCommit(
    tenant="acme", group="audit", commits=[OffsetCommit(topic="orders", partition=9, offset=3)]
)

COMMIT_OFFSETS: Final = Command(
    message=CommitOffsetsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.groups,
        shard_key=shard_of,
        make=lambda _, groups: CommitOffsetsCommand(groups=groups),
    ),
    validate=check_commits,
    public=True,
    examples=(
        CommitOffsetsCommand(groups=[_BILLING, _AUDIT]),
        CommitOffsetsCommand(groups=[_FENCED]),
    ),
)

FENCE_GROUPS: Final = Command(
    message=FenceGroupsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.fences,
        shard_key=shard_of,
        make=lambda _, fences: FenceGroupsCommand(fences=fences),
    ),
    validate=check_fences,
    public=True,
    examples=(
        FenceGroupsCommand(fences=[GroupFence(tenant="acme", group="billing", generation=3)]),
    ),
)

RESET_OFFSETS: Final = Command(
    message=ResetOffsetsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.resets,
        shard_key=shard_of,
        make=lambda _, resets: ResetOffsetsCommand(resets=resets),
    ),
    validate=check_resets,
    public=True,
    examples=(
        ResetOffsetsCommand(
            resets=[
                OffsetReset(
                    tenant="acme",
                    group="billing",
                    to_offset=ResetToOffset(offset=50, topic="orders"),
                    generation=5,
                ),
                OffsetReset(
                    tenant="acme",
                    group="audit",
                    to_offsets=OffsetList(
                        offsets=[PartitionOffset(topic="orders", partition=9, offset=1)]
                    ),
                ),
            ]
        ),
    ),
)

DELETE_OFFSETS: Final = Command(
    message=DeleteOffsetsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.deletions,
        shard_key=shard_of,
        make=lambda _, deletions: DeleteOffsetsCommand(deletions=deletions),
    ),
    validate=check_deletions,
    public=True,
    examples=(
        DeleteOffsetsCommand(
            deletions=[
                OffsetDeletion(tenant="acme", group="billing", topic="orders", partition=1),
                OffsetDeletion(tenant="acme", group="audit"),
            ]
        ),
    ),
)

COMMANDS: Final[Sequence[Command[Any]]] = (
    COMMIT_OFFSETS,
    FENCE_GROUPS,
    RESET_OFFSETS,
    DELETE_OFFSETS,
)

QUERIES: Final[Sequence[Query[Any]]] = (
    Query(message=FetchGroupQuery, group=GROUP, run=queries.fetch_group, shard_key=shard_of),
    Query(
        message=FetchGroupsQuery,
        group=GROUP,
        run=queries.fetch_groups,
        items=Items(
            get=lambda query: query.groups,
            shard_key=shard_of,
            make=lambda _, groups: FetchGroupsQuery(groups=groups),
        ),
        order=group_order,
    ),
    Query(message=GetGroupStateQuery, group=GROUP, run=queries.get_group_state, shard_key=shard_of),
    Query(
        message=ListGroupStatesQuery,
        group=GROUP,
        run=queries.list_group_states,
        order=group_order,
    ),
    Query(
        message=ListChangesQuery,
        group=GROUP,
        run=queries.list_changes,
        order=queries.changes_order,
    ),
)

"""The rows of offsets and subscription groups.

What is wrong with one item of a batch is found where the rows are, and is refused in its place:
`test_bad_items` asks with such batches.
"""

from __future__ import annotations

from typing import Final

from quorate.v1.batch_pb2 import ShardRevision
from quorate_offset.v1.commands_pb2 import (
    GroupCommit,
    GroupFence,
    OffsetCommit,
    OffsetDeletion,
    OffsetList,
    PartitionOffset,
    SubscriptionGroupChange,
    SubscriptionGroupDeletion,
)
from quorate_offset.v1.queries_pb2 import GroupName, TopicPartition
from quorate_offset.v1.service_pb2 import (
    CommitOffsetRequest,
    CommitOffsetsRequest,
    DeleteOffsetsRequest,
    FenceGroupRequest,
    FenceGroupsRequest,
    FetchGroupsRequest,
    FetchOffsetsRequest,
    GetGroupStateRequest,
    LagRequest,
    ListChangesRequest,
    ListGroupStatesRequest,
    ResetOffsetsRequest,
    ResetRequest,
)
from quorate_offset.v1.subscription_group_service_pb2 import (
    DeleteGroupsRequest,
    GetGroupRequest,
    ListGroupsRequest,
    PutGroupsRequest,
)

from tests.integration.rows.row import TEXT, Row, by_method

OFFSET: Final = OffsetCommit(topic="o", offset=1)


#: A mode that no version knows.
UNKNOWN_MODE: Final = b"\x20\x4d"


def commit(**fields: object) -> CommitOffsetRequest:
    given = {"topic": "o", "offset": 1, **fields}
    return CommitOffsetRequest(
        tenant="t",
        group="g",
        commit=OffsetCommit(**given),  # type: ignore[arg-type]  # by name
    )


def fetch(**fields: object) -> FetchOffsetsRequest:
    return FetchOffsetsRequest(tenant="t", group="g", **fields)  # type: ignore[arg-type]  # by name


def lag(*ends: PartitionOffset) -> LagRequest:
    return LagRequest(tenant="t", group="g", ends=ends)


OFFSETS: Final = {
    "CommitOffset": Row(
        empty="tenant",
        large=(
            (CommitOffsetRequest(tenant="t", group=TEXT, commit=OFFSET), "group"),
            (commit(topic=TEXT), "commit.topic"),
            (commit(metadata=TEXT), "commit.metadata"),
        ),
        wrong=(
            (CommitOffsetRequest(tenant="t", group="g"), "commit.topic"),
            (commit(offset=-1), "commit.offset"),
            (commit(expected_offset=-2), "commit.expected_offset"),
            (CommitOffsetRequest.FromString(commit().SerializeToString() + UNKNOWN_MODE), "mode"),
        ),
    ),
    "CommitOffsets": Row(
        empty=None,
        large=((CommitOffsetsRequest(groups=[GroupCommit(commits=[OFFSET] * 10_001)]), "groups"),),
    ),
    "FenceGroup": Row(
        empty="tenant",
        large=((FenceGroupRequest(tenant="t", group=TEXT), "group"),),
        wrong=((FenceGroupRequest(tenant="t", group="g"), "generation"),),
    ),
    "FenceGroups": Row(
        empty=None, large=((FenceGroupsRequest(fences=[GroupFence()] * 1_001), "fences"),)
    ),
    "ResetOffsets": Row(
        empty=None,
        large=(
            (ResetOffsetsRequest(resets=[ResetRequest()] * 1_001), "resets"),
            (
                ResetOffsetsRequest(
                    resets=[
                        ResetRequest(to_offsets=OffsetList(offsets=[PartitionOffset()] * 10_001))
                    ]
                ),
                "resets",
            ),
        ),
    ),
    "DeleteOffsets": Row(
        empty=None,
        large=((DeleteOffsetsRequest(deletions=[OffsetDeletion()] * 1_001), "deletions"),),
    ),
    "FetchOffsets": Row(
        empty="tenant",
        large=(
            (fetch(topic=TEXT), "topic"),
            (fetch(partitions=[TopicPartition(topic="o")] * 10_001), "partitions"),
            (fetch(partitions=[TopicPartition(topic=TEXT)]), "partitions[0].topic"),
        ),
        wrong=(
            (fetch(partitions=[TopicPartition()]), "partitions[0].topic"),
            (fetch(topic="o", partitions=[TopicPartition(topic="o")]), "topic"),
        ),
    ),
    "FetchGroups": Row(
        empty=None,
        large=(
            (FetchGroupsRequest(groups=[GroupName(tenant="t", group="g")] * 1_001), "groups"),
            (FetchGroupsRequest(groups=[GroupName(tenant=TEXT)]), "groups[0].tenant"),
        ),
        wrong=((FetchGroupsRequest(groups=[GroupName(tenant="t")]), "groups[0].group"),),
    ),
    "Lag": Row(
        empty="tenant",
        large=(
            (lag(*[PartitionOffset(topic="o")] * 10_001), "ends"),
            (lag(PartitionOffset(topic=TEXT)), "ends[0].topic"),
        ),
        wrong=((lag(PartitionOffset(topic="o", offset=-1)), "ends[0].offset"),),
    ),
    "GetGroupState": Row(
        empty="tenant", large=((GetGroupStateRequest(tenant="t", group=TEXT), "group"),)
    ),
    "ListGroupStates": Row(
        empty=None,
        large=(
            (ListGroupStatesRequest(tenant=TEXT), "tenant"),
            (ListGroupStatesRequest(page_size=1_001), "page_size"),
        ),
        wrong=(
            (ListGroupStatesRequest(prefix="g"), "prefix"),
            (ListGroupStatesRequest(page_token=b"\xff"), "page_token"),
        ),
    ),
    "ListChanges": Row(
        empty=None,
        large=(
            (ListChangesRequest(since=[ShardRevision(revision=1 << 63)]), "since"),
            (ListChangesRequest(limit=10_001), "limit"),
        ),
        wrong=((ListChangesRequest(since=[ShardRevision()] * 2), "since"),),
    ),
}

SUBSCRIPTION_GROUPS: Final = {
    "PutGroups": Row(
        empty=None,
        large=((PutGroupsRequest(groups=[SubscriptionGroupChange()] * 1_001), "groups"),),
    ),
    "DeleteGroups": Row(
        empty=None,
        large=(
            (DeleteGroupsRequest(deletions=[SubscriptionGroupDeletion()] * 1_001), "deletions"),
        ),
    ),
    "GetGroup": Row(empty="tenant", large=((GetGroupRequest(tenant="t", group=TEXT), "group"),)),
    "ListGroups": Row(
        empty=None,
        large=(
            (ListGroupsRequest(tenant="t", prefix=TEXT), "prefix"),
            (ListGroupsRequest(page_size=1_001), "page_size"),
        ),
        wrong=((ListGroupsRequest(page_token=b"\x0a\x00"), "page_token"),),
    ),
}

ROWS: Final = by_method(
    {
        "quorate_offset.v1.OffsetService": OFFSETS,
        "quorate_offset.v1.SubscriptionGroupService": SUBSCRIPTION_GROUPS,
    }
)

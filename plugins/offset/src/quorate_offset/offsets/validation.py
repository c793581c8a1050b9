"""Checks of a command or a read as a whole, which need no rows.

The handlers check the items of a batch, so that an invalid one does not block the others.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_longest, check_most, check_page_size

from quorate_offset.names import LONGEST_NAME, check_name, name_fault
from quorate_offset.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    service_pb2 as requests,
    subscription_group_service_pb2 as groups_pb2,
)

#: The most offsets of one commit or read, and partitions of one reset.
MOST_OFFSETS: Final = 10_000
#: The most groups of one fence, reset, deletion or read.
MOST_GROUPS: Final = 1_000
LARGEST_PAGE: Final = 1_000
MOST_CHANGES: Final = 10_000
LONGEST_METADATA: Final = 4_096
#: The value of `OffsetCommit.expected_offset` for a partition that must have no offset.
NONE: Final = -1
MODES: Final = frozenset(pb.CommitMode.values())
_LARGEST_REVISION: Final = 2**63 - 1


def check_commit(request: requests.CommitOffsetRequest) -> None:
    """Refuse a commit with an invalid group, offset or mode."""
    check_group(request.tenant, request.group)
    if request.mode not in MODES:
        raise Invalid("mode", f"{request.mode} is unknown to this version")
    field, fault = commit_fault(request.commit)
    if fault:
        raise Invalid(f"commit.{field}", fault)


def commit_fault(commit: pb.OffsetCommit) -> tuple[str, str]:
    """Return the invalid field of a commit, and its fault; empty if it is valid."""
    if fault := name_fault(commit.topic):
        return "topic", fault
    if commit.offset < 0:
        return "offset", f"must not be negative, and is {commit.offset}"
    if commit.expected_offset < NONE:
        return "expected_offset", f"must be at least {NONE}, and is {commit.expected_offset}"
    if (length := len(commit.metadata)) > LONGEST_METADATA:
        return "metadata", f"must have at most {LONGEST_METADATA} characters, not {length}"
    return "", ""


def check_fence(request: requests.FenceGroupRequest) -> None:
    """Refuse a fence without a valid group, or of generation 0."""
    check_group(request.tenant, request.group)
    if not request.generation:
        raise Invalid("generation", "must be at least 1")


def check_commits(command: requests.CommitOffsetsRequest) -> None:
    """Refuse a batch of too many offsets."""
    offsets = sum(len(group.commits) for group in command.groups)
    if offsets > MOST_OFFSETS:
        raise Invalid("groups", f"{offsets} offsets; at most {MOST_OFFSETS} allowed in one call")


def check_resets(command: pb.SetOffsets) -> None:
    """Refuse a batch of too many groups or offsets."""
    check_count("resets", command.resets)
    listed = sum(len(reset.to_offsets.offsets) for reset in command.resets)
    if listed > MOST_OFFSETS:
        raise Invalid("resets", f"{listed} offsets; at most {MOST_OFFSETS} allowed in one call")


def check_fetch(request: requests.FetchOffsetsRequest) -> None:
    """Refuse a read with an invalid group, topic or partitions."""
    check_group(request.tenant, request.group)
    if request.partitions and request.topic:
        raise Invalid("topic", "must be empty when partitions are named")
    if request.topic:
        check_name("topic", request.topic)
    _check_partitions("partitions", request.partitions)


def check_fetch_groups(request: requests.FetchGroupsRequest) -> None:
    """Refuse a read of too many groups, or of an invalid group."""
    check_count("groups", request.groups)
    for position, each in enumerate(request.groups):
        check_group(each.tenant, each.group, f"groups[{position}].")


def check_lag(request: requests.LagRequest) -> None:
    """Refuse a lag request with an invalid group, partition or end."""
    check_group(request.tenant, request.group)
    _check_partitions("ends", request.ends)
    for position, end in enumerate(request.ends):
        if end.offset < 0:
            raise Invalid(f"ends[{position}].offset", f"must not be negative, and is {end.offset}")


def check_changes(request: requests.ListChangesRequest) -> None:
    """Refuse a token that names a shard twice or holds an impossible revision."""
    shards = {each.shard for each in request.since}
    if len(shards) != len(request.since):
        raise Invalid("since", "names a shard twice")
    if any(each.revision > _LARGEST_REVISION for each in request.since):
        raise Invalid("since", f"a revision is at most {_LARGEST_REVISION}")
    check_most("limit", request.limit, MOST_CHANGES)


def check_group(tenant: str, group: str, path: str = "") -> None:
    """Refuse an invalid tenant or group name."""
    check_name(f"{path}tenant", tenant)
    check_name(f"{path}group", group)


def check_states(request: requests.ListGroupStatesRequest) -> None:
    """Refuse an invalid filter, and a page that is too large."""
    check_longest("tenant", request.tenant, LONGEST_NAME)
    check_listed(request)
    if request.prefix and not request.tenant:
        raise Invalid("prefix", "needs a tenant")
    check_page_size("page_size", request.page_size)


def check_listed(request: requests.ListGroupStatesRequest | groups_pb2.ListGroupsRequest) -> None:
    """Refuse a prefix that is longer than any name."""
    check_longest("prefix", request.prefix, LONGEST_NAME)


def count_of(field: str) -> Callable[[Any], None]:
    """Return a check that refuses a batch with too many items in this field."""
    return lambda command: check_count(field, getattr(command, field))


def check_count(field: str, items: Sequence[object]) -> None:
    """Refuse a batch of too many groups."""
    if len(items) > MOST_GROUPS:
        raise Invalid(field, f"{len(items)} items; at most {MOST_GROUPS} allowed in one call")


def _check_partitions(
    field: str, named: Sequence[asked.TopicPartition | pb.PartitionOffset]
) -> None:
    if len(named) > MOST_OFFSETS:
        raise Invalid(field, f"{len(named)} partitions; at most {MOST_OFFSETS} allowed")
    for position, each in enumerate(named):
        check_name(f"{field}[{position}].topic", each.topic)

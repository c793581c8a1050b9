"""The resource of subscription groups, and the commands and queries of offsets."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from google.protobuf.message import Message
from quorate.plugin import (
    Admission,
    Checks,
    Command,
    Item,
    Items,
    Life,
    Query,
    Resource,
    Serving,
    Verb,
    View,
    keys,
)
from quorate.plugin.resource import TENANTS

from quorate_offset import expiry
from quorate_offset.families import GROUP, SUBSCRIPTION_GROUPS, group_key, of_group
from quorate_offset.names import check_name
from quorate_offset.offsets import apply as offsets, queries, validation
from quorate_offset.subscriptions import apply as subscriptions
from quorate_offset.subscriptions.apply import Changes
from quorate_offset.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    service_pb2,
    subscription_group_service_pb2 as groups_pb2,
)
from quorate_offset.v1.rows_pb2 import Subscription, SubscriptionGroup

_BILLING: Final[dict[str, Any]] = {"tenant": "acme", "group": "billing"}
_AUDIT: Final[dict[str, Any]] = {"tenant": "acme", "group": "audit"}
_TAGGED: Final = Subscription(topic="orders", expression_type="TAG", expression="*", version=1)

#: Its handlers validate each item, so that an invalid one does not block the others of a batch.
SUBSCRIPTION_GROUP: Final = Resource(
    family=SUBSCRIPTION_GROUPS,
    group=GROUP,
    row=SubscriptionGroup,
    service=groups_pb2.DESCRIPTOR.services_by_name["SubscriptionGroupService"],
    serving=Serving(servicer=Changes, keep=validation.check_listed),
    key=("tenant", "group"),
    shard_by=("tenant", "group"),
    tenant="tenant",
    life=Life(cascade=False),
    check_key={"tenant": check_name, "group": check_name},
    view=View(cli=False),
    verbs={
        "Change": Verb(
            apply=subscriptions.put,
            item=Item(repeats=True),
            message=groups_pb2.PutGroupsRequest,
            check=Checks(command=validation.count_of("groups")),
            admission=Admission(public=True),
            examples=(
                pb.SubscriptionGroupChange(
                    **_BILLING,
                    retry_max_times=3,
                    subscriptions=pb.SubscriptionList(subscriptions=[_TAGGED]),
                    attributes=[pb.AttributeChange(name="+team", value="blue")],
                    forbidden=[pb.ForbiddenChange(topic="secrets", set=5)],
                ),
                pb.SubscriptionGroupChange(**_AUDIT, consume_enable=False),
            ),
        ),
        "Delete": Verb(
            apply=subscriptions.delete,
            item=Item(repeats=True),
            message=groups_pb2.DeleteGroupsRequest,
            check=Checks(command=validation.count_of("deletions")),
            admission=Admission(public=True),
            examples=(pb.SubscriptionGroupDeletion(**_AUDIT, offsets=True),),
        ),
    },
)


def shard_of(item: Any) -> bytes:
    """Return the shard key of a message that names a group."""
    return group_key(item.tenant, item.group)


def _items(field: str, key: Any = None) -> Items[Any, Any]:
    return Items.of(field, shard_key=shard_of, key=key, tenant=attrgetter("tenant"))


def _batch(message: Any, apply: Any, field: str, validate: Any, *examples: Message) -> Command[Any]:
    """Return the command of a request whose items each name a group."""
    return Command(
        message=message,
        group=GROUP,
        apply=apply,
        # What creates rows reads whether their tenant exists.
        reads=() if message is _DELETE else (TENANTS,),
        items=_items(field),
        validate=validate,
        public=True,
        access=of_group("write"),
        examples=examples,
    )


def _at(
    partition: int, offset: int, expected_offset: int | None = None, metadata: str = ""
) -> pb.OffsetCommit:
    return pb.OffsetCommit(
        topic="orders",
        partition=partition,
        offset=offset,
        expected_offset=expected_offset,
        metadata=metadata,
    )


_COMMIT: Final = service_pb2.CommitOffsetsRequest
_FENCE: Final = service_pb2.FenceGroupsRequest
_DELETE: Final = service_pb2.DeleteOffsetsRequest
_LIST: Final = pb.OffsetList(offsets=[pb.PartitionOffset(topic="orders", partition=9, offset=1)])

COMMANDS: Final[Sequence[Command[Any]]] = (
    _batch(
        _COMMIT,
        offsets.commit_offsets,
        "groups",
        validation.check_commits,
        _COMMIT(
            groups=[
                pb.GroupCommit(**_BILLING, commits=[_at(0, 100), _at(1, 7, -1, "node-1")]),
                pb.GroupCommit(**_AUDIT, commits=[_at(9, 3)]),
            ]
        ),
        _COMMIT(
            groups=[
                pb.GroupCommit(
                    **_BILLING,
                    commits=[_at(0, 99), _at(1, 8, 7)],
                    mode=pb.COMMIT_MODE_MONOTONIC,
                    generation=4,
                )
            ]
        ),
    ),
    _batch(
        _FENCE,
        offsets.fence_groups,
        "fences",
        validation.count_of("fences"),
        _FENCE(fences=[pb.GroupFence(**_BILLING, generation=3)]),
    ),
    _batch(
        pb.SetOffsets,
        offsets.reset_offsets,
        "resets",
        validation.check_resets,
        pb.SetOffsets(
            resets=[
                pb.OffsetReset(
                    **_BILLING, to_offset=pb.ResetToOffset(offset=50, topic="orders"), generation=5
                ),
                pb.OffsetReset(**_AUDIT, to_offsets=_LIST),
            ]
        ),
    ),
    _batch(
        _DELETE,
        offsets.delete_offsets,
        "deletions",
        validation.count_of("deletions"),
        _DELETE(
            deletions=[
                pb.OffsetDeletion(**_BILLING, topic="orders", partition=1),
                pb.OffsetDeletion(**_AUDIT),
            ]
        ),
    ),
    Command(
        message=pb.ExpireGroups,
        group=GROUP,
        apply=expiry.expire_groups,
        items=_items("groups", key=shard_of),
        examples=(pb.ExpireGroups(groups=[pb.GroupExpiry(**_AUDIT, revision=1 << 20)]),),
    ),
)

QUERIES: Final[Sequence[Query[Any]]] = (
    Query(message=asked.FetchGroupQuery, group=GROUP, run=queries.fetch_group, shard_key=shard_of),
    Query(
        message=asked.FetchGroupsQuery,
        group=GROUP,
        run=queries.fetch_groups,
        items=_items("groups"),
        order=shard_of,
    ),
    Query(
        message=asked.GetGroupStateQuery,
        group=GROUP,
        run=queries.get_group_state,
        shard_key=shard_of,
    ),
    Query(
        message=asked.ListGroupStatesQuery,
        group=GROUP,
        run=queries.list_group_states,
        order=shard_of,
    ),
    Query(
        message=asked.ListChangesQuery,
        group=GROUP,
        run=queries.list_changes,
        order=lambda changes: keys.pack(changes.shard),
    ),
    Query(
        message=asked.ListIdleGroupsQuery,
        group=GROUP,
        run=queries.list_idle_groups,
        order=lambda idle: keys.pack(idle.shard, idle.revision, idle.tenant, idle.group),
    ),
)

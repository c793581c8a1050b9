"""The words for changing and reading subscription groups."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.plugin import Command, Items, Query

from quorate_offset.families import GROUP
from quorate_offset.offsets.vocabulary import shard_of
from quorate_offset.pages import group_order
from quorate_offset.subscriptions import queries
from quorate_offset.subscriptions.validation import check_deletions, check_puts
from quorate_offset.v1.commands_pb2 import (
    AttributeChange,
    DeleteSubscriptionGroupsCommand,
    ForbiddenChange,
    PutSubscriptionGroupsCommand,
    SubscriptionGroupChange,
    SubscriptionGroupDeletion,
    SubscriptionList,
)
from quorate_offset.v1.queries_pb2 import GetSubscriptionGroupQuery, ListSubscriptionGroupsQuery
from quorate_offset.v1.rows_pb2 import Subscription

_BILLING: Final = SubscriptionGroupChange(
    tenant="acme",
    group="billing",
    retry_max_times=3,
    subscriptions=SubscriptionList(
        subscriptions=[
            Subscription(topic="orders", expression_type="TAG", expression="*", version=1)
        ]
    ),
    attributes=[AttributeChange(name="+team", value="blue")],
    forbidden=[ForbiddenChange(topic="secrets", set=5)],
)
_AUDIT: Final = SubscriptionGroupChange(tenant="acme", group="audit", consume_enable=False)

COMMANDS: Final[Sequence[Command[Any]]] = (
    Command(
        message=PutSubscriptionGroupsCommand,
        group=GROUP,
        items=Items(
            get=lambda command: command.groups,
            shard_key=shard_of,
            make=lambda _, groups: PutSubscriptionGroupsCommand(groups=groups),
        ),
        validate=check_puts,
        public=True,
        examples=(PutSubscriptionGroupsCommand(groups=[_BILLING, _AUDIT]),),
    ),
    Command(
        message=DeleteSubscriptionGroupsCommand,
        group=GROUP,
        items=Items(
            get=lambda command: command.deletions,
            shard_key=shard_of,
            make=lambda _, deletions: DeleteSubscriptionGroupsCommand(deletions=deletions),
        ),
        validate=check_deletions,
        public=True,
        examples=(
            DeleteSubscriptionGroupsCommand(
                deletions=[SubscriptionGroupDeletion(tenant="acme", group="audit", offsets=True)]
            ),
        ),
    ),
)

QUERIES: Final[Sequence[Query[Any]]] = (
    Query(
        message=GetSubscriptionGroupQuery,
        group=GROUP,
        run=queries.get_group,
        shard_key=shard_of,
    ),
    Query(
        message=ListSubscriptionGroupsQuery,
        group=GROUP,
        run=queries.list_groups,
        order=group_order,
    ),
)

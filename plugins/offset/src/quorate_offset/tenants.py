"""The deletion of a tenant's consumer groups and subscription groups."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from google.protobuf.message import Message
from quorate.plugin import NodeApi
from quorate.plugin.advanced import TenantRows
from quorate.plugin.batches import read_pages
from quorate.plugin.resource import tenant_deletion, tenant_rows_of

from quorate_offset.families import GROUP, group_key, group_of
from quorate_offset.resources import SUBSCRIPTION_GROUP
from quorate_offset.v1.commands_pb2 import OffsetDeletion
from quorate_offset.v1.queries_pb2 import GroupName, GroupState, ListGroupStatesQuery
from quorate_offset.v1.service_pb2 import DeleteOffsetsRequest

#: Groups per command: each may have many offsets.
TOGETHER: Final = 100


async def _consumed(node: NodeApi, tenant: str) -> AsyncIterator[Sequence[bytes]]:
    """Yield the keys of a tenant's consumer groups, page by page."""

    def following(last: GroupState | None) -> ListGroupStatesQuery:
        after = GroupName(tenant=tenant, group=last.group) if last else None
        return ListGroupStatesQuery(tenant=tenant, after=after, limit=TOGETHER)

    async for page in read_pages(node, following, GroupState, TOGETHER):
        yield [group_key(tenant, each.group) for each in page]


def _erase(_: NodeApi, keys: Sequence[bytes]) -> Message:
    named = map(group_of, keys)
    deletions = [OffsetDeletion(tenant=tenant, group=group) for tenant, group in named]
    return DeleteOffsetsRequest(deletions=deletions)


DELETION: Final = tenant_deletion(
    "offset",
    (),
    (TenantRows(keys_of=_consumed, erase=_erase), tenant_rows_of(SUBSCRIPTION_GROUP)),
    group=GROUP,
)

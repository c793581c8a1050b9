"""Subscription groups, over an `AsyncClient`."""

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from quorate.client import AsyncClient, Records
from quorate.plugin.batches import in_parts
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.answers import each_reply
from quorate_offset.client.commits import raise_first, refusals_of
from quorate_offset.offsets.validation import LARGEST_PAGE, MOST_GROUPS
from quorate_offset.resources import SUBSCRIPTION_GROUP
from quorate_offset.v1 import commands_pb2 as pb, subscription_group_service_pb2 as requests
from quorate_offset.v1.rows_pb2 import SubscriptionGroup


class SubscriptionGroups:
    """Creates, changes, reads and deletes subscription groups."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._records: Final[Records[SubscriptionGroup]] = Records(q, SUBSCRIPTION_GROUP)

    async def put(
        self, change: pb.SubscriptionGroupChange, *, timeout_s: float | None = None
    ) -> pb.PutSubscriptionGroupReply:
        """Create or change a group; the reply holds its new state, and whether it was unchanged."""
        response = await self.put_many([change], timeout_s=timeout_s)
        raise_first(response.refusals)
        return response.groups[0]

    async def put_many(
        self, changes: Iterable[pb.SubscriptionGroupChange], *, timeout_s: float | None = None
    ) -> requests.PutGroupsResponse:
        """Create or change many groups, all shards in parallel; the answer names refused groups."""
        parts = [requests.PutGroupsRequest(groups=part) for part in in_parts(changes, MOST_GROUPS)]
        reply = await self._q.execute_all(parts, timeout_s=timeout_s)
        return requests.PutGroupsResponse(
            groups=each_reply(reply, pb.PutSubscriptionGroupReply),
            refusals=refusals_of(reply),
            revisions=reply.revisions,
        )

    async def delete(
        self,
        tenant: str,
        group: str,
        *,
        offsets: bool = False,
        missing_ok: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """Delete a group, and its offsets if asked to.

        NOT_FOUND if it does not exist, unless `missing_ok`.
        """
        deletion = pb.SubscriptionGroupDeletion(
            tenant=tenant, group=group, offsets=offsets, missing_ok=missing_ok
        )
        reply = await self._q.execute(
            requests.DeleteGroupsRequest(deletions=[deletion]), BatchReply, timeout_s=timeout_s
        )
        raise_first(refusals_of(reply))

    async def get(
        self, tenant: str, group: str, *, stale: bool = False, timeout_s: float | None = None
    ) -> SubscriptionGroup | None:
        """Return a group, or None."""
        found: SubscriptionGroup | None = await self._records.get(
            tenant, group, stale=stale, timeout_s=timeout_s
        )
        return found

    def list(
        self,
        tenant: str = "",
        *,
        prefix: str = "",
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[SubscriptionGroup, None]:
        """Yield groups by tenant and name, of one tenant or of all."""
        return self._records.list(
            tenant=tenant, prefix=prefix, page_size=LARGEST_PAGE, stale=stale, timeout_s=timeout_s
        )

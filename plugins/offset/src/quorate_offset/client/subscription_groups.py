"""Subscription groups: how groups of consumers are to be served, over an `AsyncClient`."""

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from quorate.client import AsyncClient, RejectedError
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.client.commits import raise_first, refusals_of
from quorate_offset.families import GROUP, group_key
from quorate_offset.v1.commands_pb2 import (
    DeleteSubscriptionGroupsCommand,
    PutSubscriptionGroupReply,
    PutSubscriptionGroupsCommand,
    SubscriptionGroupChange,
    SubscriptionGroupDeletion,
)
from quorate_offset.v1.rows_pb2 import SubscriptionGroup
from quorate_offset.v1.subscription_group_service_pb2 import (
    GetGroupRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    PutGroupsResponse,
)

#: The most that one command holds.
_MOST: Final = 1_000

_SERVICE: Final = "/quorate_offset.v1.SubscriptionGroupService/"


class SubscriptionGroups:
    """Makes, changes, reads and deletes subscription groups."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def put(
        self, change: SubscriptionGroupChange, *, timeout_s: float | None = None
    ) -> PutSubscriptionGroupReply:
        """Make or change a group; the reply has it as it stands, and whether nothing changed."""
        response = await self.put_many([change], timeout_s=timeout_s)
        raise_first(response.refusals)
        return response.groups[0]

    async def put_many(
        self, changes: Iterable[SubscriptionGroupChange], *, timeout_s: float | None = None
    ) -> PutGroupsResponse:
        """Make or change many groups, all shards at the same time; the answer names the refused."""
        wanted = list(changes)
        reply = await self._q.execute_all(
            [
                PutSubscriptionGroupsCommand(groups=wanted[first : first + _MOST])
                for first in range(0, len(wanted), _MOST)
            ],
            timeout_s=timeout_s,
        )
        replies = reply.replies or [b""] * len(wanted)
        return PutGroupsResponse(
            groups=[PutSubscriptionGroupReply.FromString(each) for each in replies],
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
        """Delete a group, and its offsets if that is wanted.

        NOT_FOUND when there is none, unless `missing_ok`.
        """
        deletion = SubscriptionGroupDeletion(
            tenant=tenant, group=group, offsets=offsets, missing_ok=missing_ok
        )
        reply = await self._q.execute(
            DeleteSubscriptionGroupsCommand(deletions=[deletion]), BatchReply, timeout_s=timeout_s
        )
        raise_first(refusals_of(reply))

    async def get(
        self, tenant: str, group: str, *, stale: bool = False, timeout_s: float | None = None
    ) -> SubscriptionGroup | None:
        """Return a group; None when there is none."""
        try:
            return await self._q.call(
                f"{_SERVICE}GetGroup",
                GetGroupRequest(tenant=tenant, group=group, stale=stale),
                SubscriptionGroup,
                group=GROUP,
                shard_key=group_key(tenant, group),
                read=True,
                timeout_s=timeout_s,
            )
        except RejectedError as error:
            if error.code == "NOT_FOUND":
                return None
            raise

    async def list(
        self,
        tenant: str = "",
        *,
        prefix: str = "",
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[SubscriptionGroup, None]:
        """Yield groups by tenant and name, of one tenant or of all."""
        request = ListGroupsRequest(tenant=tenant, prefix=prefix, page_size=_MOST, stale=stale)
        while True:
            page = await self._q.call(
                f"{_SERVICE}ListGroups",
                request,
                ListGroupsResponse,
                read=True,
                timeout_s=timeout_s,
            )
            for group in page.groups:
                yield group
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

"""What other plugins take part with in the deletion of a tenant."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from quorate.plugin import NodeApi
from quorate.v1.tenant_pb2 import ListTenants, Tenant, TenantPage

#: Tenants that are looked at in one read.
_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class TenantCascade:
    """What a plugin gives to `tenant.cascades`; the extension's name is its cascade.

    A tenant that is marked for deletion names the cascade in its row. The plugin deletes what it
    holds of the tenant, and takes on nothing new; then it proposes `FinishTenantCascade`.
    """

    #: Whether the plugin holds anything of the tenant of that name.
    holds: Callable[[NodeApi, str], Awaitable[bool]]


async def waiting_tenants(node: NodeApi, cascade: str) -> AsyncIterator[Tenant]:
    """Yield the tenants that are being deleted and still name a cascade, by name.

    They are read page by page, and whoever is given one may finish its part before the next.
    """
    query = ListTenants(limit=_PAGE)
    while True:
        [page] = [page async for page in node.query(query, TenantPage)]
        for tenant in page.tenants:
            if cascade in tenant.cascades:
                yield tenant
        if not page.next_after:
            return
        query.after = page.next_after

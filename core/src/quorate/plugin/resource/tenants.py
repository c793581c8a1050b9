"""The tenants of a plugin's rows: they must exist, have limits, and are deleted with their rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from weakref import WeakKeyDictionary

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from quorate.plugin import keys
from quorate.plugin.node import NodeApi, ShardRef
from quorate.plugin.outcomes import Rejected
from quorate.plugin.resource.messages import query_of
from quorate.plugin.transaction import Reader
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.rows_pb2 import ScanRows, StoredRow
from quorate.v1.tenant_pb2 import FinishTenantCascade, Tenant

#: The mirrored family of the tenants, to be named in the `reads` of its readers.
TENANTS: Final = "tenant.tenants"
#: How much tenants and callers may have and do, and what tenants have stored.
QUOTAS: Final = "tenant.quotas"
USAGES: Final = "tenant.usages"
#: The name of the quota of tenants without one of their own.
EVERYONE: Final = "*"
#: The extension point through which plugins take part in the deletion of a tenant.
CASCADES: Final = "tenant.cascades"
#: Tenants that are read at once.
_PAGE: Final = 1_000
_END: Final = b"\xff"
#: Between two rounds over tenants that are being deleted, and while one of them waits.
_INTERVAL_S: Final = 10.0
_SOON_S: Final = 1.0
#: Rows that still exist are erased again after this number of rounds.
_LOOKS: Final = 10
_SCAN: Final = query_of("quorate.v1", "Scan", TENANTS, ScanRows)


@dataclass(frozen=True, slots=True)
class TenantCascade:
    """A plugin's extension of `tenant.cascades`; the extension's name is its cascade.

    A tenant that is marked for deletion names the cascade in its row. The plugin deletes all that
    it holds of the tenant, and accepts nothing new; then it proposes `FinishTenantCascade`.
    """

    #: Whether the plugin holds anything of the tenant of that name.
    holds: Callable[[NodeApi, str], Awaitable[bool]]


def tenant_known(reader: Reader, name: str) -> Tenant | None:
    """Return the tenant of that name, if it is known here: a copy may lag."""
    value = reader.get(TENANTS, keys.pack(name))
    return None if value is None else _tenant_of(value)


def tenant_there(reader: Reader, name: str) -> Tenant:
    """Return the tenant of a new row; refuse an unknown tenant, and one being deleted."""
    tenant = tenant_known(reader, name)
    if tenant is None:
        reader.refresh(TENANTS)
        raise Rejected("NOT_FOUND", f"there is no tenant {name}: create it")
    if tenant.deleting_at_ms:
        reader.refresh(TENANTS)
        raise Rejected("FAILED_PRECONDITION", f"tenant {name} is being deleted: it takes nothing")
    return tenant


def limit_of(tenant: Tenant, limit: str) -> int | None:
    """Return how many of something a tenant may have; None: it is not limited."""
    return tenant.limits.get(limit)


async def waiting_tenants(node: NodeApi, cascade: str) -> AsyncIterator[Tenant]:
    """Yield the tenants that are being deleted and still name a cascade, by name.

    They are read page by page, and each may have its part finished before the next is given.
    """
    start, more = b"", True
    while more:
        query = _SCAN(start=start, end=_END, limit=_PAGE, shard_key=b"")
        found = [row async for row in node.query(query, StoredRow)]
        rows = [row for row in found if not row.more]
        for row in rows:
            tenant = Tenant.FromString(row.value)
            if cascade in tenant.cascades:
                yield tenant
        more = len(rows) == _PAGE or len(found) > len(rows)
        start = keys.successor(rows[-1].key) if rows else _END


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRows:
    """The rows of tenants in a family with keys that begin with the tenant."""

    #: Yields the keys of a tenant's rows, page by page.
    keys_of: Callable[[NodeApi, str], AsyncIterator[Sequence[bytes]]]
    #: Returns the batch command that deletes the rows of these keys and their dependents; a row
    #: that is gone already does not keep it from the others.
    erase: Callable[[NodeApi, Sequence[bytes]], Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantDeletion:
    """A plugin's part in the deletion of tenants: it erases all that it holds of them."""

    cascade: str
    tenant_rows: Sequence[TenantRows]
    #: Whether every shard knows that a tenant is being deleted: the others accept new rows.
    known: Callable[[NodeApi, Tenant], Awaitable[bool]]
    #: The tenants with rows that others have to finish with, by their ids, and the number of looks
    #: at each; by node, of which a process of tests has several.
    _waiting: WeakKeyDictionary[NodeApi, dict[int, int]] = field(default_factory=WeakKeyDictionary)

    def interval_s(self, node: NodeApi) -> float:
        """Return when to look again: soon, while a tenant waits."""
        return _SOON_S if self._waiting.get(node) else _INTERVAL_S

    async def holds(self, node: NodeApi, tenant: str) -> bool:
        """Return whether there is any row of the tenant."""
        for rows in self.tenant_rows:
            async for _ in rows.keys_of(node, tenant):
                return True
        return False

    async def run_once(self, node: NodeApi, shard: ShardRef) -> None:
        """Erase the rows of every tenant that waits for it, and say when nothing is left."""
        looks = self._waiting.get(node, {})
        waiting = self._waiting[node] = {}
        async for tenant in waiting_tenants(node, self.cascade):
            look = waiting[tenant.id] = looks.get(tenant.id, -1) + 1
            if not await self.known(node, tenant):
                waiting[tenant.id] = -1
                continue
            if look % _LOOKS == 0:
                await self._erase(node, shard, tenant.name)
            if not await self.holds(node, tenant.name):
                del waiting[tenant.id]
                done = FinishTenantCascade(name=tenant.name, id=tenant.id, cascade=self.cascade)
                await node.propose(done, Empty, if_leader=shard)
        if not waiting:
            node.progress("")

    async def _erase(self, node: NodeApi, shard: ShardRef, tenant: str) -> None:
        erased = 0
        for rows in self.tenant_rows:
            async for page in rows.keys_of(node, tenant):
                await node.propose(rows.erase(node, page), BatchReply, if_leader=shard)
                erased += len(page)
                node.progress(f"tenant {tenant}: {erased:,} rows erased or waited for")


@lru_cache(maxsize=256)
def _tenant_of(row: bytes) -> Tenant:
    """Return the tenant of a row, never to be modified: successive commands share it."""
    return Tenant.FromString(row)

"""Tenants: whose data the rows of other domains are, and how much of it there may be."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from google.protobuf.field_mask_pb2 import FieldMask

from quorate.client import reading
from quorate.client.twins import Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    DeleteTenantRequest,
    DeleteTenantsRequest,
    GetTenantRequest,
    ListTenants,
    PutTenant,
    PutTenants,
    Tenant,
    TenantPage,
    UpdateTenant,
    UpdateTenants,
)

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

_SERVICE: Final = "/quorate.v1.TenantService/"


class Tenants:
    """Writes and reads tenants."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def create(
        self,
        name: str,
        *,
        description: str = "",
        limits: Mapping[str, int] | None = None,
        timeout_s: float | None = None,
    ) -> Tenant:
        """Make a tenant; ALREADY_EXISTS if there is one of that name."""
        command = CreateTenant(name=name, description=description, limits=limits)
        return await self._q.execute(command, Tenant, timeout_s=timeout_s)

    async def update(
        self,
        name: str,
        *,
        description: str | None = None,
        limits: Mapping[str, int] | None = None,
        timeout_s: float | None = None,
    ) -> Tenant:
        """Change what is given, and leave the rest; NOT_FOUND if there is none.

        Given limits replace all that the tenant has.
        """
        given = {"description": description, "limits": limits}
        paths = [field for field, value in given.items() if value is not None]
        command = UpdateTenant(
            name=name,
            description=description or "",
            limits=limits,
            update_mask=FieldMask(paths=paths),
        )
        return await self._q.execute(command, Tenant, timeout_s=timeout_s)

    async def put(
        self,
        name: str,
        *,
        description: str = "",
        limits: Mapping[str, int] | None = None,
        timeout_s: float | None = None,
    ) -> Tenant:
        """Make a tenant, or replace what is said of the one of that name."""
        command = PutTenant(name=name, description=description, limits=limits)
        return await self._q.execute(command, Tenant, timeout_s=timeout_s)

    async def delete(
        self,
        name: str,
        *,
        cascade: bool = False,
        missing_ok: bool = False,
        timeout_s: float | None = None,
    ) -> Tenant:
        """Mark a tenant for deletion; `cascades` says who has something of it still.

        A tenant that holds something is refused unless `cascade` is set. NOT_FOUND if there is
        none; with `missing_ok` an empty one is returned.
        """
        request = DeleteTenantRequest(name=name, cascade=cascade, missing_ok=missing_ok)
        return await self._q.call(f"{_SERVICE}Delete", request, Tenant, timeout_s=timeout_s)

    async def create_many(
        self, tenants: Iterable[CreateTenant], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Make many; the reply names those that were refused by their positions."""
        command = CreateTenants(tenants=tenants)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def update_many(
        self, tenants: Iterable[UpdateTenant], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Change of many what is not empty, or what each mask names."""
        command = UpdateTenants(tenants=tenants)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def put_many(
        self, tenants: Iterable[PutTenant], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Make or replace many; the reply names those that were refused by their positions."""
        command = PutTenants(tenants=tenants)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def delete_many(
        self,
        names: Iterable[str],
        *,
        cascade: bool = False,
        missing_ok: bool = False,
        timeout_s: float | None = None,
    ) -> BatchReply:
        """Mark at most 100 for deletion; each reply in the reply is a `Tenant`."""
        deletions = [
            DeleteTenantRequest(name=name, cascade=cascade, missing_ok=missing_ok) for name in names
        ]
        request = DeleteTenantsRequest(deletions=deletions)
        return await self._q.call(
            f"{_SERVICE}DeleteBatch", request, BatchReply, timeout_s=timeout_s
        )

    async def get(self, name: str, *, timeout_s: float | None = None) -> Tenant | None:
        """Return a tenant, also one that is being deleted; None if there is none."""
        request = GetTenantRequest(name=name)
        return await reading.get(self._q, f"{_SERVICE}Get", request, Tenant, timeout_s)

    async def list(
        self, prefix: str = "", *, timeout_s: float | None = None
    ) -> AsyncGenerator[Tenant, None]:
        """Yield the tenants whose names begin with a prefix, in the order of their names."""
        request = ListTenants(prefix=prefix)
        async for page in reading.pages(self._q, f"{_SERVICE}List", request, TenantPage, timeout_s):
            for tenant in page.tenants:
                yield tenant


class SyncTenants(Blocking[Tenants]):
    """The same, without `await`."""

    create = blocking(Tenants.create)
    update = blocking(Tenants.update)
    put = blocking(Tenants.put)
    delete = blocking(Tenants.delete)
    create_many = blocking(Tenants.create_many)
    update_many = blocking(Tenants.update_many)
    put_many = blocking(Tenants.put_many)
    delete_many = blocking(Tenants.delete_many)
    get = blocking(Tenants.get)
    list = iterating(Tenants.list)

"""Schemas of tenants, in numbered versions, and what they are bound to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING, Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.field_mask_pb2 import FieldMask

from quorate.client import reading
from quorate.client.twins import Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.schema_pb2 import (
    BindSchema,
    BindSchemas,
    CreateSchema,
    CreateSchemas,
    DeleteSchema,
    DeleteSchemas,
    GetSchema,
    ListSchemaBindings,
    ListSchemas,
    PutSchema,
    PutSchemas,
    Schema,
    SchemaBinding,
    SchemaBindingPage,
    SchemaKind,
    SchemaPage,
    SchemaVersion,
    UnbindSchema,
    UpdateSchema,
    UpdateSchemas,
)

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

_SERVICE: Final = "/quorate.v1.SchemaService/"


class Schemas:
    """Writes, binds and reads schemas."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def create(
        self,
        tenant: str,
        name: str,
        kind: SchemaKind,
        definition: bytes,
        *,
        description: str = "",
        timeout_s: float | None = None,
    ) -> Schema:
        """Make a schema with its first version; ALREADY_EXISTS if there is one of that name."""
        command = CreateSchema(
            tenant=tenant, name=name, kind=kind, definition=definition, description=description
        )
        return await self._q.execute(command, Schema, timeout_s=timeout_s)

    async def update(
        self,
        tenant: str,
        name: str,
        *,
        definition: bytes | None = None,
        description: str | None = None,
        expected_version: int = 0,
        timeout_s: float | None = None,
    ) -> Schema:
        """Change what is given: a definition becomes the next version.

        With `expected_version` it is refused with VERSION_MISMATCH unless that is the newest.
        """
        given = {"definition": definition, "description": description}
        paths = [field for field, value in given.items() if value is not None]
        command = UpdateSchema(
            tenant=tenant,
            name=name,
            definition=definition or b"",
            description=description or "",
            expected_version=expected_version,
            update_mask=FieldMask(paths=paths),
        )
        return await self._q.execute(command, Schema, timeout_s=timeout_s)

    async def put(
        self,
        tenant: str,
        name: str,
        kind: SchemaKind,
        definition: bytes,
        *,
        description: str = "",
        timeout_s: float | None = None,
    ) -> Schema:
        """Make a schema, or replace what is said of the one of that name.

        A definition that differs from the newest one becomes its next version.
        """
        command = PutSchema(
            tenant=tenant, name=name, kind=kind, definition=definition, description=description
        )
        return await self._q.execute(command, Schema, timeout_s=timeout_s)

    async def delete(
        self, tenant: str, name: str, *, missing_ok: bool = False, timeout_s: float | None = None
    ) -> None:
        """Delete a schema that is bound to nothing; NOT_FOUND if there is none, or `missing_ok`."""
        command = DeleteSchema(tenant=tenant, name=name, missing_ok=missing_ok)
        await self._q.execute(command, Empty, timeout_s=timeout_s)

    async def create_many(
        self, schemas: Iterable[CreateSchema], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Make many; the reply names those that were refused by their positions."""
        command = CreateSchemas(schemas=schemas)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def update_many(
        self, schemas: Iterable[UpdateSchema], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Change of many what is not empty, or what each mask names."""
        command = UpdateSchemas(schemas=schemas)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def put_many(
        self, schemas: Iterable[PutSchema], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Make or replace many; the reply names those that were refused by their positions."""
        command = PutSchemas(schemas=schemas)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def delete_many(
        self,
        tenant: str,
        names: Iterable[str],
        *,
        missing_ok: bool = False,
        timeout_s: float | None = None,
    ) -> BatchReply:
        """Delete many of a tenant; the reply names those that were refused."""
        schemas = [DeleteSchema(tenant=tenant, name=each, missing_ok=missing_ok) for each in names]
        command = DeleteSchemas(schemas=schemas)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def bind(
        self, tenant: str, resource: str, name: str, *, timeout_s: float | None = None
    ) -> None:
        """Bind a schema to a resource, such as a topic; one that is bound stays so."""
        command = BindSchema(tenant=tenant, resource=resource, name=name)
        await self._q.execute(command, Empty, timeout_s=timeout_s)

    async def bind_many(
        self, bindings: Iterable[BindSchema], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Make many bindings; the reply names those that were refused by their positions."""
        command = BindSchemas(bindings=bindings)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def unbind(
        self,
        tenant: str,
        resource: str,
        name: str,
        *,
        missing_ok: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """Take a schema off a resource; NOT_FOUND if it is not bound to it, unless `missing_ok`."""
        command = UnbindSchema(tenant=tenant, resource=resource, name=name, missing_ok=missing_ok)
        await self._q.execute(command, Empty, timeout_s=timeout_s)

    async def get(
        self, tenant: str, name: str, *, version: int = 0, timeout_s: float | None = None
    ) -> SchemaVersion | None:
        """Return a version of a schema with its definition, the newest by default; None: none."""
        request = GetSchema(tenant=tenant, name=name, version=version)
        return await reading.get(self._q, f"{_SERVICE}Get", request, SchemaVersion, timeout_s)

    async def list(
        self, tenant: str = "", prefix: str = "", *, timeout_s: float | None = None
    ) -> AsyncGenerator[Schema, None]:
        """Yield the schemas of a tenant or of all, in the order of tenants and names."""
        request = ListSchemas(tenant=tenant, prefix=prefix)
        async for page in self._pages(request, timeout_s):
            for schema in page.schemas:
                yield schema

    async def definitions(
        self, tenant: str = "", prefix: str = "", *, timeout_s: float | None = None
    ) -> AsyncGenerator[SchemaVersion, None]:
        """Yield the newest versions of the same schemas, with their definitions."""
        request = ListSchemas(tenant=tenant, prefix=prefix, definitions=True)
        async for page in self._pages(request, timeout_s):
            for version in page.versions:
                yield version

    async def bindings(
        self,
        tenant: str = "",
        *,
        resource: str = "",
        name: str = "",
        timeout_s: float | None = None,
    ) -> AsyncGenerator[SchemaBinding, None]:
        """Yield the bindings of a resource, a schema, a tenant, or all."""
        request = ListSchemaBindings(tenant=tenant, resource=resource, name=name)
        async for page in reading.pages(
            self._q, f"{_SERVICE}ListBindings", request, SchemaBindingPage, timeout_s
        ):
            for binding in page.bindings:
                yield binding

    def _pages(
        self, request: ListSchemas, timeout_s: float | None
    ) -> AsyncGenerator[SchemaPage, None]:
        return reading.pages(self._q, f"{_SERVICE}List", request, SchemaPage, timeout_s)


class SyncSchemas(Blocking[Schemas]):
    """The same, without `await`."""

    create = blocking(Schemas.create)
    update = blocking(Schemas.update)
    put = blocking(Schemas.put)
    delete = blocking(Schemas.delete)
    create_many = blocking(Schemas.create_many)
    update_many = blocking(Schemas.update_many)
    put_many = blocking(Schemas.put_many)
    delete_many = blocking(Schemas.delete_many)
    bind = blocking(Schemas.bind)
    bind_many = blocking(Schemas.bind_many)
    unbind = blocking(Schemas.unbind)
    get = blocking(Schemas.get)
    list = iterating(Schemas.list)
    definitions = iterating(Schemas.definitions)
    bindings = iterating(Schemas.bindings)

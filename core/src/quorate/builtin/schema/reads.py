"""The reads, which are not derived: a version beside its schema, and bindings by either end."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from quorate.builtin.schema.rows import (
    BINDINGS,
    BOUND,
    GROUP,
    SCHEMAS,
    VERSIONS,
    binding_key,
    bound_key,
    schema_key,
    version_key,
)
from quorate.builtin.schema.validation import check_get, check_list, check_list_bindings
from quorate.plugin import NodeApi, Query, Reader, Rejected, Row, keys
from quorate.plugin.advanced import constant_key
from quorate.plugin.checking import PAGE
from quorate.v1 import schema_pb2 as pb

#: A page ends with the row that reaches it, and so fits into one message.
PAGE_BYTES: Final = 4 * 1024 * 1024


def get_schema(reader: Reader, query: pb.GetSchema) -> Iterator[pb.SchemaVersion]:
    """Yield the version, or the newest one if none is given, if it exists."""
    version = query.version
    if not version:
        stored = reader.get(SCHEMAS, schema_key(query.tenant, query.name))
        version = pb.Schema.FromString(stored or b"").version
    value = reader.get(VERSIONS, version_key(query.tenant, query.name, version))
    if value is not None:
        yield pb.SchemaVersion.FromString(value)


def list_schemas(reader: Reader, query: pb.ListSchemas) -> Iterator[pb.SchemaPage]:
    """Yield one page of the schemas whose names begin with the prefix."""
    start, end = keys.opening(query.tenant, query.prefix) if query.tenant else keys.prefix()
    after = query.page_token or (schema_key(query.tenant, query.after) if query.after else b"")
    page, size = pb.SchemaPage(), 0
    last = b""
    for row in _rows(reader, SCHEMAS, start, end, after, query.limit):
        if len(page.schemas) == (query.limit or PAGE) or size >= PAGE_BYTES:
            page.next_page_token = last
            page.next_after = page.schemas[-1].name if query.tenant else ""
            break
        last = row.key
        schema = page.schemas.add()
        schema.MergeFromString(row.value)
        size += len(row.value)
        if query.definitions:
            value = reader.get(VERSIONS, version_key(schema.tenant, schema.name, schema.version))
            page.versions.add().MergeFromString(value or b"")
            size += len(value or b"")
    yield page


def list_bindings(reader: Reader, query: pb.ListSchemaBindings) -> Iterator[pb.SchemaBindingPage]:
    """Yield one page of bindings: of all tenants, a tenant, a resource or a schema."""
    family = BOUND if query.name else BINDINGS
    start, end = keys.prefix(*filter(None, (query.tenant, query.name or query.resource)))
    after = query.page_token
    if query.HasField("after"):
        resource, name = query.after.resource, query.after.name
        key = bound_key(query.tenant, name, resource)
        after = key if query.name else binding_key(query.tenant, resource, name)
    limit = query.limit or PAGE
    rows = list(_rows(reader, family, start, end, after, query.limit))
    page = pb.SchemaBindingPage(bindings=[_binding(family, row) for row in rows[:limit]])
    if len(rows) > limit:
        page.next_page_token = rows[limit - 1].key
        if query.tenant:
            page.next_after.CopyFrom(page.bindings[-1])
    yield page


QUERIES: Final[tuple[Query[Any], ...]] = (
    Query(message=pb.GetSchema, group=GROUP, run=get_schema, shard_key=constant_key),
    Query(message=pb.ListSchemas, group=GROUP, run=list_schemas, shard_key=constant_key),
    Query(message=pb.ListSchemaBindings, group=GROUP, run=list_bindings, shard_key=constant_key),
)


class SchemaReads:
    """The methods that read, on every node."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Get(self, request: pb.GetSchema, context: object) -> pb.SchemaVersion:
        """Read one version of a schema."""
        check_get(request)
        found = [version async for version in self._node.query(request, pb.SchemaVersion)]
        if found:
            return found[0]
        version = f"version {request.version}" if request.version else "version"
        raise Rejected(
            "NOT_FOUND", f"there is no {version} of schema {request.name} of {request.tenant}"
        )

    async def List(self, request: pb.ListSchemas, context: object) -> pb.SchemaPage:
        """List a page of schemas."""
        check_list(request)
        [page] = (await self._node.read(request, pb.SchemaPage)).rows
        return page

    async def ListBindings(
        self, request: pb.ListSchemaBindings, context: object
    ) -> pb.SchemaBindingPage:
        """List a page of bindings."""
        check_list_bindings(request)
        [page] = (await self._node.read(request, pb.SchemaBindingPage)).rows
        return page


def _rows(
    reader: Reader, family: str, start: bytes, end: bytes, after: bytes, limit: int
) -> Iterable[Row]:
    """Return the rows of a page that begins after a key, and one more."""
    if after:
        start = min(end, max(start, keys.successor(after)))
    return reader.scan(family, start, end, limit=(limit or PAGE) + 1)


def _binding(family: str, row: Row) -> pb.SchemaBinding:
    if family == BINDINGS:
        return pb.SchemaBinding.FromString(row.value)
    tenant, name, resource = keys.unpack(row.key)
    return pb.SchemaBinding(tenant=str(tenant), resource=str(resource), name=str(name))

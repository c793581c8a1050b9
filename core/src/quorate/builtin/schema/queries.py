"""The reads: they run where the rows are, in one shard."""

from collections.abc import Iterable, Iterator
from typing import Final

from quorate.builtin.schema.families import (
    BINDINGS,
    BOUND,
    SCHEMAS,
    VERSIONS,
    binding_key,
    bound_key,
    schema_key,
    version_key,
)
from quorate.plugin import Reader, Row, keys
from quorate.v1.schema_pb2 import (
    GetSchema,
    ListSchemaBindings,
    ListSchemas,
    Schema,
    SchemaBinding,
    SchemaBindingPage,
    SchemaPage,
    SchemaVersion,
)

PAGE: Final = 100
#: A page ends with the row that reaches it, and so fits into one message.
PAGE_BYTES: Final = 4 * 1024 * 1024


def get_schema(reader: Reader, query: GetSchema) -> Iterator[SchemaVersion]:
    """Yield the version, if there is one."""
    version = query.version
    if not version:
        schema = Schema.FromString(reader.get(SCHEMAS, schema_key(query.tenant, query.name)) or b"")
        version = schema.version
    value = reader.get(VERSIONS, version_key(query.tenant, query.name, version))
    if value is not None:
        yield SchemaVersion.FromString(value)


def list_schemas(reader: Reader, query: ListSchemas) -> Iterator[SchemaPage]:
    """Yield one page of the schemas whose names begin with the prefix."""
    start, end = keys.opening(query.tenant, query.prefix) if query.tenant else keys.prefix()
    after = query.page_token or (schema_key(query.tenant, query.after) if query.after else b"")
    page, size = SchemaPage(), 0
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


def list_bindings(reader: Reader, query: ListSchemaBindings) -> Iterator[SchemaBindingPage]:
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
    page = SchemaBindingPage(bindings=[_binding(family, row) for row in rows[:limit]])
    if len(rows) > limit:
        page.next_page_token = rows[limit - 1].key
        if query.tenant:
            page.next_after.CopyFrom(page.bindings[-1])
    yield page


def _rows(
    reader: Reader, family: str, start: bytes, end: bytes, after: bytes, limit: int
) -> Iterable[Row]:
    """Return the rows of a page that begins behind a key, and one more."""
    if after:
        start = min(end, max(start, keys.behind(after)))
    return reader.scan(family, start, end, limit=(limit or PAGE) + 1)


def _binding(family: str, row: Row) -> SchemaBinding:
    if family == BINDINGS:
        return SchemaBinding.FromString(row.value)
    tenant, name, resource = keys.unpack(row.key)
    return SchemaBinding(tenant=str(tenant), resource=str(resource), name=str(name))

"""The reads: they run where the rows are, in one shard."""

from collections.abc import Iterator
from typing import Final

from quorate.builtin.schema.families import (
    BINDINGS,
    SCHEMAS,
    VERSIONS,
    binding_key,
    schema_key,
    version_key,
)
from quorate.plugin import Reader, keys
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
    """Yield one page of the schemas of a tenant whose names begin with the prefix."""
    start, end = keys.opening(query.tenant, query.prefix)
    if query.after:
        start = min(end, max(start, keys.behind(schema_key(query.tenant, query.after))))
    limit = query.limit or PAGE
    rows = list(reader.scan(SCHEMAS, start, end, limit=limit + 1))
    page = SchemaPage(schemas=[Schema.FromString(row.value) for row in rows[:limit]])
    if len(rows) > limit:
        page.next_after = page.schemas[-1].name
    yield page


def list_bindings(reader: Reader, query: ListSchemaBindings) -> Iterator[SchemaBindingPage]:
    """Yield one page of the bindings of a tenant, or of one of its resources."""
    named = (query.tenant, query.resource) if query.resource else (query.tenant,)
    start, end = keys.prefix(*named)
    if query.HasField("after"):
        after = binding_key(query.tenant, query.after.resource, query.after.name)
        start = min(end, max(start, keys.behind(after)))
    limit = query.limit or PAGE
    rows = list(reader.scan(BINDINGS, start, end, limit=limit + 1))
    page = SchemaBindingPage(bindings=[SchemaBinding.FromString(row.value) for row in rows[:limit]])
    if len(rows) > limit:
        page.next_after.CopyFrom(page.bindings[-1])
    yield page

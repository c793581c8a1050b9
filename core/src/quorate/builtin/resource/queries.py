"""The reads: they run where the rows are, in one shard."""

from collections.abc import Iterator
from typing import Final

from quorate.builtin.resource.families import RESOURCES, resource_key
from quorate.plugin import Reader, Row, keys
from quorate.v1.resource_pb2 import (
    FoundResources,
    GetResources,
    ListResources,
    Resource,
    ResourcePage,
    StoredResource,
)

PAGE: Final = 100
#: A page ends with the row that reaches it, and so fits into one message.
PAGE_BYTES: Final = 4 * 1024 * 1024


def get_resources(reader: Reader, query: GetResources) -> Iterator[FoundResources]:
    """Yield those of the resources that there are, in one message."""
    rows = (reader.get_row(RESOURCES, resource_key(path)) for path in query.paths)
    yield FoundResources(resources=[_stored(row) for row in rows if row is not None])


def list_resources(reader: Reader, query: ListResources) -> Iterator[ResourcePage]:
    """Yield one page of the resources whose paths begin with the prefix."""
    start, end = keys.opening(query.prefix)
    if query.after:
        start = min(end, max(start, keys.behind(resource_key(query.after))))
    limit = query.limit or PAGE
    page, size = ResourcePage(), 0
    for row in reader.scan(RESOURCES, start, end, limit=limit + 1):
        if len(page.resources) == limit or size >= PAGE_BYTES:
            page.next_after = page.resources[-1].resource.path
            break
        page.resources.append(_stored(row))
        size += len(row.value)
    yield page


def _stored(row: Row) -> StoredResource:
    return StoredResource(resource=Resource.FromString(row.value), revision=row.revision)

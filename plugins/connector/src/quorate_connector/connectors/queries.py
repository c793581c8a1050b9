"""The reads: pure functions of a reader and a query."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, keys

from quorate_connector.connectors import rows, tenants
from quorate_connector.connectors.families import CONNECTORS, VERSIONS
from quorate_connector.v1.connector_queries_pb2 import (
    ConnectorPage,
    GetConnectorQuery,
    GetTenantMarkQuery,
    ListConnectorsQuery,
    ListVersionsQuery,
    TenantMark,
)
from quorate_connector.v1.connectors_pb2 import Connector, Version

#: No more rows than these are looked at for a page, whether they are wanted or not.
_MOST_LOOKED_AT: Final = 5_000
#: A page is full with so many bytes: configurations are large at times.
_PAGE_BYTES: Final = 256 << 10
_CHUNK: Final = 100


def get_connector(reader: Reader, query: GetConnectorQuery) -> Iterator[Connector]:
    """Yield a connector, if there is one."""
    connector = rows.find(reader, query.tenant, query.name)
    if connector is not None:
        yield connector


def list_connectors(reader: Reader, query: ListConnectorsQuery) -> Iterator[ConnectorPage]:
    """Yield a page of the connectors that fit."""
    page, size, start = ConnectorPage(), 0, query.start
    for _ in range(_MOST_LOOKED_AT // _CHUNK):
        found = list(reader.scan(CONNECTORS, start, query.end, limit=_CHUNK))
        for row in found:
            connector = Connector.FromString(row.value)
            if query.type not in ("", connector.definition.type):
                continue
            size += len(row.value)
            full = len(page.connectors) == query.limit or size > _PAGE_BYTES
            if page.connectors and full:
                page.next_start = row.key
                yield page
                return
            page.connectors.append(connector)
        if len(found) < _CHUNK:
            yield page
            return
        start = keys.behind(found[-1].key)
    page.next_start = start
    yield page


def list_versions(reader: Reader, query: ListVersionsQuery) -> Iterator[Version]:
    """Yield the versions of a connector, the newest first."""
    numbers = [query.version] if query.version else []
    start, end = keys.prefix(query.tenant, query.name, *numbers)
    for row in reader.scan(VERSIONS, start, end, limit=rows.MOST_VERSIONS, reverse=True):
        yield Version.FromString(row.value)


def get_tenant_mark(reader: Reader, query: GetTenantMarkQuery) -> Iterator[TenantMark]:
    """Yield whether this shard's copy says that the tenant is being deleted."""
    tenant = tenants.read(reader, query.tenant)
    yield TenantMark(id=tenant.id if tenant is not None and tenant.deleting_at_ms else 0)

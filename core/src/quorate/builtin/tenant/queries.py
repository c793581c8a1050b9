"""The reads: they run where the rows are, in one shard."""

from collections.abc import Iterator
from typing import Final

from quorate.builtin.tenant.families import TENANTS, tenant_key
from quorate.plugin import Reader, keys
from quorate.v1.tenant_pb2 import GetTenants, ListTenants, Tenant, TenantPage

PAGE: Final = 100
#: A page ends with the row that reaches it, and so fits into one message.
PAGE_BYTES: Final = 4 * 1024 * 1024


def get_tenants(reader: Reader, query: GetTenants) -> Iterator[TenantPage]:
    """Yield those of the tenants that there are, in one message."""
    values = (reader.get(TENANTS, tenant_key(name)) for name in query.names)
    yield TenantPage(tenants=[Tenant.FromString(each) for each in values if each is not None])


def list_tenants(reader: Reader, query: ListTenants) -> Iterator[TenantPage]:
    """Yield one page of the tenants whose names begin with the prefix."""
    start, end = keys.opening(query.prefix)
    if query.after:
        start = min(end, max(start, keys.behind(tenant_key(query.after))))
    limit = query.limit or PAGE
    page, size = TenantPage(), 0
    for row in reader.scan(TENANTS, start, end, limit=limit + 1):
        if len(page.tenants) == limit or size >= PAGE_BYTES:
            page.next_after = page.tenants[-1].name
            break
        page.tenants.append(Tenant.FromString(row.value))
        size += len(row.value)
    yield page

"""The reads: what each shard knows of a tenant."""

from collections.abc import Iterator

from quorate.plugin import Reader

from quorate_mqtt.tenants.rows import read
from quorate_mqtt.v1.tenants_pb2 import GetTenantMarkQuery, TenantMark


def get_tenant_mark(reader: Reader, query: GetTenantMarkQuery) -> Iterator[TenantMark]:
    """Yield whether this shard's copy says that the tenant is being deleted."""
    tenant = read(reader, query.tenant)
    yield TenantMark(id=tenant.id if tenant is not None and tenant.deleting_at_ms else 0)

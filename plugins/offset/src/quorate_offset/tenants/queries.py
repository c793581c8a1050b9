"""The read of what shards know of a tenant: their copies of its row may lag."""

from collections.abc import Iterator

from quorate.plugin import Reader, keys
from quorate.v1.tenant_pb2 import Tenant

from quorate_offset.names import TENANTS
from quorate_offset.v1.queries_pb2 import GetKnownTenantQuery, KnownTenant


def get_known_tenant(reader: Reader, query: GetKnownTenantQuery) -> Iterator[KnownTenant]:
    """Yield what this shard knows of a tenant."""
    tenant = Tenant.FromString(reader.get(TENANTS, keys.pack(query.tenant)) or b"")
    deleting_id = tenant.id if tenant.deleting_at_ms else 0
    yield KnownTenant(shard=reader.shard, deleting_id=deleting_id)


def known_order(answer: KnownTenant) -> bytes:
    """Return the key by which the answers of several shards are merged."""
    return keys.pack(answer.shard)

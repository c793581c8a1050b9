"""The rows of the tenants, as handlers find them copied into every shard."""

from typing import Final

from quorate.plugin import Reader, Rejected, keys
from quorate.v1.tenant_pb2 import Tenant

#: The mirrored family: whoever reads it names it in the `reads` of its route.
TENANTS: Final = "tenant.tenants"
#: A tenant has as many of something as its limit lets it have.
LIMIT_REACHED: Final = "LIMIT_REACHED"


def read(reader: Reader, name: str) -> Tenant | None:
    """Return the tenant of that name, if it is known here: a copy may lag."""
    value = reader.get(TENANTS, keys.pack(name))
    return None if value is None else Tenant.FromString(value)


def there(reader: Reader, name: str) -> Tenant:
    """Return the tenant that something new is for; refuse one that is unknown or being deleted."""
    tenant = read(reader, name)
    if tenant is None:
        raise Rejected("NOT_FOUND", f"there is no tenant {name}: create it first")
    if tenant.deleting_at_ms:
        raise Rejected("FAILED_PRECONDITION", f"tenant {name} is being deleted: it takes nothing")
    return tenant


def limit_of(tenant: Tenant, limit: str) -> int | None:
    """Return how many of something a tenant may have; None: it is not limited."""
    return tenant.limits.get(limit)

"""The rows of the tenants, as handlers find them copied into every shard."""

from functools import lru_cache
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
    return None if value is None else _tenant_of(value)


def there(reader: Reader, name: str) -> Tenant:
    """Return the tenant that something new is for; refuse one that is unknown or being deleted."""
    tenant = read(reader, name)
    if tenant is None:
        reader.refresh(TENANTS)
        raise Rejected("NOT_FOUND", f"there is no tenant {name}: create it")
    if tenant.deleting_at_ms:
        reader.refresh(TENANTS)
        raise Rejected("FAILED_PRECONDITION", f"tenant {name} is being deleted: it takes nothing")
    return tenant


def limit_of(tenant: Tenant, limit: str) -> int | None:
    """Return how many of something a tenant may have; None: it is not limited."""
    return tenant.limits.get(limit)


@lru_cache(maxsize=256)
def _tenant_of(row: bytes) -> Tenant:
    """Return the tenant of a row, which nobody changes: command after command asks for the same."""
    return Tenant.FromString(row)

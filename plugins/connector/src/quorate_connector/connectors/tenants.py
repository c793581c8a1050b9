"""The tenants as the shard of the connectors knows them: copies of core's rows, which may lag."""

from typing import Final

from quorate.plugin import Reader, Rejected, keys
from quorate.v1.tenant_pb2 import Tenant

#: The mirrored family: whoever reads it names it in the `reads` of its route.
TENANTS: Final = "tenant.tenants"


def read(reader: Reader, name: str) -> Tenant | None:
    """Return the tenant of that name, if it is known here."""
    value = reader.get(TENANTS, keys.pack(name))
    return None if value is None else Tenant.FromString(value)


def check_open(reader: Reader, name: str) -> None:
    """Refuse a tenant that is unknown or being deleted: it takes nothing new."""
    tenant = read(reader, name)
    if tenant is None:
        reader.refresh(TENANTS)
        raise Rejected("TENANT_NOT_FOUND", f"there is no tenant {name}: create it")
    if tenant.deleting_at_ms:
        reader.refresh(TENANTS)
        raise Rejected("TENANT_DELETING", f"tenant {name} is being deleted: it takes nothing")

"""Where the rows are: one family, which the host copies to whoever reads it."""

from typing import Final

from quorate.plugin import METADATA_GROUP, ColumnFamily, keys
from quorate.v1.tenant_pb2 import Tenant

GROUP: Final = METADATA_GROUP.name
TENANTS: Final = "tenant.tenants"
#: The sequence of the tenants' ids.
IDS: Final = "tenant.ids"

FAMILIES: Final = (ColumnFamily(name=TENANTS, group=GROUP, row=Tenant, mirrored=True),)


def tenant_key(name: str) -> bytes:
    """Return the key of the tenant of this name."""
    return keys.pack(name)

"""Resources: rows that are created, updated, deleted, read, listed and watched, by declaration."""

from quorate.plugin.resource.binding import Binding, bind
from quorate.plugin.resource.declaration import (
    Admission,
    Checks,
    History,
    Item,
    Life,
    Remake,
    Resource,
    Serving,
    Storage,
    Stored,
    Ttl,
    Verb,
    View,
)
from quorate.plugin.resource.deriving import derive, tenant_deletion, tenant_rows_of
from quorate.plugin.resource.handlers import find_row, get_row, remove_row, write_row
from quorate.plugin.resource.reading import read_family, read_rows
from quorate.plugin.resource.tables import column_of, from_columns
from quorate.plugin.resource.tenants import (
    TENANTS,
    TenantCascade,
    TenantRows,
    limit_of,
    tenant_known,
    tenant_there,
    waiting_tenants,
)

__all__ = [
    "TENANTS",
    "Admission",
    "Binding",
    "Checks",
    "History",
    "Item",
    "Life",
    "Remake",
    "Resource",
    "Serving",
    "Storage",
    "Stored",
    "TenantCascade",
    "TenantRows",
    "Ttl",
    "Verb",
    "View",
    "bind",
    "column_of",
    "derive",
    "find_row",
    "from_columns",
    "get_row",
    "limit_of",
    "read_family",
    "read_rows",
    "remove_row",
    "tenant_deletion",
    "tenant_known",
    "tenant_rows_of",
    "tenant_there",
    "waiting_tenants",
    "write_row",
]

"""Resources: rows that are created, updated, deleted, read, listed and watched, by declaration."""

from quorate.plugin.resource.binding import Binding as Binding, bind as bind
from quorate.plugin.resource.declaration import (
    Admission as Admission,
    Checks as Checks,
    History as History,
    Item as Item,
    Life as Life,
    Remake as Remake,
    Resource as Resource,
    Serving as Serving,
    Storage as Storage,
    Stored as Stored,
    Ttl as Ttl,
    Verb as Verb,
    View as View,
)
from quorate.plugin.resource.deriving import (
    derive as derive,
    tenant_deletion as tenant_deletion,
    tenant_rows_of as tenant_rows_of,
)
from quorate.plugin.resource.handlers import (
    find_row as find_row,
    get_row as get_row,
    remove_row as remove_row,
    write_row as write_row,
)
from quorate.plugin.resource.reading import read_family as read_family, read_rows as read_rows
from quorate.plugin.resource.tables import column_of as column_of, from_columns as from_columns
from quorate.plugin.resource.tenants import (
    TENANTS as TENANTS,
    TenantCascade as TenantCascade,
    TenantRows as TenantRows,
    limit_of as limit_of,
    tenant_known as tenant_known,
    tenant_there as tenant_there,
    waiting_tenants as waiting_tenants,
)

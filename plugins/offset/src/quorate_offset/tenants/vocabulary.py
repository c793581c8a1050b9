"""The word for reading what shards know of a tenant."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.plugin import Query

from quorate_offset.families import GROUP
from quorate_offset.names import TENANTS
from quorate_offset.tenants import queries
from quorate_offset.v1.queries_pb2 import GetKnownTenantQuery

QUERIES: Final[Sequence[Query[Any]]] = (
    Query(
        message=GetKnownTenantQuery,
        group=GROUP,
        run=queries.get_known_tenant,
        order=queries.known_order,
        reads=(TENANTS,),
    ),
)

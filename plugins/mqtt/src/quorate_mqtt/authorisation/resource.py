"""What the decision declares."""

from typing import Final

from quorate.plugin import Query

from quorate_mqtt.authorisation import queries
from quorate_mqtt.authorisation.service import AUTHORISATION, DECISIONS
from quorate_mqtt.resource import Resource
from quorate_mqtt.shards import GROUP, tenant_shard
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.v1.authorisation_pb2 import CheckAccessQuery

RESOURCE: Final = Resource(
    queries=(
        Query(
            message=CheckAccessQuery,
            group=GROUP,
            run=queries.check_access,
            shard_key=lambda query: tenant_shard(query.access.tenant),
            reads=(TENANTS,),
        ),
    ),
    metrics=(DECISIONS,),
    services=(AUTHORISATION,),
)

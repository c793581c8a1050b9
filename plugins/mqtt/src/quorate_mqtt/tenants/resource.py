"""What the plugin declares for its part in the deletion of tenants."""

from collections.abc import Sequence
from typing import Final

from quorate.builtin.tenant.api import TenantCascade
from quorate.plugin import Controller, Extension, Query

from quorate_mqtt.resource import Resource
from quorate_mqtt.shards import GROUP
from quorate_mqtt.tenants.deletion import CASCADE, TenantDeletion
from quorate_mqtt.tenants.queries import get_tenant_mark
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.v1.tenants_pb2 import GetTenantMarkQuery

DELETION: Final = "mqtt.tenant_deletion"
INTERVAL_S: Final = 10.0


def resource(resources: Sequence[Resource]) -> Resource:
    """Return what erases the rows that these resources hold of a tenant."""
    deletion = TenantDeletion([holding for each in resources for holding in each.holdings])
    return Resource(
        queries=(
            Query(
                message=GetTenantMarkQuery,
                group=GROUP,
                run=get_tenant_mark,
                order=lambda _: b"",
                reads=(TENANTS,),
            ),
        ),
        controllers=(
            Controller(
                name=DELETION,
                group=GROUP,
                run_once=deletion.run_once,
                interval_s=INTERVAL_S,
                wake_on=(TENANTS,),
            ),
        ),
        extensions=(
            Extension(
                point="tenant.cascades", name=CASCADE, value=TenantCascade(holds=deletion.holds)
            ),
        ),
    )

from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate.v1.batch_pb2 import ShardRevision
from quorate.v1.tenant_pb2 import CreateTenant
from quorate_offset.v1.commands_pb2 import GroupFence
from quorate_offset.v1.queries_pb2 import (
    FetchGroupQuery,
    FetchGroupsQuery,
    GetGroupStateQuery,
    GroupName,
    ListChangesQuery,
    ListGroupStatesQuery,
    ListIdleGroupsQuery,
)
from quorate_offset.v1.service_pb2 import FenceGroupsRequest


class TestOffset(PluginConformance):
    plugin = "offset"
    beside = ("resource", "tenant")
    # More of them run in the simulation of many shards.
    seeds = (1, 2)

    def log(self) -> Sequence[Message]:
        """Return the examples behind the command that makes their tenant, and a newer fence."""
        fence = GroupFence(tenant="acme", group="billing", generation=9)
        return [
            CreateTenant(name="acme"),
            *super().log(),
            FenceGroupsRequest(fences=[fence]),
        ]

    def queries(self) -> Sequence[Message]:
        names = [GroupName(tenant="acme", group=group) for group in ("billing", "audit", "none")]
        return [
            FetchGroupQuery(tenant="acme", group="billing"),
            FetchGroupsQuery(groups=names),
            GetGroupStateQuery(tenant="acme", group="billing"),
            ListGroupStatesQuery(),
            ListGroupStatesQuery(tenant="acme", prefix="b", after=names[1]),
            ListChangesQuery(),
            ListChangesQuery(since=[ShardRevision(revision=2 << 20)], limit=1),
            ListIdleGroupsQuery(changed_until_ms=1 << 40, limit=10),
        ]

"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from typing import Final

from quorate.plugin import GrpcService, NodeApi, Rejected, keys, propose_fitting
from quorate.plugin.checking import check_name
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.names import check_identity
from quorate_mqtt.rows.reading import Range, Shelf, check_lookups, value_as
from quorate_mqtt.shards import client_shard, client_shard_of
from quorate_mqtt.v1 import wills_pb2
from quorate_mqtt.v1.rows_pb2 import StoredRow
from quorate_mqtt.v1.wills_pb2 import (
    AcknowledgeWill,
    AcknowledgeWillReply,
    AcknowledgeWills,
    GetWillRequest,
    GetWillsRequest,
    KeyedWillDelivery,
    ListWillDeliveriesRequest,
    ListWillDeliveriesResponse,
    Will,
    WillDelivery,
    WillLookup,
    WillLookups,
)
from quorate_mqtt.wills.families import DELIVERIES, WILLS
from quorate_mqtt.wills.validation import check_acknowledgement


def _shown(row: StoredRow) -> KeyedWillDelivery:
    tenant, client_id, _ = keys.unpack(row.key)
    return KeyedWillDelivery(
        tenant=str(tenant),
        client_id=str(client_id),
        delivery=WillDelivery.FromString(row.value),
    )


_KEPT: Final = Shelf(family=WILLS, shard_of=client_shard_of, show=value_as(Will), with_tenant=False)
_DUE: Final = Shelf(family=DELIVERIES, shard_of=client_shard_of, show=_shown, with_tenant=False)


class WillServicer:
    """Serves wills on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Get(self, request: GetWillRequest, context: object) -> Will:
        """Read the will of one client."""
        _check_named(request)
        will = await _KEPT.get(self._node, client_shard(request.tenant, request.client_id))
        if will is None:
            raise Rejected("NOT_FOUND", f"client {request.client_id} has no will")
        return will

    async def GetBatch(self, request: GetWillsRequest, context: object) -> WillLookups:
        """Read the wills of many clients, in the order of the request."""
        check_lookups("wills", request.wills, _check_named)
        wanted = [client_shard(each.tenant, each.client_id) for each in request.wills]
        found = await _KEPT.get_each(self._node, wanted)
        return WillLookups(lookups=[WillLookup(will=each) for each in found])

    async def ListDeliveries(
        self, request: ListWillDeliveriesRequest, context: object
    ) -> ListWillDeliveriesResponse:
        """List a page of the wills that brokers have to publish."""
        if request.tenant:
            check_name("tenant", request.tenant)
        if request.assignee:
            check_identity("assignee", request.assignee)
        deliveries, token = await _DUE.page(
            self._node,
            Range.below(request, request.tenant),
            lambda each: request.assignee in ("", each.delivery.assignee),
        )
        return ListWillDeliveriesResponse(deliveries=deliveries, next_page_token=token)

    async def Acknowledge(self, request: AcknowledgeWill, context: object) -> AcknowledgeWillReply:
        """Take note that one will was published."""
        return await self._node.propose(request, AcknowledgeWillReply)

    async def AcknowledgeBatch(self, request: AcknowledgeWills, context: object) -> BatchReply:
        """Take note that many wills were published, in one proposal a shard."""
        return await propose_fitting(self._node, request, "wills", check_acknowledgement)


def _check_named(named: GetWillRequest, path: str = "") -> None:
    check_name(f"{path}tenant", named.tenant)
    check_identity(f"{path}client_id", named.client_id)


SERVICE: Final = GrpcService(
    service=wills_pb2.DESCRIPTOR.services_by_name["WillService"],
    servicer=WillServicer,
)

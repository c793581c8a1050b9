"""Last wills: those that are due, for the broker that is to publish them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Final

from quorate.client import AsyncClient, Blocking, ChangeKind, blocking, iterating
from quorate.plugin import keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.client import batching, reading
from quorate_mqtt.client.reading import Listing
from quorate_mqtt.shards import client_shard
from quorate_mqtt.v1.wills_pb2 import (
    AcknowledgeWill,
    AcknowledgeWillReply,
    AcknowledgeWills,
    GetWillRequest,
    KeyedWillDelivery,
    ListWillDeliveriesRequest,
    ListWillDeliveriesResponse,
    Will,
    WillDelivery,
)
from quorate_mqtt.wills.families import DELIVERIES

_SERVICE: Final = "/quorate_mqtt.v1.WillService/"
_ACKNOWLEDGING: Final = Batch[AcknowledgeWill](message=AcknowledgeWills, field="wills")
_LISTING: Final[
    Listing[ListWillDeliveriesRequest, ListWillDeliveriesResponse, KeyedWillDelivery]
] = Listing(
    method=f"{_SERVICE}ListDeliveries",
    page=ListWillDeliveriesResponse,
    rows=lambda page: (page.deliveries, page.next_page_token),
)


class Wills:
    """Reads wills, and tells which of them were published. A will is set when a client connects."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def get(self, tenant: str, client_id: str) -> Will | None:
        """Return the will of a client's session; None if it has none."""
        return await reading.get(
            self._q,
            f"{_SERVICE}Get",
            GetWillRequest(tenant=tenant, client_id=client_id),
            Will,
            shard_key=client_shard(tenant, client_id),
        )

    async def due(self, broker_epoch: int) -> AsyncGenerator[KeyedWillDelivery, None]:
        """Yield the wills that this registration of a broker is to publish, now and later on.

        Publish each, and acknowledge it. One that was not acknowledged is given again to whoever
        asks anew; its id tells whether it was published before.
        """
        given: set[bytes] = set()
        async with aclosing(self._q.watch(DELIVERIES)) as changes:
            async for change in changes:
                if change.kind is ChangeKind.RESYNC:
                    continue
                if change.kind is ChangeKind.DELETED:
                    given.discard(change.key)
                    continue
                delivery = WillDelivery.FromString(change.value)
                if delivery.assignee_epoch == broker_epoch and change.key not in given:
                    given.add(change.key)
                    tenant, client_id, _ = keys.unpack(change.key)
                    yield KeyedWillDelivery(
                        tenant=str(tenant), client_id=str(client_id), delivery=delivery
                    )

    async def acknowledge(self, delivery: KeyedWillDelivery) -> bool:
        """Tell that a will was published; tell whether that is news."""
        reply = await self._q.execute(_acknowledgement(delivery), AcknowledgeWillReply)
        return reply.acknowledged

    async def acknowledge_many(self, deliveries: Iterable[KeyedWillDelivery]) -> BatchReply:
        """Tell it of many; each reply in the reply is an `AcknowledgeWillReply`."""
        acknowledgements = map(_acknowledgement, deliveries)
        return await batching.execute(self._q, _ACKNOWLEDGING.of, acknowledgements)

    async def deliveries(
        self, request: ListWillDeliveriesRequest
    ) -> AsyncGenerator[KeyedWillDelivery, None]:
        """Yield the wills that brokers have to publish, in the order of tenants and clients."""
        async for delivery in _LISTING.read(self._q, request):
            yield delivery


class SyncWills(Blocking[Wills]):
    """The same, without `await`."""

    get = blocking(Wills.get)
    due = iterating(Wills.due)
    acknowledge = blocking(Wills.acknowledge)
    acknowledge_many = blocking(Wills.acknowledge_many)
    deliveries = iterating(Wills.deliveries)


def _acknowledgement(delivery: KeyedWillDelivery) -> AcknowledgeWill:
    return AcknowledgeWill(
        tenant=delivery.tenant, client_id=delivery.client_id, id=delivery.delivery.id
    )

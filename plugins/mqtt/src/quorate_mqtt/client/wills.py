"""Last wills: due wills, for the broker that is to publish them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, ChangeKind, Records, blocking, iterating
from quorate.plugin import keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.sessions.families import DELIVERIES
from quorate_mqtt.v1 import wills_pb2 as pb
from quorate_mqtt.wills.resource import WILL, WILL_DELIVERY


class Wills:
    """Reads wills, and acknowledges published ones. A will is set when a client connects."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._wills: Final[Records[pb.Will]] = q.records(WILL)
        self._deliveries: Final[Records[Any]] = q.records(WILL_DELIVERY)

    async def get(self, *key: Any) -> Any:
        """Return the will of a tenant's client, or None; of a list of such pairs a list."""
        return await self._wills.get(*key)

    async def due(self, broker_epoch: int) -> AsyncGenerator[pb.KeyedWillDelivery, None]:
        """Yield all present and future wills that this registration of a broker is to publish.

        Publish each, and acknowledge it. A will that was not acknowledged is yielded again to the
        next caller; its id shows whether it was published before.
        """
        given: set[bytes] = set()
        async with aclosing(self._q.watch(DELIVERIES)) as changes:
            async for change in changes:
                if change.kind is ChangeKind.RESYNC:
                    continue
                if change.kind is ChangeKind.DELETED:
                    given.discard(change.key)
                    continue
                delivery = pb.WillDelivery.FromString(change.value)
                if delivery.assignee_epoch == broker_epoch and change.key not in given:
                    given.add(change.key)
                    tenant, client_id, _ = keys.unpack(change.key)
                    yield pb.KeyedWillDelivery(
                        tenant=str(tenant), client_id=str(client_id), delivery=delivery
                    )

    async def acknowledge(self, delivery: pb.KeyedWillDelivery) -> bool:
        """Record that a will was published; return whether it was not recorded before."""
        reply = await self._q.execute(_acknowledgement(delivery), pb.AcknowledgeWillReply)
        return reply.acknowledged

    async def acknowledge_many(self, deliveries: Iterable[pb.KeyedWillDelivery]) -> BatchReply:
        """Record that many were published; each reply in the reply is an `AcknowledgeWillReply`."""
        return await self._deliveries.do("Acknowledge", map(_acknowledgement, deliveries))

    def deliveries(self, /, **conditions: Any) -> AsyncGenerator[pb.KeyedWillDelivery, None]:
        """Yield the wills that brokers have to publish; `conditions` as in `Records.list`."""
        return self._deliveries.list(**conditions)


class SyncWills(Blocking[Wills]):
    """The same, without `await`."""

    get = blocking(Wills.get)
    due = iterating(Wills.due)
    acknowledge = blocking(Wills.acknowledge)
    acknowledge_many = blocking(Wills.acknowledge_many)
    deliveries = iterating(Wills.deliveries)


def _acknowledgement(delivery: pb.KeyedWillDelivery) -> pb.AcknowledgeWill:
    return pb.AcknowledgeWill(
        tenant=delivery.tenant, client_id=delivery.client_id, id=delivery.delivery.id
    )

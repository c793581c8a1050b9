"""The subscriptions of clients that connect, read for many of them in a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quorate.client import AsyncClient, QuorateError, Records

from quorate_mqtt.client.shared_calls import SharedCalls
from quorate_mqtt.subscriptions.gathering import MOST_CLIENTS
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.v1 import subscriptions_pb2 as pb

_GATHER: Final = "/quorate_mqtt.v1.SubscriptionService/Gather"

#: The subscriptions of a client.
Found = list[pb.KeyedSubscription]


class SubscriptionsOfClients:
    """Reads all subscriptions of a client; reads of many coroutines share calls."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._records: Final[Records[Any]] = q.records(SUBSCRIPTION)
        self._shared: Final = SharedCalls(self._gather, MOST_CLIENTS)

    async def read(self, tenant: str, client_id: str) -> Found:
        """Return the subscriptions of a client."""
        return await self._shared.ask(pb.ClientName(tenant=tenant, client_id=client_id))

    async def _gather(self, clients: Sequence[pb.ClientName]) -> list[Found | QuorateError]:
        request = pb.GatherSubscriptionsRequest(clients=clients)
        answer = await self._q.call(_GATHER, request, pb.GatherSubscriptionsResponse, read=True)
        found: dict[tuple[str, str], Found] = {}
        for each in answer.subscriptions:
            found.setdefault((each.tenant, each.client_id), []).append(each)
        answers: list[Found | QuorateError] = [
            found.get((each.tenant, each.client_id), []) for each in clients
        ]
        for place in answer.left_out:
            left_out = clients[place]
            listed = self._records.list(tenant=left_out.tenant, client_id=left_out.client_id)
            answers[place] = [each async for each in listed]
        return answers

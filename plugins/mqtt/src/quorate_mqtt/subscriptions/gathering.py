"""Reads the subscriptions of many clients in one call: thousands connect to a broker at once."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Items, NodeApi, Query, Reader, keys
from quorate.plugin.checking import check_count, check_each

from quorate_mqtt.sessions.families import SUBSCRIPTIONS
from quorate_mqtt.sessions.validation import check_client
from quorate_mqtt.shards import GROUP, client_shard
from quorate_mqtt.v1 import subscriptions_pb2 as pb

MOST_CLIENTS: Final = 1_000
#: Limit on the bytes of one answer; clients beyond it are left out.
MOST_BYTES: Final = 4 << 20


class SubscriptionGathering:
    """Serves `Gather`; all other methods are derived."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Gather(
        self, request: pb.GatherSubscriptionsRequest, context: object
    ) -> pb.GatherSubscriptionsResponse:
        """Return the subscriptions of clients, and the positions of clients that were left out."""
        check_count("clients", request.clients, MOST_CLIENTS)
        check_each("clients", request.clients, _check)
        clients = [client_shard(each.tenant, each.client_id) for each in request.clients]
        found: dict[bytes, list[pb.KeyedSubscription]] = {client: [] for client in clients}
        room = MOST_BYTES
        query = pb.FindSubscriptions(clients=request.clients)
        async for each in self._node.query(query, pb.KeyedSubscription):
            room -= each.ByteSize()
            client = client_shard(each.tenant, each.client_id)
            if room < 0:
                # They come in the order of clients: this one and those after it are not complete.
                found = {key: rows for key, rows in found.items() if key < client}
                break
            found[client].append(each)
        response = pb.GatherSubscriptionsResponse(
            subscriptions=(each for client in sorted(found) for each in found[client])
        )
        response.left_out.extend(
            place for place, client in enumerate(clients) if client not in found
        )
        return response


def find_subscriptions(
    reader: Reader, query: pb.FindSubscriptions
) -> Iterator[pb.KeyedSubscription]:
    """Yield the subscriptions of clients, in the order of their keys."""
    for client in sorted({client_shard(each.tenant, each.client_id) for each in query.clients}):
        for row in reader.scan(SUBSCRIPTIONS, client, client + b"\xff"):
            tenant, client_id, topic_filter = keys.unpack(row.key)
            yield pb.KeyedSubscription(
                tenant=str(tenant),
                client_id=str(client_id),
                filter=str(topic_filter),
                subscription=pb.Subscription.FromString(row.value),
                revision=row.revision,
            )


def _check(client: pb.ClientName, path: str) -> None:
    check_client(client.tenant, client.client_id, path)


FIND_SUBSCRIPTIONS: Final = Query(
    message=pb.FindSubscriptions,
    group=GROUP,
    run=find_subscriptions,
    items=Items.of(
        "clients", shard_key=lambda client: client_shard(client.tenant, client.client_id)
    ),
    order=lambda found: keys.pack(found.tenant, found.client_id, found.filter),
)

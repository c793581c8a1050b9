"""The clients that this broker serves, or served last."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from quorate_mqtt.topic_filters import group_of

from quorate_amqtt.messages import Delivery, Message, delivery_of
from quorate_amqtt.outbox import Outbox
from quorate_amqtt.packets import Options
from quorate_amqtt.topic_trees import FilterTree

if TYPE_CHECKING:
    from quorate_amqtt.connection import Connection


@dataclass(slots=True, eq=False)
class Client:
    """A session that this broker serves, or served last."""

    client_id: str
    #: That of the connect which gave it to this broker.
    generation: int
    #: Whether it outlives the connection.
    persistent: bool
    outbox: Outbox
    #: None: it is away.
    connection: Connection | None = None
    #: Filters, shared ones among them, and the options of each.
    filters: dict[str, Options] = field(default_factory=dict)
    #: Packets of quality 2 that were taken, and not yet released.
    taken: set[int] = field(default_factory=set)
    #: When the session was created, once the watch has delivered it; zero: not yet.
    created_at_ms: int = 0
    #: The last number that was read of its queue in Quorate.
    read: int = 0
    #: There is something to read in it.
    queued: bool = False
    #: By broker, the last message that had come from there when the client connected.
    since: Mapping[int, int] = field(default_factory=dict)
    #: Another broker serves it. Late messages are held until that broker reports its own.
    moved: bool = False
    got: Mapping[int, int] | None = None
    held: list[Delivery] = field(default_factory=list)
    #: Writes the unacknowledged messages of its last connection to the queue.
    leaving: asyncio.Task[None] | None = None


class Clients:
    """Clients by id, and by their subscriptions."""

    def __init__(self) -> None:
        self._clients: Final[dict[str, Client]] = {}
        self._filters: Final[FilterTree[Options]] = FilterTree()

    def get(self, client_id: str) -> Client | None:
        """Return a client, or None."""
        return self._clients.get(client_id)

    def add(self, client: Client) -> None:
        """Add a client, in place of one of its id."""
        self.remove(client.client_id)
        self._clients[client.client_id] = client

    def remove(self, client_id: str) -> Client | None:
        """Forget a client with its filters; returns it."""
        client = self._clients.pop(client_id, None)
        if client is not None:
            self.set_filters(client, {})
        return client

    def set_filters(self, client: Client, filters: Mapping[str, Options]) -> None:
        """Replace all filters of a client."""
        for topic_filter in list(client.filters):
            self.unsubscribe(client, topic_filter)
        for topic_filter, options in filters.items():
            self.subscribe(client, topic_filter, options)

    def subscribe(self, client: Client, topic_filter: str, options: Options) -> None:
        """Add a filter of a client; shared filters are found by their group."""
        client.filters[topic_filter] = options
        if not group_of(topic_filter):
            self._filters.put(topic_filter, client.client_id, options)

    def unsubscribe(self, client: Client, topic_filter: str) -> None:
        """Take a filter away from a client."""
        if client.filters.pop(topic_filter, None) is not None and not group_of(topic_filter):
            self._filters.drop(topic_filter, client.client_id)

    def deliver(
        self, message: Message, besides: Collection[str] = ()
    ) -> list[tuple[Client, Delivery]]:
        """Give a message to the connected clients that have subscribed to its topic, once each.

        Returns what those are to get that are away. The clients `besides` get it by their queues.
        """
        away = []
        for client_id, found in matching(self._filters, message).items():
            client = self._clients[client_id]
            if client_id in besides:
                continue
            delivery = delivery_of(message, found)
            if client.connection is not None:
                client.outbox.put(delivery)
            elif client.persistent and delivery.qos:
                away.append((client, delivery))
        return away

    def __iter__(self) -> Iterator[Client]:
        return iter(list(self._clients.values()))

    def __len__(self) -> int:
        return len(self._clients)


def matching(filters: FilterTree[Options], message: Message) -> dict[str, list[Options]]:
    """Return the holders of the filters that a message comes by, and the options of these."""
    wanted: dict[str, list[Options]] = {}
    for client_id, options in filters.match(message.topic):
        if not (options.no_local and client_id == message.publisher):
            wanted.setdefault(client_id, []).append(options)
    return wanted

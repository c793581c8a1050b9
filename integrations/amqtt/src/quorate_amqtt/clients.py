"""The clients whose sessions this broker has: connected, or away with messages that wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from quorate_mqtt.topic_filters import group_of

from quorate_amqtt.messages import Message
from quorate_amqtt.outbox import Outbox
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
    #: Filters, shared ones among them, and the quality of service of each.
    filters: dict[str, int] = field(default_factory=dict)
    #: Packets of quality 2 that were taken, and not yet released.
    taken: set[int] = field(default_factory=set)


class Clients:
    """Clients by id, and by what they have subscribed to."""

    def __init__(self) -> None:
        self._clients: Final[dict[str, Client]] = {}
        self._filters: Final[FilterTree[int]] = FilterTree()

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

    def set_filters(self, client: Client, filters: dict[str, int]) -> None:
        """Replace all filters of a client."""
        for topic_filter in list(client.filters):
            self.unsubscribe(client, topic_filter)
        for topic_filter, qos in filters.items():
            self.subscribe(client, topic_filter, qos)

    def subscribe(self, client: Client, topic_filter: str, qos: int) -> None:
        """Add a filter of a client. What is shared is found by its group."""
        client.filters[topic_filter] = qos
        if not group_of(topic_filter):
            self._filters.put(topic_filter, client.client_id, qos)

    def unsubscribe(self, client: Client, topic_filter: str) -> None:
        """Take a filter away from a client."""
        if client.filters.pop(topic_filter, None) is not None and not group_of(topic_filter):
            self._filters.drop(topic_filter, client.client_id)

    def deliver(self, message: Message) -> None:
        """Give a message to those who have subscribed to its topic, once each."""
        wanted: dict[str, int] = {}
        for client_id, qos in self._filters.match(message.topic):
            if qos >= wanted.get(client_id, 0):
                wanted[client_id] = qos
        for client_id, qos in wanted.items():
            self.give(self._clients[client_id], message, qos)

    def give(self, client: Client, message: Message, qos: int) -> None:
        """Give a message to one client; who is away gets what is more than quality 0 later."""
        if qos < message.qos:
            message = message._replace(qos=qos)
        if client.connection is not None or (client.persistent and message.qos):
            client.outbox.put(message)

    def __iter__(self) -> Iterator[Client]:
        return iter(list(self._clients.values()))

    def __len__(self) -> int:
        return len(self._clients)

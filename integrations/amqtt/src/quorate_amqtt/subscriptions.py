"""The subscriptions of clients, which are written before they are acknowledged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amqtt.events import BrokerEvents
from quorate.plugin import Invalid
from quorate_mqtt.client import Action
from quorate_mqtt.names import check_topic_filter

from quorate_amqtt.admission import Admission
from quorate_amqtt.clients import Client
from quorate_amqtt.connection import Connection
from quorate_amqtt.fields import Reason
from quorate_amqtt.messages import delivery_of
from quorate_amqtt.packets import Options
from quorate_amqtt.retained import RetainedMessages
from quorate_amqtt.router import Router
from quorate_amqtt.state import State

Fire = Callable[..., Awaitable[Any]]


@dataclass(eq=False)
class Subscriptions:
    """Subscribes and unsubscribes clients of this broker."""

    _state: State
    _router: Router
    _retained: RetainedMessages
    _admission: Admission
    #: Tells amqtt's plugins.
    _fire: Fire

    async def subscribe(
        self, connection: Connection, filters: Sequence[tuple[str, Options]]
    ) -> list[int]:
        """Subscribe a client; return the codes of SUBACK, one for each filter."""
        client, wanted = connection.client, dict[str, Options]()
        codes: list[int] = []
        for topic_filter, options in filters:
            fault = self._fault_of(connection, topic_filter, options)
            codes.append(options.qos if fault is None else fault)
            if fault is None:
                wanted[topic_filter] = options
        if not wanted:
            return codes
        refused = await self._keep(client, wanted)
        for topic_filter in wanted.keys() - refused:
            options = wanted[topic_filter]
            self._router.clients.subscribe(client, topic_filter, options)
            self._router.enter(client, topic_filter)
            await self._fire(
                BrokerEvents.CLIENT_SUBSCRIBED,
                client_id=client.client_id,
                topic=topic_filter,
                qos=options.qos,
            )
        return [
            Reason.UNSPECIFIED if topic_filter in refused else code
            for (topic_filter, _), code in zip(filters, codes, strict=True)
        ]

    def give_retained(
        self,
        connection: Connection,
        filters: Sequence[tuple[str, Options]],
        codes: Sequence[int],
        known: Collection[str],
    ) -> None:
        """Deliver the retained messages of new subscriptions to a client.

        `known` are its earlier filters.
        """
        for (topic_filter, options), code in zip(filters, codes, strict=True):
            if (
                code >= Reason.UNSPECIFIED
                or options.retain_handling == 2
                or (options.retain_handling == 1 and topic_filter in known)
            ):
                continue
            for message in self._retained.matching(topic_filter):
                connection.client.outbox.put(delivery_of(message, [options], retained=True))

    async def unsubscribe(self, connection: Connection, filters: Sequence[str]) -> list[int]:
        """End subscriptions of a client; return the codes of UNSUBACK, one for each filter."""
        client = connection.client
        known = [each for each in filters if each in client.filters]
        await self._state.leave(client.client_id, known)
        if known and client.persistent:
            await self._state.unsubscribe(client.client_id, client.generation, known)
        for topic_filter in known:
            self._router.clients.unsubscribe(client, topic_filter)
            self._router.leave(client, topic_filter)
            await self._fire(
                BrokerEvents.CLIENT_UNSUBSCRIBED, client_id=client.client_id, topic=topic_filter
            )
        return [Reason.SUCCESS if each in known else Reason.NO_SUBSCRIPTION for each in filters]

    async def join(self, client: Client, filters: Collection[str]) -> None:
        """Let a client that has connected take its turns in the groups of its filters."""
        await self._state.join(client.client_id, list(filters))
        for topic_filter in filters:
            self._router.enter(client, topic_filter)

    async def _keep(self, client: Client, filters: Mapping[str, Options]) -> set[str]:
        """Store the subscriptions that outlive the connection; return the refused filters."""
        refused: set[str] = set()
        if client.persistent:
            refused = await self._state.subscribe(client.client_id, client.generation, filters)
        await self._state.join(client.client_id, [each for each in filters if each not in refused])
        return refused

    def _fault_of(
        self, connection: Connection, topic_filter: str, options: Options
    ) -> Reason | None:
        try:
            check_topic_filter("filter", topic_filter)
        except Invalid:
            return Reason.INVALID_FILTER
        refused = self._admission.refusal(connection, Action.SUBSCRIBE, topic_filter, options.qos)
        return None if refused is None else Reason.NOT_AUTHORIZED

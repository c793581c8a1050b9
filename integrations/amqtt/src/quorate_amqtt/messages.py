"""A published message, on its way to the subscribers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from quorate_amqtt.packets import Options
from quorate_amqtt.properties import Properties, encode

_IDENTIFIERS: Final = ("subscription_identifiers",)


class Message(NamedTuple):
    """A message for subscribers."""

    topic: str
    payload: bytes
    #: The quality of service of its publication, and the highest of its deliveries.
    qos: int = 0
    #: It was published to be retained.
    retain: bool = False
    #: Those of MQTT 5 that go on to subscribers, encoded.
    properties: bytes = b""
    #: By the clocks of brokers; zero: never.
    expires_at_ms: int = 0
    #: The client that has published it.
    publisher: str = ""
    #: The broker that it was published at, and a number that grows there with each message; zeros:
    #: it does not go to all subscribers.
    origin: tuple[int, int] = (0, 0)


@dataclass(slots=True, kw_only=True)
class Delivery:
    """A message for one client."""

    message: Message
    qos: int
    #: The flag that the client sees.
    retain: bool = False
    #: Of the subscriptions that it comes by, encoded as properties of MQTT 5.
    identifiers: bytes = b""
    #: In the queue of the session in Quorate; zero: it is not there.
    number: int = 0
    #: The packet that it was sent in; zero: it was not sent.
    packet_id: int = 0
    #: It was sent on an earlier connection, and not acknowledged there.
    again: bool = False
    #: The client has answered with PUBREC.
    received: bool = False


def delivery_of(
    message: Message, options: Collection[Options], *, retained: bool = False
) -> Delivery:
    """Return a message as it comes by subscriptions of one client."""
    identifiers = tuple(each.identifier for each in options if each.identifier)
    return Delivery(
        message=message,
        qos=min(message.qos, max(each.qos for each in options)),
        retain=retained or (message.retain and any(each.retain_as_published for each in options)),
        identifiers=encode(Properties(subscription_identifiers=identifiers), _IDENTIFIERS)
        if identifiers
        else b"",
    )

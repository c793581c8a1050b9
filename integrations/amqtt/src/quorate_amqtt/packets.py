"""The packets of MQTT 3.1.1 and 5: bytes that a client sends, and bytes that it is sent.

MQTT 3.1.1 has the same packets without properties and with fewer codes, so that the broker knows
one form of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quorate_amqtt import properties as of
from quorate_amqtt.fields import Fields, Malformed, Reason, binary_of, varint_of
from quorate_amqtt.properties import NONE, Properties

#: Versions of the protocol, as CONNECT names them.
V3, V5 = 4, 5
#: Types of packets.
CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = range(1, 8)
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP = range(8, 14)
DISCONNECT, AUTH = 14, 15
#: CONNACK of MQTT 3.1.1.
_REFUSALS: Final[Mapping[Reason, int]] = {
    Reason.SUCCESS: 0,
    Reason.UNSUPPORTED_VERSION: 1,
    Reason.INVALID_CLIENT_ID: 2,
    Reason.BAD_PASSWORD: 4,
    Reason.NOT_AUTHORIZED: 5,
    Reason.BANNED: 5,
    Reason.INVALID_TOPIC: 5,
}
_UNAVAILABLE: Final = 3


@dataclass(slots=True, kw_only=True)
class Will:
    """The message that is published when a client vanishes."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: Properties = NONE


@dataclass(slots=True, kw_only=True)
class Connect:
    """The first packet of a client."""

    version: int
    client_id: str
    clean_start: bool
    keep_alive_s: int
    will: Will | None
    username: str | None
    password: bytes | None
    properties: Properties = NONE


@dataclass(slots=True, kw_only=True)
class Publish:
    """A message, in either direction."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False
    again: bool = False
    packet_id: int = 0
    properties: Properties = NONE


@dataclass(slots=True)
class Ack:
    """A step of the delivery of a message: PUBACK, PUBREC, PUBREL or PUBCOMP."""

    kind: int
    packet_id: int
    reason: int = Reason.SUCCESS


@dataclass(frozen=True, slots=True)
class Options:
    """Those of a subscription."""

    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    #: 0: retained messages are given; 1: unless it is there already; 2: never.
    retain_handling: int = 0
    #: Zero: none.
    identifier: int = 0


@dataclass(slots=True)
class Subscribe:
    """Filters and their options."""

    packet_id: int
    filters: Sequence[tuple[str, Options]]


@dataclass(slots=True)
class Unsubscribe:
    """Filters."""

    packet_id: int
    filters: Sequence[str]


@dataclass(slots=True)
class Ping:
    """The client lives."""


@dataclass(slots=True)
class Disconnect:
    """The client takes its leave, or asks for its will to be published."""

    reason: int = Reason.SUCCESS
    properties: Properties = NONE


Packet = Connect | Publish | Ack | Subscribe | Unsubscribe | Ping | Disconnect


def decode(head: int, body: bytes, version: int) -> Packet:
    """Decode a packet of a client; raises `Malformed` for any other."""
    kind, flags = head >> 4, head & 0x0F
    if kind == PUBLISH:
        return _publish(flags, body, version)
    reader = _READERS.get(kind)
    if reader is None:
        raise Malformed(Reason.PROTOCOL_ERROR, f"a client does not send packets of type {kind}")
    if flags != (2 if kind in (PUBREL, SUBSCRIBE, UNSUBSCRIBE) else 0):
        raise Malformed(Reason.MALFORMED_PACKET, f"packets of type {kind} have other flags")
    read = Fields(body)
    packet = reader(kind, read, version)
    if read.left:
        raise Malformed(Reason.MALFORMED_PACKET, "it does not end where it should")
    return packet


def version_of(body: bytes) -> int:
    """Return the version in a CONNECT, which may be malformed otherwise; 0: none."""
    at = 2 + int.from_bytes(body[:2], "big")
    return body[at] if at < len(body) else 0


def _publish(flags: int, body: bytes, version: int) -> Publish:
    read, qos = Fields(body), flags >> 1 & 3
    if qos == 3:
        raise Malformed(Reason.MALFORMED_PACKET, "there is no quality of service 3")
    topic = read.text()
    packet_id = _packet_id(read) if qos else 0
    properties = _properties(of.PUBLISH, read, version)
    if properties.subscription_identifiers:
        raise Malformed(Reason.PROTOCOL_ERROR, "a client does not say subscription identifiers")
    if properties.topic_alias is not None:
        raise Malformed(Reason.INVALID_ALIAS, "this broker takes no topic aliases")
    return Publish(
        topic=topic,
        payload=read.rest(),
        qos=qos,
        retain=bool(flags & 1),
        again=bool(flags & 8),
        packet_id=packet_id,
        properties=properties,
    )


def _connect(_: int, read: Fields, __: int) -> Connect:
    name, version = read.text(), read.byte()
    if name != "MQTT" or version not in (V3, V5):
        raise Malformed(Reason.UNSUPPORTED_VERSION, f"it speaks {name} {version}")
    flags, keep_alive_s = read.byte(), read.two()
    if flags & 1:
        raise Malformed(Reason.MALFORMED_PACKET, "the reserved flag of CONNECT is set")
    properties = _properties(of.CONNECT, read, version)
    client_id, will = read.text(), None
    if flags & 0x04:
        will_properties = _properties(of.WILL, read, version)
        will = Will(
            topic=read.text(),
            payload=read.binary(),
            qos=flags >> 3 & 3,
            retain=bool(flags & 0x20),
            properties=will_properties,
        )
    if (will is None and flags & 0x38) or flags & 0x18 == 0x18:
        raise Malformed(Reason.MALFORMED_PACKET, "its flags of the will make no sense")
    return Connect(
        version=version,
        client_id=client_id,
        clean_start=bool(flags & 0x02),
        keep_alive_s=keep_alive_s,
        will=will,
        username=read.text() if flags & 0x80 else None,
        password=read.binary() if flags & 0x40 else None,
        properties=properties,
    )


def _ack(kind: int, read: Fields, version: int) -> Ack:
    packet_id, reason = _packet_id(read), int(Reason.SUCCESS)
    if version == V5 and read.left:
        reason = read.byte()
        if read.left:
            of.decode(_ACKS[kind], read)
    return Ack(kind, packet_id, reason)


def _subscribe(_: int, read: Fields, version: int) -> Subscribe:
    packet_id = _packet_id(read)
    identifiers = _properties(of.SUBSCRIBE, read, version).subscription_identifiers
    if len(identifiers) > 1:
        raise Malformed(Reason.PROTOCOL_ERROR, "a subscription has one identifier")
    identifier = identifiers[0] if identifiers else 0
    filters: list[tuple[str, Options]] = []
    while read.left or not filters:
        topic_filter, flags = read.text(), read.byte()
        if flags & (0xC0 if version == V5 else 0xFC) or flags & 3 == 3 or flags & 0x30 == 0x30:
            raise Malformed(Reason.MALFORMED_PACKET, "there are no such options")
        if flags & 4 and topic_filter.startswith("$share/"):
            raise Malformed(Reason.PROTOCOL_ERROR, "a shared subscription has no option no local")
        options = Options(flags & 3, bool(flags & 4), bool(flags & 8), flags >> 4, identifier)
        filters.append((topic_filter, options))
    return Subscribe(packet_id, filters)


def _unsubscribe(_: int, read: Fields, version: int) -> Unsubscribe:
    packet_id = _packet_id(read)
    _properties(of.UNSUBSCRIBE, read, version)
    filters: list[str] = []
    while read.left or not filters:
        filters.append(read.text())
    return Unsubscribe(packet_id, filters)


def _disconnect(_: int, read: Fields, version: int) -> Disconnect:
    reason, properties = int(Reason.SUCCESS), NONE
    if version == V5 and read.left:
        reason = read.byte()
        if read.left:
            properties = of.decode(of.DISCONNECT, read)
    return Disconnect(reason, properties)


_ACKS: Final = {
    PUBACK: of.PUBACK,
    PUBREC: of.PUBREC,
    PUBREL: of.PUBREL,
    PUBCOMP: of.PUBCOMP,
}
_READERS: Final[Mapping[int, Callable[[int, Fields, int], Packet]]] = {
    CONNECT: _connect,
    **dict.fromkeys(_ACKS, _ack),
    SUBSCRIBE: _subscribe,
    UNSUBSCRIBE: _unsubscribe,
    PINGREQ: lambda *_: Ping(),
    DISCONNECT: _disconnect,
}
PONG: Final = bytes([PINGRESP << 4, 0])


def connack(version: int, reason: Reason, present: bool, properties: Properties) -> bytes:
    """Return the answer to CONNECT."""
    if version == V3:
        return _packet(CONNACK, bytes([present, _REFUSALS.get(reason, _UNAVAILABLE)]))
    return _packet(CONNACK, bytes([present, reason]) + _sized(of.encode(properties)))


def publish(
    version: int, topic: bytes, payload: bytes, flags: int, packet_id: int, properties: bytes
) -> bytes:
    """Return a message; `flags` are those of its head, and `properties` go to MQTT 5 alone."""
    parts = [binary_of(topic)]
    if flags & 6:
        parts.append(packet_id.to_bytes(2, "big"))
    if version == V5:
        parts.append(_sized(properties))
    parts.append(payload)
    body = b"".join(parts)
    return bytes([PUBLISH << 4 | flags]) + varint_of(len(body)) + body


def ack(version: int, kind: int, packet_id: int, reason: Reason = Reason.SUCCESS) -> bytes:
    """Return a step of the delivery of a message."""
    body = packet_id.to_bytes(2, "big")
    if version == V5 and reason:
        body += bytes([reason])
    return _packet(kind, body, 2 if kind == PUBREL else 0)


def suback(version: int, packet_id: int, codes: Sequence[int]) -> bytes:
    """Return the answer to SUBSCRIBE."""
    if version == V3:
        codes = [min(code, Reason.UNSPECIFIED) for code in codes]
    return _packet(SUBACK, _answer(version, packet_id) + bytes(codes))


def unsuback(version: int, packet_id: int, codes: Sequence[int]) -> bytes:
    """Return the answer to UNSUBSCRIBE."""
    return _packet(UNSUBACK, _answer(version, packet_id) + (bytes(codes) if version == V5 else b""))


def disconnect(reason: Reason) -> bytes:
    """Return the end of a connection of MQTT 5; the server of 3.1.1 has no such packet."""
    return _packet(DISCONNECT, bytes([reason, 0]))


def _answer(version: int, packet_id: int) -> bytes:
    return packet_id.to_bytes(2, "big") + (b"\0" if version == V5 else b"")


def _packet(kind: int, body: bytes, flags: int = 0) -> bytes:
    return bytes([kind << 4 | flags]) + varint_of(len(body)) + body


def _sized(properties: bytes) -> bytes:
    return varint_of(len(properties)) + properties


def _packet_id(read: Fields) -> int:
    packet_id = read.two()
    if not packet_id:
        raise Malformed(Reason.MALFORMED_PACKET, "a packet with an answer has no identifier")
    return packet_id


def _properties(packet: int, read: Fields, version: int) -> Properties:
    return of.decode(packet, read) if version == V5 else NONE

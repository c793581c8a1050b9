"""The properties of MQTT 5 packets, as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

from quorate_amqtt.fields import Fields, Malformed, Reason, binary_of, text_of, varint_of

#: The packets, and the parts of packets, with properties of their own.
CONNECT, CONNACK, PUBLISH, WILL, PUBACK, PUBREC, PUBREL, PUBCOMP = range(8)
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, DISCONNECT, AUTH = range(8, 14)
_ACKS: Final = frozenset({PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK, UNSUBACK})
_MESSAGES: Final = frozenset({PUBLISH, WILL})
_ANY: Final = frozenset(range(14))


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """Those of one packet; None: not given."""

    payload_format: int | None = None
    message_expiry_s: int | None = None
    content_type: str | None = None
    response_topic: str | None = None
    correlation_data: bytes | None = None
    subscription_identifiers: tuple[int, ...] = ()
    session_expiry_s: int | None = None
    assigned_client_id: str | None = None
    server_keep_alive_s: int | None = None
    authentication_method: str | None = None
    authentication_data: bytes | None = None
    request_problem_information: int | None = None
    will_delay_s: int | None = None
    request_response_information: int | None = None
    response_information: str | None = None
    server_reference: str | None = None
    reason: str | None = None
    receive_maximum: int | None = None
    topic_alias_maximum: int | None = None
    topic_alias: int | None = None
    maximum_qos: int | None = None
    retain_available: int | None = None
    user: tuple[tuple[str, str], ...] = ()
    maximum_packet_bytes: int | None = None
    wildcards_available: int | None = None
    identifiers_available: int | None = None
    shared_available: int | None = None


NONE: Final = Properties()


class _Property(NamedTuple):
    field: str
    #: A method of `Fields`, or `pair`.
    kind: str
    packets: frozenset[int]
    #: It may be given more than once.
    repeats: bool = False
    least: int = 0
    most: int = 0xFFFF_FFFF


def _in(*packets: int) -> frozenset[int]:
    return frozenset(packets)


TABLE: Final[Mapping[int, _Property]] = {
    0x01: _Property("payload_format", "byte", _MESSAGES, most=1),
    0x02: _Property("message_expiry_s", "four", _MESSAGES),
    0x03: _Property("content_type", "text", _MESSAGES),
    0x08: _Property("response_topic", "text", _MESSAGES),
    0x09: _Property("correlation_data", "binary", _MESSAGES),
    0x0B: _Property("subscription_identifiers", "varint", _in(PUBLISH, SUBSCRIBE), True, 1),
    0x11: _Property("session_expiry_s", "four", _in(CONNECT, CONNACK, DISCONNECT)),
    0x12: _Property("assigned_client_id", "text", _in(CONNACK)),
    0x13: _Property("server_keep_alive_s", "two", _in(CONNACK)),
    0x15: _Property("authentication_method", "text", _in(CONNECT, CONNACK, AUTH)),
    0x16: _Property("authentication_data", "binary", _in(CONNECT, CONNACK, AUTH)),
    0x17: _Property("request_problem_information", "byte", _in(CONNECT), most=1),
    0x18: _Property("will_delay_s", "four", _in(WILL)),
    0x19: _Property("request_response_information", "byte", _in(CONNECT), most=1),
    0x1A: _Property("response_information", "text", _in(CONNACK)),
    0x1C: _Property("server_reference", "text", _in(CONNACK, DISCONNECT)),
    0x1F: _Property("reason", "text", _ACKS | {CONNACK, DISCONNECT, AUTH}),
    0x21: _Property("receive_maximum", "two", _in(CONNECT, CONNACK), least=1),
    0x22: _Property("topic_alias_maximum", "two", _in(CONNECT, CONNACK)),
    0x23: _Property("topic_alias", "two", _in(PUBLISH), least=1),
    0x24: _Property("maximum_qos", "byte", _in(CONNACK), most=1),
    0x25: _Property("retain_available", "byte", _in(CONNACK), most=1),
    0x26: _Property("user", "pair", _ANY, True),
    0x27: _Property("maximum_packet_bytes", "four", _in(CONNECT, CONNACK), least=1),
    0x28: _Property("wildcards_available", "byte", _in(CONNACK), most=1),
    0x29: _Property("identifiers_available", "byte", _in(CONNACK), most=1),
    0x2A: _Property("shared_available", "byte", _in(CONNACK), most=1),
}
_IDENTIFIERS: Final = {each.field: number for number, each in TABLE.items()}
#: Those of a message that go on to its subscribers as they are.
PASSED_ON: Final = (
    "payload_format",
    "content_type",
    "response_topic",
    "correlation_data",
    "user",
)
_ENCODERS: Final[Mapping[str, Any]] = {
    "byte": lambda value: bytes([value]),
    "two": lambda value: value.to_bytes(2, "big"),
    "four": lambda value: value.to_bytes(4, "big"),
    "varint": varint_of,
    "text": text_of,
    "binary": binary_of,
    "pair": lambda value: text_of(value[0]) + text_of(value[1]),
}
_NAMES: Final = tuple(field.name for field in fields(Properties))


def decode(packet: int, read: Fields) -> Properties:
    """Read properties with their length; raises `Malformed` for one that the packet cannot have."""
    found: dict[str, Any] = {}
    inner = Fields(read.raw(read.varint()))
    while inner.left:
        known = TABLE.get(inner.varint())
        if known is None or packet not in known.packets:
            raise Malformed(Reason.MALFORMED_PACKET, "a property that the packet has not")
        value: Any = (
            (inner.text(), inner.text()) if known.kind == "pair" else getattr(inner, known.kind)()
        )
        if isinstance(value, int) and not known.least <= value <= known.most:
            raise Malformed(Reason.PROTOCOL_ERROR, f"{known.field} is {value}")
        if known.repeats:
            value = (*found.get(known.field, ()), value)
        elif known.field in found:
            raise Malformed(Reason.PROTOCOL_ERROR, f"{known.field} is given twice")
        found[known.field] = value
    return Properties(**found) if found else NONE


def encode(properties: Properties, names: tuple[str, ...] = _NAMES) -> bytes:
    """Return properties without their length."""
    out = bytearray()
    for name in names:
        value = getattr(properties, name)
        if value is None or value == ():
            continue
        known = TABLE[_IDENTIFIERS[name]]
        for each in value if known.repeats else (value,):
            out.append(_IDENTIFIERS[name])
            out += _ENCODERS[known.kind](each)
    return bytes(out)

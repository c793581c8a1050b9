"""Packets are read as paho-mqtt writes them, and whatever is none of them is refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st
from paho.mqtt.packettypes import PacketTypes
from quorate_amqtt import packets, properties as of
from quorate_amqtt.fields import Fields, Malformed, Reason, text_of, varint_of
from quorate_amqtt.packets import PUBREL, V3, V5, Connect, Options, Publish
from quorate_amqtt.properties import TABLE, Properties

from tests.support.amqtt import properties_of as pahos

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "byte": st.integers(0, 1),
    "two": st.integers(1, 0xFFFF),
    "four": st.integers(1, 0xFFFF_FFFF),
    "varint": st.integers(1, 268_435_455),
    "text": TEXT,
    "binary": st.binary(max_size=20),
    "pair": st.tuples(TEXT, TEXT),
}
#: By the field of our properties, the name of paho's.
PAHO = {
    "payload_format": "PayloadFormatIndicator",
    "message_expiry_s": "MessageExpiryInterval",
    "content_type": "ContentType",
    "response_topic": "ResponseTopic",
    "correlation_data": "CorrelationData",
    "user": "UserProperty",
}


def properties_of(packet: int) -> st.SearchStrategy[Properties]:
    """Return any properties that a packet may have."""
    known = {
        each.field: st.lists(VALUES[each.kind], max_size=3).map(tuple)
        if each.repeats
        else st.none() | VALUES[each.kind]
        for each in TABLE.values()
        if packet in each.packets
    }
    return st.builds(Properties, **known)


def body_of(packet: bytes) -> tuple[int, bytes]:
    read = Fields(packet)
    head, size = read.byte(), read.varint()
    assert size == read.left
    return head, read.rest()


@given(st.integers(0, 13).flatmap(lambda packet: st.tuples(st.just(packet), properties_of(packet))))
def test_properties_are_read_as_they_are_written(case: tuple[int, Properties]) -> None:
    packet, properties = case
    encoded = of.encode(properties)

    read = Fields(varint_of(len(encoded)) + encoded + b"rest")

    assert of.decode(packet, read) == properties
    assert read.rest() == b"rest"


@given(properties_of(of.WILL).map(lambda each: of.encode(each, tuple(PAHO))))
def test_pahos_properties_are_ours(encoded: bytes) -> None:
    ours = of.decode(of.PUBLISH, Fields(varint_of(len(encoded)) + encoded))
    given = {}
    for field, name in PAHO.items():
        value = getattr(ours, field)
        if value not in (None, ()):
            given[name] = list(value) if field == "user" else value
    theirs = pahos(PacketTypes.PUBLISH, **given)

    assert of.decode(of.PUBLISH, Fields(theirs.pack())) == ours


@given(
    version=st.sampled_from([V3, V5]),
    topic=TEXT,
    payload=st.binary(max_size=300),
    qos=st.integers(0, 2),
    retain=st.booleans(),
    again=st.booleans(),
    properties=properties_of(of.WILL),
)
def test_a_message_is_read_as_it_is_written(
    version: int,
    topic: str,
    payload: bytes,
    qos: int,
    retain: bool,
    again: bool,
    properties: Properties,
) -> None:
    encoded = of.encode(properties, tuple(PAHO))
    flags = again << 3 | qos << 1 | retain

    packet = packets.publish(version, topic.encode(), payload, flags, 7, encoded)

    assert packets.decode(*body_of(packet), version) == Publish(
        topic=topic,
        payload=payload,
        qos=qos,
        retain=retain,
        again=again,
        packet_id=7 if qos else 0,
        properties=of.decode(of.PUBLISH, Fields(varint_of(len(encoded)) + encoded))
        if version == V5
        else Properties(),
    )


@given(
    st.sampled_from([V3, V5]),
    st.integers(4, 7),
    st.integers(1, 0xFFFF),
    st.sampled_from([Reason.SUCCESS, Reason.NOT_AUTHORIZED]),
)
def test_an_answer_is_read_as_it_is_written(
    version: int, kind: int, packet_id: int, reason: Reason
) -> None:
    packet = packets.ack(version, kind, packet_id, reason)

    expected = packets.Ack(kind, packet_id, reason if version == V5 else Reason.SUCCESS)
    assert packets.decode(*body_of(packet), version) == expected


@given(st.integers(0, 255), st.binary(max_size=60), st.sampled_from([V3, V5]))
def test_any_bytes_are_a_packet_or_refused(head: int, body: bytes, version: int) -> None:
    with suppress(Malformed):
        packets.decode(head, body, version)


@given(st.data(), st.sampled_from([V3, V5]))
def test_a_connect_that_was_changed_is_one_or_refused(data: st.DataObject, version: int) -> None:
    body = bytearray(CONNECTS[version])
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(body)))
    with suppress(Malformed):
        packets.decode(0x10, bytes(body[:end]), version)


def connect_of(version: int) -> bytes:
    none = b"\0" if version == V5 else b""
    texts = (none + text_of("w/t"), text_of("gone"), text_of("ada"), text_of("secret"))
    head = text_of("MQTT") + bytes([version, 0xEE, 0, 30]) + none + text_of("lamp")
    return head + b"".join(texts)


CONNECTS = {version: connect_of(version) for version in (V3, V5)}


@pytest.mark.parametrize("version", [V3, V5])
def test_connect_says_all_of_a_client(version: int) -> None:
    connect = packets.decode(0x10, CONNECTS[version], version)

    assert connect == Connect(
        version=version,
        client_id="lamp",
        clean_start=True,
        keep_alive_s=30,
        will=packets.Will(topic="w/t", payload=b"gone", qos=1, retain=True),
        username="ada",
        password=b"secret",
    )


def test_a_subscription_has_options() -> None:
    five = b"\0\1" + b"\2\x0b\x09" + text_of("a/#") + b"\x1d"
    three = b"\0\1" + text_of("a/#") + b"\2" + text_of("b") + b"\0"

    assert packets.decode(0x82, five, V5) == packets.Subscribe(
        1, [("a/#", Options(1, True, True, 1, 9))]
    )
    assert packets.decode(0x82, three, V3) == packets.Subscribe(
        1, [("a/#", Options(2)), ("b", Options(0))]
    )


@pytest.mark.parametrize(
    ("head", "body", "reason"),
    [
        (0x36, text_of("a") + b"\0\1\0", Reason.MALFORMED_PACKET),
        (0x32, text_of("a") + b"\0\0\0", Reason.MALFORMED_PACKET),
        (0x30, b"\0\2\xff\xfe\0", Reason.MALFORMED_PACKET),
        (0x30, text_of("a") + b"\2\1\2", Reason.PROTOCOL_ERROR),
        (0x30, text_of("a") + b"\4\1\0\1\0", Reason.PROTOCOL_ERROR),
        (0x30, text_of("a") + b"\3\x23\0\1", Reason.INVALID_ALIAS),
        (0x30, text_of("a") + b"\2\x0b\1", Reason.PROTOCOL_ERROR),
        (0x30, text_of("a") + b"\5\x11\0\0\0\1", Reason.MALFORMED_PACKET),
        (0x30, text_of("a") + b"\2\x7e\0", Reason.MALFORMED_PACKET),
        (0x60, b"\0\1", Reason.MALFORMED_PACKET),
        (0x82, b"\0\1\0", Reason.MALFORMED_PACKET),
        (0x82, b"\0\1\0" + text_of("a") + b"\3", Reason.MALFORMED_PACKET),
        (0x82, b"\0\1\0" + text_of("a") + b"\x40", Reason.MALFORMED_PACKET),
        (0x82, b"\0\1\0" + text_of("$share/g/a") + b"\4", Reason.PROTOCOL_ERROR),
        (0xA2, b"\0\1\0", Reason.MALFORMED_PACKET),
        (0xC0, b"x", Reason.MALFORMED_PACKET),
        (0x20, b"\0\0\0", Reason.PROTOCOL_ERROR),
        (0xF0, b"", Reason.PROTOCOL_ERROR),
    ],
)
def test_what_no_client_may_send_is_refused_by_its_reason(
    head: int, body: bytes, reason: Reason
) -> None:
    with pytest.raises(Malformed) as refused:
        packets.decode(head, body, V5)
    assert refused.value.reason is reason


def test_mqtt_3_1_1_is_told_less() -> None:
    codes = [1, Reason.NOT_AUTHORIZED]
    assert packets.suback(V3, 5, codes) == b"\x90\4\0\5\1\x80"
    assert packets.suback(V5, 5, codes) == b"\x90\5\0\5\0\1\x87"
    assert packets.unsuback(V3, 5, [0]) == b"\xb0\2\0\5"
    assert packets.unsuback(V5, 5, [0x11]) == b"\xb0\4\0\5\0\x11"
    assert packets.ack(V3, PUBREL, 5, Reason.UNKNOWN_PACKET) == b"\x62\2\0\5"
    assert packets.connack(V3, Reason.QUOTA_EXCEEDED, False, Properties()) == b"\x20\2\0\3"
    assert packets.connack(V5, Reason.QUOTA_EXCEEDED, False, Properties()) == b"\x20\3\0\x97\0"

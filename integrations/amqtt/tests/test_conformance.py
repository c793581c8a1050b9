"""What MQTT 3.1.1 demands of a server; the numbers are those of its statements."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Self

import pytest
from quorate.testing.waiting import PATIENCE_S

from tests.support.amqtt import BrokerProcess, Brokers

pytestmark = pytest.mark.ci

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC = 0x10, 0x20, 0x30, 0x40, 0x50
PUBREL, PUBCOMP, SUBACK, UNSUBACK, PINGRESP = 0x62, 0x70, 0x90, 0xB0, 0xD0


@pytest.fixture(scope="module")
def broker(brokers: Brokers) -> BrokerProcess:
    return brokers.start("conforming")[0]


class Wire:
    """A connection to a broker, packet by packet."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._socket = socket.create_connection(("127.0.0.1", broker.port), timeout=PATIENCE_S)
        self._stream = self._socket.makefile("rb")

    def send(self, head: int, body: bytes = b"") -> Self:
        assert len(body) < 128
        self._socket.sendall(bytes([head, len(body)]) + body)
        return self

    def connect(self, client_id: str, *, flags: int = 0x02, keep_alive: int = 0) -> bytes:
        body = text("MQTT") + bytes([4, flags]) + keep_alive.to_bytes(2, "big") + text(client_id)
        head, answer = self.send(CONNECT, body).packet()
        assert head == CONNACK
        return answer

    def subscribe(self, topic_filter: str, qos: int = 1) -> None:
        self.send(0x82, b"\0\1" + text(topic_filter) + bytes([qos]))
        assert self.packet() == (SUBACK, bytes([0, 1, qos]))

    def packet(self) -> tuple[int, bytes]:
        head = self._stream.read(2)
        assert head, "the broker has hung up"
        return head[0], self._stream.read(head[1])

    def hung_up(self) -> bool:
        return not self._stream.read(1)

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


@pytest.fixture
def wires(broker: BrokerProcess) -> Iterator[list[Wire]]:
    """Two connections."""
    opened = [Wire(broker), Wire(broker)]
    yield opened
    for each in opened:
        each.close()


def text(value: str) -> bytes:
    return len(value.encode()).to_bytes(2, "big") + value.encode()


def published(packet: tuple[int, bytes]) -> tuple[str, bytes, bytes]:
    """Return topic, identifier and payload of a message with an acknowledgement."""
    head, body = packet
    assert head & 0xF0 == PUBLISH
    size = int.from_bytes(body[:2], "big")
    return body[2 : 2 + size].decode(), body[2 + size : 4 + size], body[4 + size :]


def test_a_client_without_an_id_gets_one_for_a_clean_session_alone(wires: list[Wire]) -> None:
    """MQTT-3.1.3-6, MQTT-3.1.3-8, MQTT-3.1.3-9."""
    one, two = wires
    assert one.connect("") == b"\0\0"
    assert two.connect("", flags=0) == b"\0\2"
    assert two.hung_up()


def test_a_second_connect_ends_the_connection(wires: list[Wire]) -> None:
    """MQTT-3.1.0-2."""
    wires[0].connect("twice")
    wires[0].send(CONNECT, text("MQTT") + bytes([4, 2, 0, 0]) + text("twice"))
    assert wires[0].hung_up()


def test_another_level_of_the_protocol_is_refused(wires: list[Wire]) -> None:
    """MQTT-3.1.2-2."""
    head, answer = wires[0].send(CONNECT, text("MQTT") + bytes([6, 2, 0, 0]) + text("x")).packet()
    assert (head, answer) == (CONNACK, b"\0\1")
    assert wires[0].hung_up()


def test_a_ping_is_answered(wires: list[Wire]) -> None:
    """MQTT-3.12.4-1."""
    wires[0].connect("pinging")
    assert wires[0].send(0xC0).packet() == (PINGRESP, b"")


def test_a_client_that_is_silent_for_too_long_is_hung_up_on(wires: list[Wire]) -> None:
    """MQTT-3.1.2-24."""
    wires[0].connect("silent", keep_alive=1)
    assert wires[0].hung_up()


def test_a_message_of_quality_2_is_delivered_once(wires: list[Wire]) -> None:
    """MQTT-4.3.3-2."""
    teller, listener = wires
    teller.connect("teller")
    listener.connect("listener")
    listener.subscribe("once", 1)
    body = text("once") + b"\0\x09" + b"x"
    for head in (0x34, 0x3C, 0x3C):
        assert teller.send(head, body).packet() == (PUBREC, b"\0\x09")
    for _ in range(2):
        assert teller.send(PUBREL, b"\0\x09").packet() == (PUBCOMP, b"\0\x09")
    assert teller.send(0x34, text("once") + b"\0\x09" + b"y").packet() == (PUBREC, b"\0\x09")

    for payload in (b"x", b"y"):
        topic, identifier, got = published(listener.packet())
        assert (topic, got) == ("once", payload)
        listener.send(PUBACK, identifier)


def test_what_was_not_acknowledged_is_sent_again(wires: list[Wire], broker: BrokerProcess) -> None:
    """MQTT-4.4.0-1, MQTT-3.3.1-1."""
    teller, listener = wires
    teller.connect("teller-2")
    assert listener.connect("forgetful", flags=0) == b"\0\0"
    listener.subscribe("again", 1)
    assert teller.send(0x32, text("again") + b"\0\1x").packet()[0] == PUBACK
    head, _ = first = listener.packet()
    assert not head & 0x08
    listener.close()
    wires[1] = again = Wire(broker)

    assert again.connect("forgetful", flags=0) == b"\1\0"

    head, _ = second = again.packet()
    assert head & 0x08
    assert published(second)[::2] == published(first)[::2]


def test_a_retained_message_says_so_to_new_subscribers_alone(wires: list[Wire]) -> None:
    """MQTT-3.3.1-8, MQTT-3.3.1-9."""
    one, two = wires
    one.connect("early")
    one.subscribe("kept/flag", 0)
    two.connect("late")
    assert two.send(0x33, text("kept/flag") + b"\0\1x").packet()[0] == PUBACK
    assert one.packet()[0] == PUBLISH
    two.subscribe("kept/flag", 0)
    assert two.packet()[0] == PUBLISH | 0x01


def test_packets_are_answered_in_their_order(wires: list[Wire]) -> None:
    """MQTT-4.6.0-2."""
    one, _ = wires
    one.connect("orderly")
    for number in range(1, 20):
        one.send(0x33 if number % 3 else 0x32, text("order") + bytes([0, number]) + b"x")
    one.send(0xA2, b"\0\x63" + text("order"))
    answers = [one.packet() for _ in range(20)]
    assert answers == [*((PUBACK, bytes([0, n])) for n in range(1, 20)), (UNSUBACK, b"\0\x63")]


def test_what_was_sent_before_the_goodbye_is_carried_out(
    wires: list[Wire], broker: BrokerProcess
) -> None:
    one, listener = wires
    listener.connect("heir")
    listener.subscribe("last/#", 0)
    one.connect("hasty")
    for number in range(20):
        one.send(0x31 if number % 2 else 0x30, text(f"last/{number}") + b"x")
    one.send(0xE0)
    one.close()

    for number in range(20):
        head, body = listener.packet()
        assert (head, body) == (PUBLISH, text(f"last/{number}") + b"x")

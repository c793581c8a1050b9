"""Clients connect over TCP, TLS and WebSockets, and brokers to each other over TLS."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from quorate.cli.authority import make_authority, sign
from quorate.client import Client
from quorate.testing.waiting import PATIENCE_S
from websockets.sync.client import ClientConnection, connect

from tests.support.amqtt import BrokerProcess, Brokers, Device

pytestmark = pytest.mark.ci

LOGIN = b"\x10\x10\x00\x04MQTT\x04\x02\x00\x00\x00\x04wire"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, and the certificates of two brokers."""
    folder = tmp_path_factory.mktemp("certificates")
    make_authority(folder)
    for name in ("north", "south"):
        sign(folder, name, ["127.0.0.1"])
    return folder


def tls(folder: Path, name: str) -> dict[str, str]:
    return {"certfile": str(folder / f"{name}.pem"), "keyfile": str(folder / f"{name}.key")}


@pytest.fixture(scope="module")
def broker(brokers: Brokers, certificates: Path) -> BrokerProcess:
    """A broker with a listener of each kind."""
    listeners = {
        "default": {"bind": "127.0.0.1:0"},
        "tls": {"bind": "127.0.0.1:0", **tls(certificates, "north")},
        "ws": {"bind": "127.0.0.1:0", "type": "ws"},
        "wss": {"bind": "127.0.0.1:0", "type": "ws", **tls(certificates, "north")},
    }
    return brokers.start("all", listeners=listeners)[0]


@pytest.mark.parametrize("version", [MQTTProtocolVersion.MQTTv311, MQTTProtocolVersion.MQTTv5])
@pytest.mark.parametrize("listener", ["default", "tls", "ws", "wss"])
def test_clients_are_served_over_any_listener(
    broker: BrokerProcess, certificates: Path, listener: str, version: MQTTProtocolVersion
) -> None:
    options: dict[str, Any] = {"listener": listener, "version": version}
    if listener.startswith("ws"):
        options["transport"] = "websockets"
    if listener in ("tls", "wss"):
        options["authority"] = certificates / "ca.pem"
    payload = bytes(range(256)) * 300
    with Device(broker, "far", **options) as far, Device(broker, "near") as near:
        far.subscribe("wide/#", qos=2)
        near.publish("wide/a", payload, qos=2)
        assert far.message() == ("wide/a", payload)
        far.publish("wide/b", payload, qos=2)
        assert far.message() == ("wide/b", payload)
        far.disconnect()


def web_socket(broker: BrokerProcess) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{broker.ports['ws']}", subprotocols=["mqtt"])  # type: ignore[list-item]


def test_packets_may_be_split_over_messages_of_web_sockets(broker: BrokerProcess) -> None:
    with web_socket(broker) as wire:
        for byte in LOGIN + b"\xc0":
            wire.send(bytes([byte]))
        assert wire.recv(PATIENCE_S) == b"\x20\x02\x00\x00"
        wire.send(b"\0\xc0\0\xc0\0")
        assert [wire.recv(PATIENCE_S) for _ in range(3)] == [b"\xd0\0"] * 3


@pytest.mark.parametrize("said", ["text", b"\xff\xff\xff\xff\xff", LOGIN + b"\xf0\0"])
def test_what_is_no_packet_ends_a_web_socket(broker: BrokerProcess, said: str | bytes) -> None:
    with web_socket(broker) as wire:
        wire.send(said)
        assert set(wire) <= {b"\x20\x02\x00\x00"}
    assert "Traceback" not in broker.said


def test_a_packet_that_has_not_come_whole_is_not_carried_out(broker: BrokerProcess) -> None:
    with Device(broker, "whole", transport="websockets", listener="ws") as device:
        device.subscribe("halves")
        with web_socket(broker) as wire:
            wire.send(LOGIN + b"\x30\x10\0\6halves")
            assert wire.recv(PATIENCE_S) == b"\x20\x02\x00\x00"
        device.publish("halves", "end")
        assert device.message() == ("halves", b"end")


def test_who_does_not_trust_the_broker_does_not_connect(broker: BrokerProcess) -> None:
    address, context = f"127.0.0.1:{broker.ports['tls']}", ssl.create_default_context()
    with pytest.raises(ssl.SSLCertVerificationError), talk(address, context):
        pass


def test_brokers_reach_each_other_over_tls(brokers: Brokers, certificates: Path, q: Client) -> None:
    def peers(name: str) -> dict[str, Any]:
        authority = {"cafile": str(certificates / "ca.pem")}
        return {"peers": {"bind": "127.0.0.1:0", **tls(certificates, name), **authority}}

    [north] = brokers.start("north", cluster="closed", **peers("north"))
    [south] = brokers.start("south", cluster="closed", **peers("south"))
    with Device(north, "up") as up, Device(south, "down") as down:
        up.subscribe("links/#")
        down.publish("links/a", "secret")
        assert up.message() == ("links/a", b"secret")
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    # With it a server refuses a client without a certificate in the handshake, and not after it.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)), talk(peers_of(q, "north"), context):
        pass


def peers_of(q: Client, name: str) -> str:
    [broker] = [each for each in q.brokers.list() if each.name == name]
    return str(broker.addresses["peers"])


@contextmanager
def talk(address: str, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    host, _, port = address.partition(":")
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as encrypted,
    ):
        yield encrypted

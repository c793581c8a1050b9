"""Methods of amqtt that are replaced, or that what replaces them stands on, are those we know."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from amqtt.broker import Broker
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from amqtt.mqtt.protocol.handler import ProtocolHandler

#: By name, the beginning of the hash of the source. Where one differs, read what has changed, and
#: what it means for the methods of QuorateBroker and Connection of that name.
KNOWN = {
    Broker._broadcast_message: "78ad4edb7efb3b72",
    Broker._client_connected: "432b724bc4fb7946",
    Broker._create_server_instance: "3925f48239680074",
    Broker._handle_client_session: "8b1b52a03df9daf5",
    Broker._initialize_client_session: "5dd89158bbe46266",
    Broker._session_monitor: "5091fa20cdfdc203",
    Broker.retain_message: "6233eff2618baede",
    Broker.shutdown: "800adcdd80ded223",
    Broker.start: "bd1c165101f6fcbb",
    Broker.stream_connected: "d1c68240cb49f94a",
    BrokerProtocolHandler.handle_pingreq: "de126279f40d7031",
    BrokerProtocolHandler.init_from_connect: "036dc04c1133a18f",
    BrokerProtocolHandler.stop: "70e440da78e7178b",
    ProtocolHandler._handle_message_flow: "610dae5c5d7f3b8d",
    ProtocolHandler._handle_qos1_message_flow: "944e6a8130c70daf",
    ProtocolHandler._handle_qos2_message_flow: "f2d96f1fc4eca34f",
    ProtocolHandler._reader_loop: "93f3b8e4483040d0",
    ProtocolHandler._send_packet: "9f0ae4e325319652",
    ProtocolHandler._stop_waiters: "78a59ebc21c3e9fa",
    ProtocolHandler.handle_puback: "7d8487deb2d589ee",
    ProtocolHandler.handle_pubcomp: "18f7224db6a0d083",
    ProtocolHandler.handle_pubrec: "431df1f8f5ddf1fa",
    ProtocolHandler.mqtt_publish: "30cb8f651cc521c5",
}


@pytest.mark.parametrize("method", KNOWN, ids=lambda method: method.__qualname__)
def test_it_is_as_it_was(method: Callable[..., Any]) -> None:
    source = inspect.getsource(method)

    assert sha256(source.encode()).hexdigest()[:16] == KNOWN[method]

"""Methods of amqtt that are replaced, or that what replaces them stands on, are those we know."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from amqtt.broker import Broker

#: By name, the beginning of the hash of the source. Where one differs, read what has changed, and
#: what it means for the methods of QuorateBroker of that name.
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
}


@pytest.mark.parametrize("method", KNOWN, ids=lambda method: method.__qualname__)
def test_it_is_as_it_was(method: Callable[..., Any]) -> None:
    source = inspect.getsource(method)

    assert sha256(source.encode()).hexdigest()[:16] == KNOWN[method]

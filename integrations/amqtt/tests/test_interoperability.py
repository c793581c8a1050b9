"""The cases of Eclipse Paho's interoperability tests by meaning, with clients of both versions.

| case | test |
| --- | --- |
| Basic, Retained Messages, Zero Length Client Id, Overlapping Subscriptions | here |
| Offline Message Queueing, Will Message, Redelivery on Reconnect, Dollar Topics | here |
| Unsubscribe, Subscribe Failure, Keepalive | here, test_hostile, test_conformance |
| Session Expiry, Will Delay, Message Expiry, User Properties, Payload Format | test_five |
| Request and Response, Subscription Options and Identifiers, Shared Subscriptions | test_five |
| Flow Control, Maximum Packet Size, Assigned Client Id, Server Topic Alias | test_five |
| Server Keep Alive, Client Topic Alias | the broker gives none |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from paho.mqtt.enums import MQTTProtocolVersion

from tests.support.amqtt import BrokerProcess, Device

pytestmark = pytest.mark.ci

Pair = tuple[BrokerProcess, BrokerProcess]
#: Makes a client of one version; `lasting` is whether its session outlives its connection.
Make = Callable[..., Device]


@pytest.fixture(params=[MQTTProtocolVersion.MQTTv311, MQTTProtocolVersion.MQTTv5])
def make(request: pytest.FixtureRequest) -> Make:
    version: MQTTProtocolVersion = request.param

    def made(
        broker: BrokerProcess, client_id: str, *, lasting: bool = False, **options: Any
    ) -> Device:
        if version is MQTTProtocolVersion.MQTTv5:
            options["connect"] = {"SessionExpiryInterval": 600 if lasting else 0}
        else:
            options["clean"] = not lasting
        name = client_id and f"{client_id}-{version}"
        return Device(broker, name, version=version, **options)

    return made


def test_basic(pair: Pair, make: Make) -> None:
    with make(pair[0], "basic") as device:
        assert device.subscribe("basic/#", qos=2) == [2]
        for qos in range(3):
            device.publish("basic/a", str(qos), qos=qos)
        assert sorted(device.message()[1] for _ in range(3)) == [b"0", b"1", b"2"]
        device.disconnect()


def test_retained_messages(pair: Pair, make: Make) -> None:
    with make(pair[0], "retaining") as device:
        for qos in range(3):
            device.publish(f"retained/{qos}", str(qos), qos=qos, retain=True)
        device.subscribe("retained/+", qos=2)
        got = sorted((each.topic, each.qos, each.retain) for each in three(device))
        assert got == [(f"retained/{qos}", qos, True) for qos in range(3)]
        device.unsubscribe("retained/+")
        for qos in range(3):
            device.publish(f"retained/{qos}", "", qos=qos, retain=True)
        device.subscribe("retained/+", "end")
        device.publish("end", "")
        assert device.messages_before("end") == []


def three(device: Device) -> list[Any]:
    return [device.whole_message() for _ in range(3)]


def test_zero_length_client_id(pair: Pair, make: Make) -> None:
    with make(pair[0], "") as one, make(pair[0], "") as two:
        assert not one.refused
        assert not two.refused
        assert one.is_connected


def test_offline_message_queueing(pair: Pair, make: Make) -> None:
    with make(pair[0], "offline", lasting=True) as device:
        device.subscribe("offline/#", qos=2)
        device.disconnect()
    with make(pair[1], "online") as teller:
        for qos in range(3):
            teller.publish("offline/a", str(qos), qos=qos)
    with make(pair[0], "offline", lasting=True) as device:
        assert device.session_present
        device.publish("offline/b", "end", qos=2)
        assert [payload for _, payload in device.messages_before("offline/b")] == [b"1", b"2"]


def test_overlapping_subscriptions(pair: Pair, make: Make) -> None:
    with make(pair[0], "overlapping") as device:
        device.subscribe("laps/#", qos=2)
        device.subscribe("laps/+", qos=1)
        device.publish("laps/a", "x", qos=2)
        assert device.whole_message().qos == 2
        device.publish("laps/end", "")
        assert device.messages_before("laps/end") == []


def test_will_message(pair: Pair, make: Make) -> None:
    with make(pair[1], "mourner") as mourner:
        mourner.subscribe("last/words")
        with make(pair[0], "dying", will=("last/words", b"farewell")):
            pass
        assert mourner.message() == ("last/words", b"farewell")


def test_redelivery_on_reconnect(pair: Pair, make: Make) -> None:
    with make(pair[0], "unacknowledged", lasting=True) as device:
        device.paho.manual_ack_set(True)
        device.subscribe("again/#", qos=2)
        device.publish("again/a", "1", qos=1)
        first = device.whole_message()
    with make(pair[0], "unacknowledged", lasting=True) as device:
        second = device.whole_message()
        assert (second.payload, second.dup, second.mid) == (b"1", True, first.mid)


def test_dollar_topics(pair: Pair, make: Make) -> None:
    with make(pair[0], "dollars") as device:
        device.subscribe("+/a", "end")
        device.paho.publish("$dollars/a", "x", qos=1)
        device.hung_up()


def test_unsubscribe(pair: Pair, make: Make) -> None:
    with make(pair[0], "leaving") as device:
        device.subscribe("leave/a", "leave/b", "leave/c")
        device.unsubscribe("leave/a")
        for name in "abc":
            device.publish(f"leave/{name}", name)
        assert [device.message()[1] for _ in range(2)] == [b"b", b"c"]

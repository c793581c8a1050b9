"""What a client has at one broker it has at another one, whatever becomes of the first."""

from __future__ import annotations

import time

import pytest
from quorate.client import Client
from quorate_mqtt.client import SyncMqtt

from tests.support.amqtt import TENANT, BrokerProcess, Brokers, Device, until

pytestmark = pytest.mark.ci

Pair = tuple[BrokerProcess, BrokerProcess]


def test_a_killed_brokers_clients_go_on_at_another(brokers: Brokers, q: Client) -> None:
    one, two = brokers.start("failing", "staying")
    with Device(two, "watcher") as watcher:
        watcher.subscribe("lamps/#")
        with Device(one, "lamp", clean=False, will=("lamps/lamp", b"lost")) as lamp:
            lamp.subscribe("commands/lamp", "$share/crew/jobs/#")
            lamp.publish("lamps/state", "on", retain=True)
            assert watcher.message() == ("lamps/state", b"on")
            one.kill()
            killed_at = time.monotonic()
        with Device(two, "lamp", clean=False) as lamp:
            assert lamp.session_present
            back_s = time.monotonic() - killed_at
            watcher.publish("commands/lamp", "off")
            assert lamp.message() == ("commands/lamp", b"off")
            watcher.publish("jobs/new", "dig")
            assert lamp.message() == ("jobs/new", b"dig")
            lamp.subscribe("lamps/state")
            assert lamp.message() == ("lamps/state", b"on")
            assert back_s < 3
    mqtt = SyncMqtt(q)
    until(lambda: mqtt.sessions.get(TENANT, "watcher") is None or None)


def test_the_wills_of_a_killed_broker_are_published_once_by_another(brokers: Brokers) -> None:
    one, two = brokers.start("dying", "publishing")
    with Device(two, "heir") as heir, Device(one, "brave", will=("wills/brave", b"gone")) as brave:
        heir.subscribe("wills/#", "end")
        assert brave.is_connected
        one.kill()
        assert heir.message() == ("wills/brave", b"gone")
        heir.publish("end", "")
        assert heir.messages_before("end") == []


def test_a_client_that_connects_elsewhere_is_hung_up_on_at_once(pair: Pair) -> None:
    one, two = pair
    with Device(one, "mover", clean=False) as before:
        before.subscribe("moves/#")
        with Device(two, "mover", clean=False) as after:
            connected_at = time.monotonic()
            before.hung_up()
            assert time.monotonic() - connected_at < 1
            assert after.session_present
            after.publish("moves/it", "yes")
            assert after.message() == ("moves/it", b"yes")


def test_what_waits_for_a_client_goes_to_the_broker_that_it_connects_to(pair: Pair) -> None:
    one, two = pair
    with Device(one, "sleeper", clean=False) as sleeper:
        sleeper.subscribe("dreams/#")
    with Device(two, "teller") as teller:
        for number in range(5):
            teller.publish("dreams/one", str(number))
    with Device(two, "sleeper", clean=False) as sleeper:
        assert [sleeper.message()[1] for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_will_is_published_when_its_client_vanishes_and_not_when_it_takes_leave(
    pair: Pair,
) -> None:
    one, two = pair
    with Device(two, "listener") as listener:
        listener.subscribe("leaving/#")
        with Device(one, "polite", will=("leaving/polite", b"")) as polite:
            polite.disconnect()
        with Device(one, "rude", will=("leaving/rude", b"gone"), retain_will=True):
            pass
        assert listener.message() == ("leaving/rude", b"gone")
    with Device(one, "later") as later:
        later.subscribe("leaving/#")
        assert later.message() == ("leaving/rude", b"gone")


def test_a_clean_session_leaves_nothing(pair: Pair) -> None:
    one, two = pair
    with Device(one, "tidy", clean=False) as tidy:
        tidy.subscribe("kept")
    with Device(two, "tidy") as tidy:
        assert not tidy.session_present
    with Device(one, "tidy", clean=False) as tidy:
        assert not tidy.session_present
        tidy.publish("kept", "nobody")
        tidy.subscribe("end")
        tidy.publish("end", "")
        assert tidy.messages_before("end") == []

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


def test_a_client_that_connects_elsewhere_is_hung_up_on(pair: Pair) -> None:
    one, two = pair
    with Device(one, "mover", clean=False) as before:
        before.subscribe("moves/#")
        with Device(two, "mover", clean=False) as after:
            before.hung_up()
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
        got = [sleeper.message()[1] for _ in range(5)]
    # Those that were published before the other broker knew that it had left took another way.
    assert sorted(got) == [b"0", b"1", b"2", b"3", b"4"]


def test_what_waits_for_a_client_survives_its_broker(brokers: Brokers, q: Client) -> None:
    one, two = brokers.start("forgetting", "reminding")
    with Device(one, "away", clean=False) as away:
        away.subscribe("post/#")
        away.disconnect()
    with Device(one, "here") as here, Device(two, "there") as there:
        for number in range(10):
            here.publish("post/a", str(number), qos=1 + number % 2)
        one.kill()
        for number in range(10, 20):
            there.publish("post/a", str(number))
        there.publish("post/b", "not kept", qos=0)
    with Device(two, "away", clean=False) as away:
        assert away.session_present
        got = [away.whole_message() for _ in range(20)]
        assert [int(each.payload) for each in got] == list(range(20))
        assert not any(each.dup for each in got)
        assert [each.qos for each in got[:2]] == [1, 1]
        away.subscribe("end")
        away.publish("end", "")
        assert away.messages_before("end") == []
    queued = SyncMqtt(q).queued_messages
    until(lambda: not list(queued.list(tenant=TENANT, client_id="away")))


def test_what_was_not_acknowledged_comes_again_at_another_broker(pair: Pair) -> None:
    one, two = pair
    with Device(one, "slow", clean=False) as slow, Device(two, "fast") as fast:
        slow.paho.manual_ack_set(True)
        slow.subscribe("parcels/#")
        for number in range(5):
            fast.publish("parcels/a", str(number))
        got = [slow.whole_message() for _ in range(5)]
        slow.paho.ack(got[0].mid, 1)
        slow.paho.ack(got[1].mid, 1)
        slow.disconnect()
        fast.publish("parcels/a", "5")
    with Device(two, "slow", clean=False) as slow:
        again = [slow.whole_message() for _ in range(4)]
    assert [int(each.payload) for each in again] == [2, 3, 4, 5]
    assert [each.dup for each in again] == [True, True, True, False]
    assert [each.mid for each in again[:3]] == [each.mid for each in got[2:]]


def test_a_client_that_moves_all_the_time_misses_nothing(pair: Pair) -> None:
    """A message that is on its way to the broker before when the client moves is not lost."""
    one, two = pair
    with Device(one, "nomad", clean=False) as nomad:
        nomad.subscribe("trail/#")
    got: list[bytes] = []
    with Device(two, "tracker") as tracker:
        for number in range(24):
            with Device(pair[number % 2], "nomad", clean=False) as nomad:
                tracker.publish("trail/a", str(number))
                if number % 3:
                    got.append(nomad.message()[1])
                nomad.disconnect()
                got += [payload for _, payload in nomad.rest()]
    with Device(one, "nomad", clean=False) as nomad:
        # What the brokers before have written later comes when it is written.
        while {int(each) for each in got} != set(range(24)):
            got.append(nomad.message()[1])


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

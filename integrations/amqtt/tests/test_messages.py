"""Messages reach those who have subscribed, at every broker, and Quorate is not asked for it."""

from __future__ import annotations

import re
import subprocess
import urllib.request
from collections import Counter

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate_mqtt.client import SyncMqtt

from tests.support.amqtt import TENANT, BrokerProcess, Device, mosquitto, no_mosquitto, until

pytestmark = pytest.mark.ci

Pair = tuple[BrokerProcess, BrokerProcess]

needs_mosquitto = pytest.mark.skipif(bool(no_mosquitto()), reason=no_mosquitto())


@pytest.mark.parametrize("published", [0, 1, 2])
@pytest.mark.parametrize("subscribed", [0, 1, 2])
def test_a_message_has_the_lower_quality_of_both_sides(
    pair: Pair, published: int, subscribed: int
) -> None:
    with Device(pair[0], "from") as teller:
        for broker in pair:
            with Device(broker, "to") as listener:
                assert listener.subscribe("q/+", qos=subscribed) == [subscribed]
                teller.publish("q/1", b"\0\xff", qos=published)
                message = listener.whole_message()
                assert (message.topic, message.payload) == ("q/1", b"\0\xff")
                assert message.qos == min(published, subscribed)
                assert not message.retain


def test_messages_of_a_client_keep_their_order_across_brokers(pair: Pair) -> None:
    one, two = pair
    with Device(one, "from") as teller, Device(two, "to") as listener:
        listener.subscribe("order/#", qos=1)
        for number in range(300):
            teller.paho.publish("order/a", str(number), qos=1)
        got = [int(listener.message()[1]) for _ in range(300)]
        assert got == sorted(got) == list(range(300))


def test_two_filters_that_fit_give_a_message_once(pair: Pair) -> None:
    one, _ = pair
    with Device(one, "twice") as device:
        device.subscribe("over/#", "over/+")
        device.publish("over/lap", "x")
        device.subscribe("end")
        device.publish("end", "")
        assert device.messages_before("end") == [("over/lap", b"x")]


def test_what_was_unsubscribed_comes_no_more(pair: Pair) -> None:
    one, two = pair
    with Device(one, "leaver", clean=False) as leaver:
        leaver.subscribe("gone", "end")
        leaver.unsubscribe("gone", "never/had")
        leaver.publish("gone", "x")
        leaver.publish("end", "")
        assert leaver.messages_before("end") == []
    with Device(two, "leaver", clean=False) as leaver:
        leaver.publish("gone", "x")
        leaver.publish("end", "")
        assert leaver.messages_before("end") == []


def test_the_later_of_two_connections_of_a_client_gets_its_messages(pair: Pair) -> None:
    one, _ = pair
    with Device(one, "double") as before, Device(one, "double") as after:
        before.hung_up()
        after.subscribe("doubles/#")
        with Device(one, "sender") as sender:
            sender.publish("doubles/a", "x")
        assert after.message() == ("doubles/a", b"x")


def test_wildcards_do_not_stand_for_topics_of_the_broker(pair: Pair) -> None:
    one, _ = pair
    with Device(one, "curious") as device:
        assert device.subscribe("$SYS/#", "#", "+/b") == [1, 1, 1]


def test_a_retained_message_is_given_to_later_subscribers_of_all_brokers(pair: Pair) -> None:
    one, two = pair
    with Device(one, "from") as teller:
        teller.publish("kept/a", "old", retain=True)
        teller.publish("kept/a", "new", retain=True)
        teller.publish("kept/b", "cleared", retain=True)
        teller.publish("kept/b", "", retain=True)
        teller.subscribe("kept/+")
        first = teller.whole_message()
        assert (first.topic, first.payload, first.retain) == ("kept/a", b"new", True)
        teller.publish("kept/c", "end")
        assert teller.messages_before("kept/c") == []

    def found() -> bool | None:
        with Device(two, "late") as late:
            late.subscribe("kept/#", "end")
            late.publish("end", "")
            return late.messages_before("end") == [("kept/a", b"new")] or None

    assert until(found)


def test_members_of_a_shared_subscription_take_turns_over_brokers(pair: Pair) -> None:
    one, two = pair
    with (
        Device(one, "worker-1") as here,
        Device(two, "worker-2") as there,
        Device(two, "boss") as boss,
    ):
        for worker in (here, there):
            worker.subscribe("$share/crew/jobs/#", "end")
            boss.subscribe("$share/audit/jobs/#")

        def both() -> bool | None:
            """Tell whether both brokers know of both members."""
            for _ in range(2):
                boss.publish("jobs/warm", "")
            boss.publish("end", "")
            return all(len(each.messages_before("end")) == 1 for each in (here, there)) or None

        assert until(both)
        for number in range(40):
            boss.publish("jobs/new", str(number))
        boss.publish("end", "")
        done = [each.messages_before("end") for each in (here, there)]
        assert Counter(len(each) for each in done) == {20: 2}
        assert sorted(int(payload) for each in done for _, payload in each) == list(range(40))
        there.vanish()

        def alone() -> bool | None:
            """Tell whether the broker has noticed: messages that it hands to the dead are lost."""
            for _ in range(2):
                boss.publish("jobs/warm", "")
            boss.publish("end", "")
            return len(here.messages_before("end")) == 2 or None

        assert until(alone)
        for number in range(10):
            boss.publish("jobs/new", str(number))
        assert sorted(int(here.message()[1]) for _ in range(10)) == list(range(10))


def test_a_message_makes_no_call_to_quorate(pair: Pair, cluster: Cluster) -> None:
    one, two = pair
    with Device(one, "from") as teller, Device(two, "to") as listener:
        listener.subscribe("path/#")
        before = calls(cluster)
        for number in range(500):
            teller.paho.publish("path/a", str(number), qos=1)
        for _ in range(500):
            listener.message()
        after = calls(cluster)
    made = {method: count - before[method] for method, count in after.items()}
    # Heartbeats of the brokers are commands, and are as many as without messages.
    assert sum(made.values()) < 50, made


def calls(cluster: Cluster) -> Counter[str]:
    """Return how many calls the nodes have answered, by their methods."""
    found: Counter[str] = Counter()
    for node in cluster.nodes.values():
        with urllib.request.urlopen(f"http://{node.http_address}/metrics") as answer:
            text = answer.read().decode()
        for method, count in re.findall(
            r'^quorate_rpc_calls_total\{.*method="([^"]+)".*\} (\S+)$', text, re.MULTILINE
        ):
            found[method] += int(float(count))
    assert found
    return found


@needs_mosquitto
def test_mosquittos_clients_talk_through_two_brokers(pair: Pair, q: Client) -> None:
    one, two = pair
    listening = subprocess.Popen(
        mosquitto(
            "mosquitto_sub", two, "-t", "m/#", "-v", "-q", "2", "-C", "3", "-c", "-i", "ears"
        ),
        stdout=subprocess.PIPE,
        text=True,
    )
    subscriptions = SyncMqtt(q).subscriptions
    until(lambda: subscriptions.get(TENANT, "ears", "m/#"))
    for number in range(3):
        options = ("-t", f"m/{number}", "-m", str(number), "-q", str(number), "-r")
        subprocess.run(mosquitto("mosquitto_pub", one, *options), check=True, timeout=30)

    said, _ = listening.communicate(timeout=30)

    assert [line for line in said.splitlines() if line.startswith("m/")] == [
        "m/0 0",
        "m/1 1",
        "m/2 2",
    ]
    kept = subprocess.run(
        mosquitto("mosquitto_sub", one, "-t", "m/+", "-v", "-C", "3"),
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert sorted(kept.stdout.splitlines()) == ["m/0 0", "m/1 1", "m/2 2"]

"""What clients of MQTT 5 have that those of 3.1.1 have not, by paho-mqtt's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import Tenant, UpdateTenant
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1 import acl_rules_pb2 as acl, blacklist_pb2 as blacklist

from tests.support.amqtt import TENANT, BrokerProcess, Brokers, Device, properties_of, until

pytestmark = pytest.mark.ci

Pair = tuple[BrokerProcess, BrokerProcess]


def five(broker: BrokerProcess, client_id: str, **options: Any) -> Device:
    """Return a client of MQTT 5; `keep_s` is how long its session outlives its connection."""
    if keep_s := options.pop("keep_s", 0):
        options.setdefault("connect", {})["SessionExpiryInterval"] = keep_s
    return Device(broker, client_id, version=MQTTProtocolVersion.MQTTv5, **options)


def published(**values: Any) -> Any:
    return properties_of(PacketTypes.PUBLISH, **values)


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_properties_of_a_message_go_with_it(pair: Pair, qos: int) -> None:
    one, two = pair
    given = published(
        PayloadFormatIndicator=1,
        ContentType="text/plain",
        ResponseTopic="answers/1",
        CorrelationData=b"\0\1",
        UserProperty=[("k", "v"), ("k", "w")],
        MessageExpiryInterval=1_000,
    )
    with five(one, "asking") as asking, five(two, "answering") as answering:
        answering.subscribe("questions/#", qos=qos)
        asking.publish("questions/a", "?", qos=qos, properties=given)

        message = answering.whole_message()

        assert message.qos == qos
        got = message.properties
        assert 990 <= got.MessageExpiryInterval <= 1_000
        got.MessageExpiryInterval = 1_000
        assert got.json() == given.json()


def test_clients_of_both_versions_talk_to_each_other(pair: Pair) -> None:
    one, two = pair
    with five(one, "new") as new, Device(two, "old") as old:
        new.subscribe("mixed/#")
        old.subscribe("mixed/#")
        new.publish("mixed/a", "1", properties=published(ContentType="x"))
        old.publish("mixed/b", "2")
        for device in (new, old):
            assert sorted(device.message() for _ in range(2)) == [
                ("mixed/a", b"1"),
                ("mixed/b", b"2"),
            ]


def test_a_session_lasts_as_long_as_the_client_says(pair: Pair, q: Client) -> None:
    one, two = pair
    sessions = SyncMqtt(q).sessions
    with five(one, "lasting", keep_s=600, clean_start=True) as lasting:
        assert not lasting.session_present
        lasting.subscribe("lasting/#")
        row = sessions.get(TENANT, "lasting")
        assert row is not None
        assert row.expiry_interval_s == 600
    with five(two, "lasting", keep_s=600) as lasting:
        assert lasting.session_present
        ending = properties_of(PacketTypes.DISCONNECT, SessionExpiryInterval=0)
        lasting.paho.disconnect(properties=ending)
        lasting.hung_up()
    until(lambda: sessions.get(TENANT, "lasting") is None or None)
    with five(one, "brief") as brief:
        brief.subscribe("brief/#")
    until(lambda: sessions.get(TENANT, "brief") is None or None)


def test_a_session_lasts_no_longer_than_the_broker_allows(pair: Pair) -> None:
    with five(pair[0], "eternal", keep_s=0xFFFF_FFFF) as eternal:
        assert eternal.told.SessionExpiryInterval == 86_400
        assert eternal.told.MaximumPacketSize == 1 << 20


def test_a_client_without_an_id_is_told_the_one_it_has(pair: Pair, q: Client) -> None:
    with five(pair[0], "") as nameless:
        name = nameless.told.AssignedClientIdentifier
        assert SyncMqtt(q).sessions.get(TENANT, name) is not None


def test_who_is_taken_over_is_told_so(pair: Pair) -> None:
    one, two = pair
    with five(one, "moving", keep_s=60) as before:
        with five(two, "moving", keep_s=60):
            assert before.farewell() == 0x8E
        with five(two, "moving", keep_s=60) as again, five(two, "moving", keep_s=60):
            assert again.farewell() == 0x8E


def test_a_client_gets_not_what_it_has_published_itself(pair: Pair) -> None:
    one, two = pair
    with five(one, "selfless") as selfless, five(two, "other") as other:
        options = SubscribeOptions(qos=1, noLocal=True)
        for device in (selfless, other):
            device.subscribe("local/#", options=options)
        selfless.publish("local/a", "mine")
        other.publish("local/b", "yours")
        assert selfless.message() == ("local/b", b"yours")
        assert other.message() == ("local/a", b"mine")


def test_retained_messages_are_given_as_the_client_wants_it(pair: Pair) -> None:
    one, _ = pair
    with five(one, "keeper") as keeper:
        keeper.publish(
            "kept5/a",
            "x",
            retain=True,
            properties=published(ContentType="y", UserProperty=("a", "b")),
        )
        assert keeper.subscribe("kept5/a", options=SubscribeOptions(qos=1, retainHandling=2)) == [1]
        keeper.unsubscribe("kept5/a")
        new_only = SubscribeOptions(qos=1, retainHandling=1, retainAsPublished=True)
        assert keeper.subscribe("kept5/a", options=new_only) == [1]
        message = keeper.whole_message()
        assert message.retain
        assert (message.properties.ContentType, message.properties.UserProperty) == (
            "y",
            [("a", "b")],
        )
        assert keeper.subscribe("kept5/a", options=new_only) == [1]
        keeper.publish("kept5/a", "now", retain=True)
        message = keeper.whole_message()
        assert (message.payload, message.retain) == (b"now", True)


def test_a_message_names_the_subscriptions_that_it_comes_by(pair: Pair) -> None:
    one, two = pair
    with five(one, "numbers", keep_s=60, clean_start=True) as device:
        device.subscribe("ids/#", identifier=7)
        device.subscribe("ids/+", identifier=300)
        device.publish("ids/a", "x")
        properties = device.whole_message().properties
        assert sorted(properties.SubscriptionIdentifier) == [7, 300]
    with five(two, "numbers", keep_s=60) as device:
        device.publish("ids/a", "y")
        properties = device.whole_message().properties
        assert sorted(properties.SubscriptionIdentifier) == [7, 300]


def test_a_message_that_has_expired_is_given_to_nobody(pair: Pair, q: Client) -> None:
    one, two = pair
    with five(one, "sleepy", keep_s=60, clean_start=True) as sleepy:
        sleepy.subscribe("milk/#")
    queued = SyncMqtt(q).queued_messages
    with five(two, "shop") as shop:
        shop.publish("milk/old", "sour", properties=published(MessageExpiryInterval=1))
        shop.publish("milk/new", "fresh", properties=published(MessageExpiryInterval=600))
        expired_at = time.time() + 1
    # The first is there as well unless a busy machine queued it so late that it had expired.
    waiting = partial(queued.list, tenant=TENANT, client_id="sleepy")
    until(lambda: any(each.topic == "milk/new" for each in waiting()) or None)
    until(lambda: time.time() > expired_at or None)
    with five(two, "sleepy", keep_s=60) as sleepy:
        assert sleepy.message() == ("milk/new", b"fresh")


def test_a_will_waits_for_its_delay_and_keeps_its_properties(pair: Pair) -> None:
    one, two = pair
    will = properties_of(PacketTypes.WILLMESSAGE, WillDelayInterval=1, ContentType="text/plain")
    with five(two, "heir5") as heir:
        heir.subscribe("wills5/#")
        for back in (True, False):
            with five(
                one, "delayed", keep_s=60, will=("wills5/delayed", b"gone"), will_properties=will
            ):
                gone_at = time.monotonic()
            if back:
                with five(one, "delayed", keep_s=60) as delayed:
                    delayed.disconnect()
        message = heir.whole_message()
        assert time.monotonic() - gone_at > 0.9
        assert (message.topic, message.payload) == ("wills5/delayed", b"gone")
        assert message.properties.ContentType == "text/plain"


def test_a_client_may_leave_with_its_will(pair: Pair) -> None:
    one, two = pair
    with five(two, "heir6") as heir, five(one, "bitter", will=("wills6/a", b"bye")) as bitter:
        heir.subscribe("wills6/#")
        with_will = ReasonCode(PacketTypes.DISCONNECT, identifier=0x04)
        bitter.paho.disconnect(reasoncode=with_will)
        assert heir.message() == ("wills6/a", b"bye")


def test_members_of_a_shared_subscription_take_turns(pair: Pair) -> None:
    one, two = pair
    with five(one, "crew-1") as here, five(one, "crew-2") as there, five(two, "boss5") as boss:
        for worker in (here, there):
            assert worker.subscribe("$share/crew5/jobs5/#") == [1]
            worker.subscribe("end5")

        def both() -> bool | None:
            for _ in range(2):
                boss.publish("jobs5/a", "")
            boss.publish("end5", "")
            return all(len(each.messages_before("end5")) == 1 for each in (here, there)) or None

        assert until(both)


def test_a_client_is_sent_no_more_than_it_can_receive(pair: Pair) -> None:
    one, _ = pair
    connect = {"ReceiveMaximum": 2, "MaximumPacketSize": 200}
    with five(one, "narrow", connect=connect) as narrow, five(one, "wide") as wide:
        narrow.paho.manual_ack_set(True)
        narrow.subscribe("flood/#")
        wide.publish("flood/large", "x" * 300)
        for number in range(4):
            wide.publish("flood/a", str(number))
        got = [narrow.whole_message() for _ in range(2)]
        assert narrow.subscribe("flood/end") == [1]
        assert not narrow.has_message
        for each in got:
            narrow.paho.ack(each.mid, 1)
        got += [narrow.whole_message() for _ in range(2)]
        assert [each.payload for each in got] == [b"0", b"1", b"2", b"3"]


def test_a_topic_alias_ends_the_connection(pair: Pair) -> None:
    with five(pair[0], "alias") as device:
        device.paho.publish("a", "x", qos=1, properties=published(TopicAlias=1))
        assert device.farewell() == 0x94


def test_a_method_of_authentication_is_refused(pair: Pair) -> None:
    with five(pair[0], "scram", connect={"AuthenticationMethod": "SCRAM-SHA-1"}) as device:
        assert device.refused == "Bad authentication method"


def test_what_was_not_subscribed_to_is_said_so(pair: Pair) -> None:
    with five(pair[0], "unsub") as device:
        device.subscribe("one")
        assert device.unsubscribe("one", "two") == [0, 0x11]


@pytest.fixture(scope="module")
def strict(
    cluster: Cluster, q: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """A broker where clients may use topics under their ids alone."""
    SyncMqtt(q).acl_rules.create(
        acl.AclRule(
            tenant=TENANT,
            name="own",
            subject_kind=acl.ACL_SUBJECT_CLIENT_ID,
            subject="*",
            topic="%c/#",
            action=acl.ACL_ACTION_ALL,
            permission=acl.ACL_PERMISSION_ALLOW,
        )
    )
    directory = tmp_path_factory.mktemp("strict")
    with Brokers(directory, cluster.endpoints, allow_unmatched=False) as brokers:
        [strict] = brokers.start("strict")
        yield strict


@pytest.mark.parametrize("qos", [1, 2])
def test_what_is_not_allowed_is_answered_by_its_reason(strict: BrokerProcess, qos: int) -> None:
    with five(strict, "own") as device:
        assert device.subscribe("own/#", "other/#", qos=qos) == [qos, 0x87]
        # paho-mqtt releases a message of quality 2 that was refused, and tells of that answer.
        assert device.publish("other/a", "x", qos=qos) == (0x87 if qos == 1 else 0x92)
        assert device.publish("own/a", "y", qos=qos) == 0
        assert device.message() == ("own/a", b"y")


def test_who_may_not_connect_is_told_why(strict: BrokerProcess, q: Client) -> None:
    mqtt = SyncMqtt(q)
    mqtt.blacklist.create(
        blacklist.BlacklistEntry(
            tenant=TENANT, name="out", kind=blacklist.BLACKLIST_KIND_CLIENT_ID, subject="banned"
        )
    )

    def refused(client_id: str, **options: Any) -> str:
        with five(strict, client_id, **options) as device:
            return device.refused

    assert until(lambda: refused("banned") or None) == "Banned"
    assert refused("x" * 600) == "Client identifier not valid"
    assert refused("u", username="eve", password="x") == "Bad user name or password"
    assert refused("w", will=("other/x", b"")) == "Not authorized"
    q.execute(UpdateTenant(name=TENANT, limits={"mqtt.sessions": 1}), Tenant)
    with five(strict, "first", keep_s=60):
        assert refused("second") == "Quota exceeded"
    q.execute(UpdateTenant(name=TENANT, limits={"mqtt.sessions": 1_000_000}), Tenant)


def test_a_session_that_is_deleted_ends_its_connection(pair: Pair, q: Client) -> None:
    with five(pair[0], "deleted", keep_s=60) as device:
        SyncMqtt(q).sessions.delete(TENANT, "deleted")
        assert device.farewell() == 0x98

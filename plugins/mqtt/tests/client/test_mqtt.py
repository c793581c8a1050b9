"""The helpers against a real node: what they write, they read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

import pytest
from quorate.client import AsyncClient, Client, RejectedError, connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import Access, Action, Mqtt, Reason, SyncMqtt
from quorate_mqtt.v1 import acl_rules_pb2 as acl
from quorate_mqtt.v1.acl_rules_pb2 import AclRule
from quorate_mqtt.v1.auto_subscriptions_pb2 import AutoSubscription
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry
from quorate_mqtt.v1.retained_messages_pb2 import PutRetainedMessageRequest
from quorate_mqtt.v1.rewrite_rules_pb2 import RewriteRule
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectReply,
    DeleteSession,
    DisconnectSession,
    ImportSession,
    SessionConnect,
    UpdateSession,
)
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    DeleteSharedGroupReply,
    JoinSharedGroup,
    LeaveSharedGroup,
    LeaveSharedGroupReply,
    SharedGroup,
    UpdateSharedGroup,
)
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription, SetSubscriptionReply
from quorate_mqtt.v1.topics_pb2 import (
    GrowTopicRequest,
    Topic,
    UpdateTopicRequest,
)
from quorate_mqtt.v1.users_pb2 import CreateUserRequest, UpdateUserRequest
from quorate_mqtt.v1.wills_pb2 import Will

SETTINGS: Mapping[str, Mapping[str, object]] = {
    "timing": QUICK_ELECTIONS,
    "groups": {"mqtt": {"shards": 2}},
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(
        tmp_path_factory.mktemp("mqtt"), nodes=1, plugins=["mqtt"], settings=SETTINGS
    ) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name="north"), Tenant)
        yield cluster


@pytest.fixture
async def q(cluster: Cluster) -> AsyncIterator[AsyncClient]:
    async with connect(cluster.endpoints) as q, asyncio.timeout(60):
        yield q


async def test_users(q: AsyncClient) -> None:
    users = Mqtt(q).users
    ann: dict[str, Any] = {"tenant": "north", "name": "ann"}
    request = CreateUserRequest(**ann, password=b"secret", description="a user")
    made = await users.create(request)

    assert await users.get("north", "ann") == made
    assert await users.get("north", "bob") is None
    assert (await users.authenticate("north", "ann", b"secret")).authenticated
    assert not (await users.authenticate("north", "ann", b"wrong")).authenticated
    changed = await users.update(UpdateUserRequest(**ann, superuser=True))
    assert (changed.superuser, changed.description) == (True, "a user")
    change = UpdateUserRequest(**ann, password=b"other", superuser=False)
    changed = await users.update(change)
    assert not changed.superuser
    assert (await users.authenticate("north", "ann", b"other")).authenticated
    many = [CreateUserRequest(tenant="north", name=name, password=b"x") for name in ("ann", "cem")]
    reply = await users.create(many)
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "ALREADY_EXISTS")]
    listed = [user.name async for user in users.list(tenant="north", page_size=1)]
    assert listed == ["ann", "cem"]
    changes = [UpdateUserRequest(tenant="north", name=name, superuser=True) for name in listed]
    assert not (await users.update(changes)).refusals
    supers = users.list(tenant="north", superuser=True)
    assert [user.name async for user in supers] == listed
    await users.delete("north", "ann")
    gone = await users.delete([("north", name) for name in listed])
    assert gone is not None
    assert [(each.item, each.code) for each in gone.refusals] == [(0, "NOT_FOUND")]
    with pytest.raises(RejectedError, match="NOT_FOUND"):
        await users.delete("north", "ann")


async def test_acl_rules(q: AsyncClient) -> None:
    rules = Mqtt(q).acl_rules
    rule = AclRule(
        tenant="north",
        name="r1",
        subject_kind=acl.ACL_SUBJECT_USER,
        subject="ann",
        topic="a/#",
        action=acl.ACL_ACTION_ALL,
        permission=acl.ACL_PERMISSION_DENY,
    )
    made = await rules.create(rule)
    assert (made.name, made.created_at_ms > 0) == ("r1", True)
    assert await rules.get("north", "r1") == made
    rule.topic = "b/#"
    assert (await rules.update(rule)).topic == "b/#"
    copies = [AclRule.FromString(rule.SerializeToString()) for _ in range(3)]
    for number, copy in enumerate(copies, 1):
        copy.name = f"r{number}"
    reply = await rules.create(copies)
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "ALREADY_EXISTS")]
    reply = await rules.update(copies)
    assert (reply.items, len(reply.refusals)) == (3, 0)
    listed = [each.name async for each in rules.list(tenant="north", page_size=2)]
    assert listed == ["r1", "r2", "r3"]
    await rules.delete("north", "r1")
    reply = await rules.delete([("north", name) for name in listed])
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "NOT_FOUND")]
    assert await rules.get("north", "r2") is None


async def test_the_other_definitions(q: AsyncClient) -> None:
    mqtt = Mqtt(q)
    await mqtt.blacklist.create(
        BlacklistEntry(tenant="north", name="b", kind="BLACKLIST_KIND_USER", subject="eve")
    )
    await mqtt.rewrite_rules.create(
        RewriteRule(
            tenant="north",
            name="w",
            action="REWRITE_ACTION_ALL",
            source_topic="a/#",
            target_topic="b/$1",
            expression="a/(.+)",
        )
    )
    await mqtt.auto_subscriptions.create(
        AutoSubscription(tenant="north", name="s", topic="news/%c", qos=1)
    )

    blacklist = mqtt.blacklist.list(tenant="north")
    rewrites = mqtt.rewrite_rules.list(tenant="north")
    automatic = mqtt.auto_subscriptions.list(tenant="north")
    assert [each.subject async for each in blacklist] == ["eve"]
    assert [each.target_topic async for each in rewrites] == ["b/$1"]
    assert [each.topic async for each in automatic] == ["news/%c"]
    replies = [
        await mqtt.blacklist.delete([("north", "b")]),
        await mqtt.rewrite_rules.delete([("north", "w")]),
        await mqtt.auto_subscriptions.delete([("north", "s")]),
    ]
    assert [(reply.items, len(reply.refusals)) for reply in replies] == [(1, 0)] * 3


async def test_topics(q: AsyncClient) -> None:
    topics = Mqtt(q).topics
    made = await topics.create(Topic(tenant="north", name="a/b", partitions=1, replication=1))
    assert await topics.get("north", "a/b") == made
    growth = GrowTopicRequest(tenant="north", name="a/b", partitions=4)
    assert (await topics.do("Grow", growth, Topic)).partitions == 4
    update = Topic(tenant="north", name="a/b", description="new")
    assert (await topics.update(update)).description == "new"
    updates = [
        UpdateTopicRequest(tenant="north", name=name, description="newer") for name in ("a/b", "no")
    ]
    reply = await topics.do("Update", updates)
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "NOT_FOUND")]
    growth = GrowTopicRequest(tenant="north", name="a/b", partitions=5)
    assert not (await topics.do("Grow", [growth])).refusals
    grown = await topics.get("north", "a/b")
    assert grown is not None
    assert (grown.description, grown.partitions) == ("newer", 5)
    more = [Topic(tenant="north", name=name, partitions=1, replication=1) for name in ("a/b", "c")]
    reply = await topics.create(more)
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "ALREADY_EXISTS")]
    listed = topics.list(tenant="north", topic_filter="a/+")
    assert [each.name async for each in listed] == ["a/b"]
    assert (await topics.delete("north", "a/b")).deleting_at_ms > 0
    reply = await topics.delete([("north", "c"), ("north", "no")])
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "NOT_FOUND")]
    for name in ("a/b", "c"):
        while await topics.get("north", name) is not None:
            await asyncio.sleep(0.005)


async def test_retained_messages(q: AsyncClient) -> None:
    retained = Mqtt(q).retained_messages
    named: dict[str, Any] = {"tenant": "north", "topic": "a/b"}
    message = PutRetainedMessageRequest(
        **named, payload=b"x", qos=1, properties=b"p", expiry_ms=60_000
    )
    stamp: Any = await retained.put(message)
    found = await retained.get("north", "a/b")
    assert found is not None
    assert (found.payload, found.qos, found.properties) == (b"x", 1, b"p")
    assert found.expires_at_ms == stamp.expires_at_ms == stamp.stored_at_ms + 60_000
    stamp = await retained.put(PutRetainedMessageRequest(**named, payload=b"y"))
    assert stamp.expires_at_ms == 0
    many = [
        PutRetainedMessageRequest(tenant="north", topic=f"n/{number}", payload=b"z")
        for number in range(3)
    ]
    reply = await retained.put(many)
    assert (reply.items, len(reply.refusals)) == (3, 0)
    listed = retained.list(tenant="north", topic_filter="n/#", page_size=2)
    assert [each.topic async for each in listed] == ["n/0", "n/1", "n/2"]
    await retained.delete("north", "a/b")
    await retained.delete("north", "a/b")
    await retained.delete([("north", message.topic) for message in many])
    assert await retained.get("north", "n/0") is None


async def test_sessions_that_are_imported(q: AsyncClient) -> None:
    sessions = Mqtt(q).sessions
    wanted = [
        ImportSession(
            tenant="north", client_id=f"i{number}", expiry_interval_s=60, payload=b"%d" % number
        )
        for number in range(3)
    ]
    await sessions.import_one(wanted[0])
    wanted[1].new_only = True
    await sessions.import_one(wanted[1])
    reply = await sessions.import_many(wanted)

    assert [(each.item, each.code) for each in reply.refusals] == [(1, "ALREADY_EXISTS")]
    found = await sessions.get_many("north", [each.client_id for each in wanted])
    assert {name: each.payload for name, each in found.items()} == {
        "i0": b"0",
        "i1": b"1",
        "i2": b"2",
    }
    reply = await sessions.delete_many(
        DeleteSession(
            tenant="north", client_id=each.client_id, expected_revision=each.revision + more
        )
        for more, each in enumerate(found.values())
    )
    assert [(each.item, each.code) for each in reply.refusals] == [
        (1, "REVISION_MISMATCH"),
        (2, "REVISION_MISMATCH"),
    ]


async def test_sessions_subscriptions_and_groups(q: AsyncClient) -> None:
    mqtt = Mqtt(q)
    async with q.brokers.registered("b1", "test", roles=["mqtt"]) as registration:
        epoch = registration.broker.epoch
        connection = SessionConnect(
            tenant="north", client_id="c1", connection_id=1, expiry_interval_s=60, payload=b"p"
        )
        first = await mqtt.sessions.connect("b1", epoch, connection)
        assert not first.session_present
        others = [
            SessionConnect(
                tenant="north", client_id=f"c{number}", connection_id=1, expiry_interval_s=60
            )
            for number in (2, 3)
        ]
        reply = await mqtt.sessions.connect_many("b1", epoch, others)
        assert not reply.refusals
        second, third = map(ConnectReply.FromString, reply.replies)
        assert await mqtt.sessions.connections() == {epoch: 3}
        assert await mqtt.sessions.get("north", "nobody") is None
        many = await mqtt.sessions.get_many("north", ["c1", "nobody", "c3"])
        assert {name: each.generation for name, each in many.items()} == {
            "c1": first.generation,
            "c3": third.generation,
        }

        await mqtt.sessions.update("north", "c1", first.generation, payload=b"q")
        found = await mqtt.sessions.get("north", "c1")
        assert found is not None
        assert (found.payload, found.expiry_interval_s) == (b"q", 60)
        with pytest.raises(RejectedError, match="TAKEN_OVER"):
            await mqtt.sessions.update("north", "c1", first.generation + 1, payload=b"r")
        reply = await mqtt.sessions.update_many(
            UpdateSession(tenant="north", client_id=name, generation=generation, payload=b"s")
            for name, generation in (("c1", first.generation), ("c2", 1 << 60))
        )
        assert [(each.item, each.code) for each in reply.refusals] == [(1, "TAKEN_OVER")]

        subscription = SetSubscription(
            tenant="north", client_id="c1", filter="a/+", generation=first.generation, qos=1
        )
        with pytest.raises(TypeError, match="Set answers SetSubscriptionReply, not Topic"):
            await mqtt.subscriptions.do("Set", subscription, Topic)
        subscription.filter = "a/b/+"
        assert (await mqtt.subscriptions.do("Set", subscription, SetSubscriptionReply)).created
        again = await mqtt.subscriptions.do("Set", subscription, SetSubscriptionReply)
        assert not again.created
        more = [
            SetSubscription(tenant="north", client_id="c1", filter=name) for name in ("x", "y", "z")
        ]
        reply = await mqtt.subscriptions.do("Set", more)
        assert (reply.items, len(reply.refusals)) == (3, 0)
        await mqtt.subscriptions.delete("north", "c1", "x")
        assert await mqtt.subscriptions.get("north", "c1", "x") is None
        kept = await mqtt.subscriptions.get("north", "c1", "a/+")
        assert kept is not None
        assert kept.subscription.qos == 1
        await mqtt.subscriptions.delete([("north", "c1", "y")])
        listed = [
            each.filter
            async for each in mqtt.subscriptions.list(tenant="north", client_id="c1", page_size=1)
        ]
        assert listed == ["a/+", "a/b/+", "z"]

        member = JoinSharedGroup(
            tenant="north",
            group="g",
            client_id="c1",
            filter="a/#",
            broker="b1",
            broker_epoch=epoch,
        )
        group = await mqtt.shared_group_members.do("Join", member, SharedGroup)
        assert (group.leader, group.leader_epoch) == ("b1", epoch)
        created = await mqtt.shared_groups.create(CreateSharedGroup(tenant="north", name="g"))
        assert created == group
        update = UpdateSharedGroup(tenant="north", name="g", parameters=b"p")
        assert (await mqtt.shared_groups.update(update)).parameters == b"p"
        joined = await mqtt.shared_group_members.do("Join", [member])
        assert not joined.refusals
        keyed = await mqtt.shared_groups.get("north", "g")
        assert keyed is not None
        assert keyed.group.parameters == b"p"
        groups = mqtt.shared_groups.list(leader="b1")
        assert [each.name async for each in groups] == ["g"]
        members = mqtt.shared_group_members.list(tenant="north")
        assert [each.client_id async for each in members] == ["c1"]
        leaving = LeaveSharedGroup(
            tenant="north", group="g", client_id="c1", filter="a/#", broker_epoch=epoch
        )
        assert (await mqtt.shared_group_members.do("Leave", leaving, LeaveSharedGroupReply)).left
        assert not (await mqtt.shared_group_members.do("Leave", [leaving])).refusals
        assert (await mqtt.shared_groups.delete("north", "g")).deleted
        made = await mqtt.shared_groups.create(
            CreateSharedGroup(tenant="north", name=name) for name in ("h", "i")
        )
        assert [SharedGroup.FromString(each).leader for each in made.replies] == ["b1", "b1"]
        changed = await mqtt.shared_groups.update(
            UpdateSharedGroup(tenant="north", name=name, parameters=b"q") for name in ("h", "no")
        )
        assert [(each.item, each.code) for each in changed.refusals] == [(1, "NOT_FOUND")]
        gone = await mqtt.shared_groups.delete([("north", name) for name in ("h", "i", "no")])
        deleted = [DeleteSharedGroupReply.FromString(each).deleted for each in gone.replies]
        assert deleted == [True, True, False]

        sessions = mqtt.sessions.list(tenant="north", broker="b1", page_size=2)
        assert [each.client_id async for each in sessions] == ["c1", "c2", "c3"]
        assert not (await mqtt.sessions.disconnect("north", "c1", first.generation)).ended
        await mqtt.sessions.disconnect_many(
            DisconnectSession(tenant="north", client_id=name, generation=generation)
            for name, generation in (("c2", second.generation), ("c3", third.generation))
        )
        assert await mqtt.sessions.connections() == {}
        assert await mqtt.sessions.delete("north", "c1")
        assert not await mqtt.sessions.delete("north", "c1")
        await mqtt.sessions.delete_many(
            [DeleteSession(tenant="north", client_id=name) for name in ("c2", "c3")]
        )
        assert await mqtt.subscriptions.get("north", "c1", "a/+") is None


async def test_a_will_is_published_once_and_acknowledged(q: AsyncClient) -> None:
    mqtt = Mqtt(q)
    async with q.brokers.registered("b1", "test", roles=["mqtt"]) as registration:
        epoch = registration.broker.epoch
        will = Will(topic="gone", payload=b"bye")
        connection = SessionConnect(
            tenant="north", client_id="w1", connection_id=1, expiry_interval_s=60, will=will
        )
        connected = await mqtt.sessions.connect("b1", epoch, connection)
        assert await mqtt.wills.get("north", "w1") == will
        await mqtt.sessions.disconnect("north", "w1", connected.generation)

        async with aclosing(mqtt.wills.due(epoch)) as due:
            async for delivery in due:
                assert (delivery.tenant, delivery.client_id) == ("north", "w1")
                assert delivery.delivery.will == will
                break
        waiting = mqtt.wills.deliveries(assignee="b1")
        assert [each async for each in waiting] == [delivery]
        assert await mqtt.wills.acknowledge(delivery)
        assert not await mqtt.wills.acknowledge(delivery)
        assert not (await mqtt.wills.acknowledge_many([delivery])).refusals
        await mqtt.sessions.delete("north", "w1")


async def test_a_broker_that_is_not_registered_is_refused(q: AsyncClient) -> None:
    mqtt = Mqtt(q)
    async with q.brokers.registered("b1", "test", roles=["mqtt"]) as registration:
        epoch = registration.broker.epoch
        connection = SessionConnect(tenant="north", client_id="f1", connection_id=1)
        await mqtt.sessions.connect("b1", epoch, connection)
        await q.brokers.register("b1", "test", roles=["mqtt"])

        async def until_refused() -> None:
            # The copy of the registration that this shard has may lag a little.
            while True:
                await mqtt.sessions.connect("b1", epoch, connection)

        with pytest.raises(RejectedError, match="FENCED"):
            await until_refused()
        await mqtt.sessions.delete("north", "f1")


async def test_a_cache_decides_as_the_cluster_does(q: AsyncClient) -> None:
    mqtt = Mqtt(q)
    access = Access(client_id="c1", action=Action.PUBLISH, topic="a/b")
    async with mqtt.following_access() as cache:
        assert cache.decide("north", access).reason is Reason.NO_RULE
        await mqtt.acl_rules.create(
            AclRule(
                tenant="north",
                name="no-a",
                subject_kind=acl.ACL_SUBJECT_CLIENT_ID,
                subject="*",
                topic="a/#",
                action=acl.ACL_ACTION_PUBLISH,
                permission=acl.ACL_PERMISSION_DENY,
            )
        )
        decided = await mqtt.check_access("north", access)
        assert (decided.reason, decided.decided_by) == (Reason.DENIED_BY_RULE, "no-a")
        while cache.decide("north", access) != decided:
            await asyncio.sleep(0.005)
        await mqtt.acl_rules.delete("north", "no-a")
        while not cache.decide("north", access).allowed:
            await asyncio.sleep(0.005)
    unmatched = await mqtt.check_access("north", access, allow_unmatched=False)
    assert not unmatched.allowed


def test_the_twin_does_the_same(cluster: Cluster) -> None:
    with Client(cluster.endpoints) as q:
        mqtt = SyncMqtt(q)
        message = PutRetainedMessageRequest(tenant="north", topic="t", payload=b"x")
        mqtt.retained_messages.put(message)
        listed = mqtt.retained_messages.list(tenant="north")
        assert [each.topic for each in listed] == ["t"]
        mqtt.retained_messages.delete("north", "t")
        access = Access(client_id="c1", action=Action.CONNECT)
        assert mqtt.check_access("north", access).allowed
        mqtt.users.create(CreateUserRequest(tenant="north", name="dan", password=b"x"))
        assert mqtt.users.get("north", "dan") is not None
        mqtt.users.delete("north", "dan")
        assert mqtt.acl_rules.get("north", "r") is None
        assert mqtt.topics.get("north", "r") is None
        assert mqtt.sessions.get("north", "r") is None

import pytest
from quorate_name_server.brokers import registering
from quorate_name_server.families import (
    ADDRESSES,
    BROKERS,
    DEPARTED,
    GROUP,
    MAPPINGS,
    QUEUES,
    TOPICS_OF_BROKERS,
)
from quorate_name_server.routes.known import KnownRoutes
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

from plugins.name_server.tests.memory import Names, Node, registration, topics, version

DOORS = ("n1", "n2")


async def test_a_member_that_says_nothing_more_is_removed(names: Names, node: Node) -> None:
    await names.register(registration())
    await node.advance(119_000)
    assert await names.perms() == {"broker-a": 6}

    assert await names.heartbeat()
    await node.advance(119_000)
    assert await names.perms() == {"broker-a": 6}

    await node.advance(1_001)
    assert await names.perms() == {}
    assert not await names.heartbeat()


async def test_a_member_says_how_long_it_lives(names: Names, node: Node) -> None:
    await names.register(registration(heartbeat_timeout_ms=10_000))
    await node.advance(10_000)
    assert await names.perms() == {}


async def test_a_registration_that_stands_prolongs_a_life(names: Names, node: Node) -> None:
    await names.register(registration())
    await node.advance(100_000)
    await names.register(registration())
    await node.advance(100_000)
    assert await names.perms() == {"broker-a": 6}


async def test_a_new_leader_waits_for_a_whole_timeout(names: Names, node: Node) -> None:
    await names.register(registration())
    await node.advance(100_000)
    node.elect(GROUP)

    await node.advance(100_000)
    assert await names.perms() == {"broker-a": 6}
    await node.advance(20_000)
    assert await names.perms() == {}


async def test_heartbeats_that_come_often_are_not_proposed(names: Names, node: Node) -> None:
    await names.register(registration(heartbeat_timeout_ms=10_000))
    node.proposals.clear()

    for _ in range(100):
        await node.advance(1_000)
        assert await names.heartbeat()

    assert await names.perms() == {"broker-a": 6}
    assert len(node.proposals) <= 40


async def test_a_heartbeat_needs_no_name(names: Names, node: Node) -> None:
    await names.register(registration())
    await node.advance(100_000)
    assert await names.heartbeat(name="")
    await node.advance(100_000)
    assert await names.perms() == {"broker-a": 6}


async def test_an_unregistration_names_what_it_saw(names: Names) -> None:
    [first] = await names.register(registration())
    assert await names.unregister(registration=first.registration)
    assert await names.perms() == {}

    [second] = await names.register(registration())
    assert not await names.unregister(registration=first.registration)
    assert await names.perms() == {"broker-a": 6}
    assert await names.unregister(registration=second.registration)
    assert not await names.unregister()


async def test_a_member_stays_while_any_door_holds_its_connection(names: Names, node: Node) -> None:
    for door in DOORS:
        await names.register(registration(door=door))

    assert not await names.unregister(door="n1")
    assert await names.perms() == {"broker-a": 6}
    assert not await names.unregister(door="n1")
    assert await names.unregister(door="n2")
    assert await names.perms() == {}


async def test_a_member_leaves_whatever_doors_it_has(names: Names) -> None:
    for door in DOORS:
        await names.register(registration(door=door))
    assert await names.unregister()
    assert await names.perms() == {}


async def test_many_members_that_die_at_once_go_in_one_command(names: Names, node: Node) -> None:
    said = [
        registration(name=f"broker-{number:03}", address=f"10.0.0.{number}:10911")
        for number in range(200)
    ]
    await names.register(*said)
    assert len(await names.perms()) == 200
    node.proposals.clear()

    await node.advance(120_000)

    assert await names.perms() == {}
    assert [type(each) for each in node.proposals] == [pb.ExpireMembers]


async def test_what_a_broker_leaves_behind_is_swept(names: Names, node: Node) -> None:
    mapping = pb.TopicQueueMapping(topic="orders", mapping=rows.QueueMapping(total_queues=1))
    many = topics(*(f"topic-{number:04}" for number in range(2_500)))
    await names.register(registration(topics=many, mappings=[mapping]))
    await names.unregister()
    assert await names.perms("topic-0000") == {}
    assert len(node.rows(QUEUES)) == 2_500

    await node.run_woken()

    for family in (BROKERS, QUEUES, MAPPINGS, TOPICS_OF_BROKERS, ADDRESSES, DEPARTED):
        assert node.rows(family) == {}, family
    known = node.cache(KnownRoutes)
    known.changes = 0
    assert known == KnownRoutes()


async def test_a_broker_that_comes_again_has_nothing_of_what_it_left(
    names: Names, node: Node
) -> None:
    await names.register(registration())
    await names.unregister()
    await names.register(registration(topics=topics("orders", "new")))

    assert await names.topics() == ["new", "orders"]
    await node.run_woken()
    assert await names.topics() == ["new", "orders"]
    [reply] = (await names.do(pb.WipeWritePermission(names=["broker-a"]))).replies
    assert pb.WritePermission.FromString(reply).topics == 2


async def test_a_broker_that_left_very_much_behind_waits_until_it_is_swept(
    names: Names, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registering, "MOST_LEFT", 1)
    await names.register(registration())
    await names.unregister()
    assert await names.refusals(registration()) == ["UNAVAILABLE"]
    await node.run_woken()
    await names.register(registration())
    assert await names.topics() == ["bills", "orders"]


async def test_write_permission_is_wiped_and_given_back_as_it_was(names: Names) -> None:
    await names.register(registration(topics=topics("orders") + topics("TBW102", perm=7)))

    reply = await names.do(pb.WipeWritePermission(names=["broker-a", "broker-b"]))
    assert [pb.WritePermission.FromString(each).topics for each in reply.replies] == [2, 0]
    assert await names.perms() == {"broker-a": 4}
    # A registration of another version does not end it.
    await names.register(registration(data_version=version(2)))
    assert await names.perms() == {"broker-a": 4}

    reply = await names.do(pb.AddWritePermission(names=["broker-a"]))
    assert [pb.WritePermission.FromString(each).topics for each in reply.replies] == [3]
    assert await names.perms() == {"broker-a": 6}
    assert await names.perms("TBW102") == {"broker-a": 7}


async def test_a_broker_that_was_away_may_be_written_again(names: Names) -> None:
    await names.register(registration())
    await names.register(registration(id=1, address="10.0.0.2:10911"))
    await names.do(pb.WipeWritePermission(names=["broker-a"]))
    await names.unregister()
    await names.register(registration())
    assert await names.perms() == {"broker-a": 6}

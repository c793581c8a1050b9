from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal
from quorate_name_server.brokers.confirming import confirm
from quorate_name_server.v1 import service_pb2 as answers

from plugins.name_server.tests.memory import Names, Node, registration, topics, version

AVAILABLE = answers.READ_MODE_AVAILABLE
NEW = {"name": "broker-b", "address": "10.0.0.3:10911"}


async def routes(names: Names, *asked: str) -> answers.Routes:
    request = answers.GetRoutesRequest(topics=asked, mode=AVAILABLE)
    return await names.service.GetRoutes(request, None)


async def listed(names: Names) -> list[str]:
    page = await names.service.ListTopics(answers.ListTopicsRequest(mode=AVAILABLE), None)
    return list(page.topics)


async def test_routes_stay_when_the_majority_is_gone(names: Names, node: Node) -> None:
    await names.register(registration())
    node.alone = True

    found = await routes(names, "orders")

    assert [each.topic for each in found.routes] == ["orders"]
    assert found.state == answers.AnswerState(mode=AVAILABLE, age_ms=0)


async def test_a_broker_that_no_majority_confirmed_has_routes_that_say_so(
    names: Names, node: Node
) -> None:
    await names.register(registration())
    node.alone = True

    [registered] = await names.register(registration(**NEW, topics=topics("orders", "new")))

    assert registered.unconfirmed
    found = await routes(names, "orders", "new", "bills")
    assert [[each.broker for each in route.queues] for route in found.routes] == [
        ["broker-a", "broker-b"],
        ["broker-b"],
        ["broker-a"],
    ]
    assert list(found.state.unconfirmed) == ["broker-b"]
    assert [
        (broker.name, member.unconfirmed)
        for broker in found.routes[0].brokers
        for member in broker.members
    ] == [("broker-a", False), ("broker-b", True)]
    assert await listed(names) == ["bills", "new", "orders"]
    brokers = await names.service.GetBrokers(answers.GetBrokersRequest(cluster="C1"), None)
    assert [each.name for each in brokers.brokers] == ["broker-a", "broker-b"]
    assert list(brokers.state.unconfirmed) == ["broker-b"]


async def test_a_node_without_memory_answers_from_its_rows(
    names: Names, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was restarted, and does not know how old its rows are."""
    await names.register(registration())
    node.alone = True
    monkeypatch.setattr(node, "cache_age_ms", lambda kind: -1)
    await names.register(registration(**NEW, topics=topics("new", "orders")))

    found = await routes(names, "orders", "new")

    assert [[each.broker for each in route.queues] for route in found.routes] == [
        ["broker-a", "broker-b"],
        ["broker-b"],
    ]
    assert list(found.state.unconfirmed) == ["broker-b"]
    assert await listed(names) == ["bills", "new", "orders"]
    brokers = await names.service.GetBrokers(answers.GetBrokersRequest(mode=AVAILABLE), None)
    assert [each.name for each in brokers.brokers] == ["broker-a", "broker-b"]


async def test_what_was_received_takes_the_place_of_what_was_known(
    names: Names, node: Node
) -> None:
    await names.register(registration())
    node.alone = True

    said = {"address": "10.0.0.9:10911", "data_version": version(2)}
    await names.register(registration(**said, topics=topics("orders", "more", perm=4)))

    [route] = (await routes(names, "orders")).routes
    assert [each.queues.perm for each in route.queues] == [4]
    assert [each.address for each in route.brokers[0].members] == ["10.0.0.9:10911"]


async def test_topics_that_change_later_join_those_received_before(
    names: Names, node: Node
) -> None:
    node.alone = True
    await names.register(registration())
    await names.register(registration(data_version=version(2), topics=topics("orders", perm=4)))
    node.alone = False

    await confirm(node)

    assert await names.perms("orders") == {"broker-a": 4}
    assert await names.perms("bills") == {"broker-a": 6}


async def test_a_life_that_cannot_be_prolonged_is_not_remembered(names: Names, node: Node) -> None:
    [first] = await names.register(registration())
    node.alone = True
    [registered] = await names.register(registration())
    assert registered.unconfirmed
    # Who closes the member's connection later names what stands.
    assert registered.registration == first.registration
    assert not list((await routes(names, "orders")).state.unconfirmed)


async def test_a_slave_learns_of_its_master_without_a_majority(names: Names, node: Node) -> None:
    await names.register(registration())
    node.alone = True
    [slave] = await names.register(registration(id=1, address="10.0.0.2:10911"))
    assert (slave.unconfirmed, slave.master_address) == (True, "10.0.0.1:10911")


async def test_it_is_confirmed_once_there_is_a_majority(names: Names, node: Node) -> None:
    node.alone = True
    await names.register(registration())
    with pytest.raises(Rejected):
        await confirm(node)
    assert len(names.service._known.unconfirmed) == 1

    node.alone = False
    await confirm(node)

    assert len(names.service._known.unconfirmed) == 0
    assert await names.perms() == {"broker-a": 6}


async def test_a_life_counts_from_when_it_was_received(names: Names, node: Node) -> None:
    node.alone = True
    await names.register(registration())
    await node.advance(100_000)
    node.alone = False
    await confirm(node)
    assert await names.perms() == {"broker-a": 6}

    await node.advance(20_000)
    assert await names.perms() == {}


async def test_what_was_received_is_forgotten_after_its_timeout(names: Names, node: Node) -> None:
    node.alone = True
    await names.register(registration(heartbeat_timeout_ms=10_000))
    await node.advance(10_000)
    assert not (await routes(names, "orders")).routes
    assert await listed(names) == []


async def test_what_is_known_since_is_not_overwritten(names: Names, node: Node) -> None:
    """Another node has heard of the member later, or of another process in its place."""
    node.alone = True
    await names.register(registration(topics=topics("orders", "old")))
    pending = names.service._known.unconfirmed.pending
    await node.advance(1_000)
    node.alone = False
    other = Names(node)
    late = pending()[0][1]
    await other.register(registration(data_version=version(2)))

    [answer] = await other.register(late)
    assert not answer.changed
    assert await names.perms("old") == {}

    await other.register(registration(address="10.0.0.9:10911", data_version=version(3)))
    assert await other.refusals(late) == ["OLDER_STATE"]


async def test_there_is_room_for_so_many_bytes(node: Node, names: Names) -> None:
    names.service._known.unconfirmed.most_bytes = registration().ByteSize()
    node.alone = True
    await names.register(registration())
    await names.register(registration())
    assert await names.refusals(registration(**NEW)) == ["UNAVAILABLE"]
    await node.advance(120_000)
    await names.register(registration(**NEW))


async def test_a_member_that_leaves_is_forgotten(names: Names, node: Node) -> None:
    node.alone = True
    await names.register(registration())
    with pytest.raises(Rejected):
        await names.unregister()
    assert not (await routes(names, "orders")).routes


async def test_of_many_that_were_received_each_ends_in_its_own_time(
    names: Names, node: Node
) -> None:
    node.alone = True
    for number, timeout_ms in enumerate((30_000, 10_000, 20_000)):
        said = {"name": f"broker-{number}", "address": f"10.0.0.{number}:10911"}
        await names.register(registration(**said, heartbeat_timeout_ms=timeout_ms))
    for expected in (["broker-0", "broker-2"], ["broker-0"], []):
        await node.advance(10_000)
        found = await routes(names, "orders")
        assert [each.name for route in found.routes for each in route.brokers] == expected
    assert len(names.service._known.unconfirmed) == 0


async def test_of_a_large_table_nothing_follows_a_piece_that_was_lost(
    names: Names, node: Node
) -> None:
    many = [f"{number:05}{'x' * 200}" for number in range(2_000)]
    node.lost = 1

    [registered] = await names.register(registration(topics=topics(*many)))

    assert registered.unconfirmed
    assert len(node.proposals) == 1
    await confirm(node)
    assert await names.topics() == sorted(many)


async def test_of_a_large_table_nothing_follows_a_piece_that_was_refused(
    names: Names, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [f"{number:05}{'x' * 200}" for number in range(2_000)]
    await names.register(registration(topics=topics(*many)))
    changed = registration(data_version=version(2), topics=topics(*many, perm=4))
    node.alone = True
    await names.register(changed)
    node.alone = False
    propose = node.propose

    async def refuse_first(command: Any, reply: Any) -> Any:
        monkeypatch.setattr(node, "propose", propose)
        return BatchReply(items=1, refusals=[ItemRefusal(code="UNAVAILABLE")], replies=[b""])

    monkeypatch.setattr(node, "propose", refuse_first)
    await confirm(node)
    await names.register(changed)

    assert [await names.perms(each) for each in many[:2]] == [{"broker-a": 4}] * 2


async def test_topics_stay_while_one_of_two_members_has_them(names: Names, node: Node) -> None:
    node.alone = True
    await names.register(registration())
    await names.register(registration(id=1, address="10.0.0.2:10911"))

    with pytest.raises(Rejected):
        await names.unregister(address="10.0.0.2:10911")

    [route] = (await routes(names, "orders")).routes
    assert [each.address for each in route.brokers[0].members] == ["10.0.0.1:10911"]


async def test_topics_received_before_a_later_heartbeat_are_not_lost(
    names: Names, node: Node
) -> None:
    await names.register(registration())
    node.alone = True
    await names.register(registration(data_version=version(2), topics=topics("orders", "new")))
    await node.advance(40_000)
    node.alone = False
    assert await names.heartbeat()

    await confirm(node)

    assert await names.perms("new") == {"broker-a": 6}
    # The life is that of the heartbeat.
    await node.advance(119_000)
    assert await names.perms("new") == {"broker-a": 6}

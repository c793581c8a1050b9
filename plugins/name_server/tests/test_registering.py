from typing import Any

import pytest
from quorate_name_server.families import QUEUES, TOPICS_OF_BROKERS
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

from plugins.name_server.tests.memory import Names, Node, registration, topics, version

SLAVE = {"id": 1, "address": "10.0.0.2:10911", "ha_address": "10.0.0.2:10912"}


async def test_a_topic_of_a_registered_broker_has_a_route(names: Names) -> None:
    [registered] = await names.register(registration())

    assert registered.changed
    assert await names.perms("orders") == {"broker-a": 6}
    assert await names.perms("none") == {}
    route = await names.route("orders")
    assert route is not None
    assert [each.address for each in route.brokers[0].members] == ["10.0.0.1:10911"]


async def test_a_registration_whose_data_version_stands_writes_nothing(
    names: Names, node: Node
) -> None:
    [first] = await names.register(registration())
    events, proposed = len(node.events), len(node.proposals)

    [again] = await names.register(registration())

    assert (again.registration, again.changed) == (first.registration, False)
    assert len(node.events) == events
    [command] = node.proposals[proposed:]
    assert isinstance(command, pb.RegisterBrokers)
    assert not command.brokers[0].topics


@pytest.mark.parametrize(
    "said",
    [
        {"ha_address": "10.0.0.1:1"},
        {"zone": "z2"},
        {"heartbeat_timeout_ms": 10_000},
        {"enable_acting_master": True},
        {"door": "n1"},
        {"filter_servers": pb.FilterServers(addresses=["10.0.0.9:1"])},
        {"data_version": version(2)},
    ],
)
async def test_what_else_a_registration_says_is_written(
    names: Names, said: dict[str, object]
) -> None:
    await names.register(registration())
    [registered] = await names.register(registration(**said))
    assert registered.changed


async def test_an_incremental_registration_changes_its_topics_alone(names: Names) -> None:
    await names.register(registration())

    await names.register(registration(data_version=version(2), topics=topics("orders", perm=4)))

    assert await names.perms("orders") == {"broker-a": 4}
    assert await names.perms("bills") == {"broker-a": 6}
    assert await names.topics() == ["bills", "orders"]


async def test_topics_that_stand_are_read_and_not_written(names: Names, node: Node) -> None:
    await names.register(registration())
    node.events.clear()

    await names.register(registration(data_version=version(2)))

    assert [each.family for each in node.events if hasattr(each, "family")] == [
        "name_server.brokers"
    ]


async def test_with_the_same_version_only_topics_that_are_not_there_are_written(
    names: Names,
) -> None:
    await names.register(registration())

    said = topics("orders", perm=4) + topics("new", "bills")
    await names.register(registration(topics=said))

    assert await names.perms("orders") == {"broker-a": 6}
    assert await names.perms("new") == {"broker-a": 6}


async def test_one_topic_is_no_first_registration(names: Names) -> None:
    said = registration(topics=topics("orders"))
    assert await names.refusals(said) == ["TABLE_INCOMPLETE"]

    await names.register(registration())
    assert await names.refusals(registration(**SLAVE, topics=topics("orders"))) == [
        "TABLE_INCOMPLETE"
    ]
    assert await names.perms("orders") == {"broker-a": 6}


async def test_a_slave_learns_of_its_master_and_brings_no_topics(names: Names) -> None:
    await names.register(registration())

    [slave] = await names.register(registration(**SLAVE, topics=topics("other", "one")))

    assert (slave.master_address, slave.master_ha_address) == ("10.0.0.1:10911", "10.0.0.1:10912")
    assert await names.perms("other") == {}
    route = await names.route("orders")
    assert route is not None
    assert [each.id for each in route.brokers[0].members] == [0, 1]


async def test_a_slave_that_stands_in_brings_topics_that_nobody_may_write(names: Names) -> None:
    await names.register(registration(**SLAVE, enable_acting_master=True))
    assert await names.perms("orders") == {"broker-a": 4}

    await names.register(registration(enable_acting_master=True))
    assert await names.perms("orders") == {"broker-a": 6}

    assert await names.unregister()
    assert await names.perms("orders") == {"broker-a": 4}


async def test_a_slave_that_becomes_master_has_its_old_id_no_more(names: Names) -> None:
    await names.register(registration())
    await names.register(registration(**SLAVE))
    await names.unregister()

    await names.register(registration(**{**SLAVE, "id": 0}))

    route = await names.route("orders")
    assert route is not None
    assert [(each.id, each.address) for each in route.brokers[0].members] == [(0, SLAVE["address"])]


async def test_another_process_takes_an_id_unless_its_state_is_older(names: Names) -> None:
    await names.register(registration(data_version=version(1, state=2)))
    other = {"address": "10.0.0.3:10911"}

    older = registration(**other, data_version=version(9, state=1))
    assert await names.refusals(older) == ["OLDER_STATE"]

    await names.register(registration(**other, data_version=version(1, state=2)))
    route = await names.route("orders")
    assert route is not None
    assert [each.address for each in route.brokers[0].members] == ["10.0.0.3:10911"]
    # Nothing is left of the one whose place was taken.
    assert not await names.heartbeat()


async def test_an_address_belongs_to_one_broker(names: Names) -> None:
    await names.register(registration())

    assert await names.refusals(registration(name="broker-b")) == ["ADDRESS_TAKEN"]

    await names.unregister()
    await names.register(registration(name="broker-b"))
    assert await names.perms() == {"broker-b": 6}


async def test_what_is_not_known_to_stand_is_sent_in_full(names: Names, node: Node) -> None:
    """The cache of a node may be behind: the handler decides."""
    await names.register(registration())
    bare: dict[str, Any] = {"topics": [], "unchanged": True}
    assert await names.refusals(registration(**bare)) == []
    bare["data_version"] = version(2)
    assert await names.refusals(registration(**bare)) == ["TABLE_NEEDED"]

    known = names.service._known
    before = dict(known.brokers)
    await names.unregister()
    known.brokers.update(before)
    known._queues["orders"] = known._queues["bills"] = {"broker-a": rows.Queues()}
    [registered] = await names.register(registration())
    assert registered.changed
    assert await names.perms("orders") == {"broker-a": 6}


async def test_a_whole_table_takes_the_place_of_the_one_before(names: Names, node: Node) -> None:
    await names.register(registration())

    said = registration(
        data_version=version(2), topics=topics("orders", "new"), drops_absent_topics=True
    )
    await names.register(said)

    assert await names.topics() == ["new", "orders"]
    assert len(node.rows(QUEUES)) == len(node.rows(TOPICS_OF_BROKERS)) == 2


async def test_a_table_that_is_too_large_for_one_command_is_sent_in_parts(
    names: Names, node: Node
) -> None:
    many = [f"{number:06}{'x' * 200}" for number in range(10_000)]

    await names.register(registration(topics=topics(*many)))

    assert len(node.proposals) > 2
    assert len(node.rows(QUEUES)) == len(many)
    [reply] = (await names.do(pb.WipeWritePermission(names=["broker-a"]))).replies
    assert pb.WritePermission.FromString(reply).topics == len(many)
    # The version came with the last part.
    [again] = await names.register(registration(topics=topics(*many)))
    assert not again.changed


async def test_static_topics_say_where_their_queues_lie(names: Names) -> None:
    mapping = rows.QueueMapping(total_queues=2, epoch=1, scope="__global__")
    mapping.queues.add(logical=1, physical=0)
    said = pb.TopicQueueMapping(topic="orders", mapping=mapping)

    await names.register(registration(mappings=[said]))

    route = await names.route("orders")
    assert route is not None
    [found] = route.mappings
    assert (found.broker, found.mapping) == ("broker-a", mapping)


async def test_filter_servers_stay_until_others_are_named(names: Names) -> None:
    one = pb.FilterServers(addresses=["10.0.0.9:1"])
    await names.register(registration(filter_servers=one))
    await names.register(registration(data_version=version(2)))
    assert await _filter_servers(names) == ["10.0.0.9:1"]

    await names.register(registration(filter_servers=pb.FilterServers()))
    assert await _filter_servers(names) == []


async def _filter_servers(names: Names) -> list[str]:
    route = await names.route("orders")
    assert route is not None
    return list(route.brokers[0].members[0].filter_servers)


async def test_a_wrong_registration_keeps_no_other_back(names: Names) -> None:
    wrong = [
        registration(name=""),
        registration(id=-2),
        registration(address="\n"),
        registration(topics=topics("")),
        registration(drops_absent_topics=True, partial=True),
    ]
    command = pb.RegisterBrokers(brokers=[*wrong, registration()])

    reply = await names.service.Register(command, None)

    assert [each.item for each in reply.refusals] == [0, 1, 2, 3, 4]
    assert {each.code for each in reply.refusals} == {"INVALID_ARGUMENT"}
    assert await names.perms("orders") == {"broker-a": 6}

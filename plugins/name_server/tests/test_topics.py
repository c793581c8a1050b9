from typing import Any

import pytest
from quorate.plugin import Invalid
from quorate.v1.batch_pb2 import BatchReply
from quorate_name_server.families import QUEUES, TOPICS_OF_BROKERS
from quorate_name_server.topics import tables
from quorate_name_server.topics.tables import TABLE
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows, service_pb2 as answers

from plugins.name_server.tests.memory import Names, Node, registration, topics

OTHER = {"name": "broker-b", "address": "10.0.0.3:10911", "cluster": "C2"}


async def test_queues_are_put_without_a_registration(names: Names) -> None:
    await names.register(registration())
    queues = rows.Queues(read_queues=1, write_queues=1, perm=4)

    put = pb.BrokerQueues(topic="static", broker="broker-a", queues=queues)
    await names.do(pb.PutQueues(queues=[put]))

    assert await names.perms("static") == {"broker-a": 4}


async def test_queues_of_a_broker_that_is_not_there_are_refused(names: Names, node: Node) -> None:
    await names.register(registration())
    put = [pb.BrokerQueues(topic="static", broker=name) for name in ("broker-b", "broker-a")]
    reply = await node.propose(pb.PutQueues(queues=put), BatchReply)
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "NOT_FOUND")]
    assert await names.perms("static") == {"broker-a": 0}


async def test_a_topic_is_deleted_on_one_cluster_or_on_all(names: Names, node: Node) -> None:
    await names.register(registration(), registration(**OTHER))

    deletion = pb.TopicDeletion(topic="orders", cluster="C2")
    [reply] = (await names.do(pb.DeleteTopics(topics=[deletion]))).replies
    assert pb.DeletedTopic.FromString(reply).brokers == 1
    assert await names.perms() == {"broker-a": 6}

    both = [pb.TopicDeletion(topic=topic) for topic in ("orders", "none")]
    reply_all = await names.do(pb.DeleteTopics(topics=both))
    assert [pb.DeletedTopic.FromString(each).brokers for each in reply_all.replies] == [1, 0]
    assert await names.perms() == {}
    assert await names.topics() == ["bills"]
    assert len(node.rows(QUEUES)) == len(node.rows(TOPICS_OF_BROKERS)) == 2


async def test_a_topic_that_its_broker_still_has_comes_back_with_it(names: Names) -> None:
    await names.register(registration())
    await names.do(pb.DeleteTopics(topics=[pb.TopicDeletion(topic="orders")]))
    await names.register(registration())
    assert await names.perms() == {"broker-a": 6}


async def test_topics_are_listed_by_cluster_and_flags(names: Names) -> None:
    unit = topics("unit", flags=1) + topics("sub", flags=2) + topics("both", flags=3)
    await names.register(registration(topics=unit), registration(**OTHER))

    assert await names.topics() == ["bills", "both", "orders", "sub", "unit"]
    assert await names.topics(cluster="C2") == ["bills", "orders"]
    assert await names.topics(cluster="C3") == []
    assert await names.topics(flags=1) == ["both", "unit"]
    assert await names.topics(flags=2, without_flags=1) == ["sub"]
    assert await names.topics(page_size=2) == ["bills", "both", "orders", "sub", "unit"]


@pytest.mark.ci
async def test_a_long_search_for_topics_ends_between_two_pages(names: Names) -> None:
    many = topics(*(f"{number:05}" for number in range(4_500))) + topics("last", flags=1)
    await names.register(registration(topics=many))
    assert await names.topics(flags=1) == ["last"]


async def test_brokers_are_asked_for_by_name_and_cluster(names: Names) -> None:
    await names.register(registration(), registration(**OTHER))
    for mode in (answers.READ_MODE_CONSISTENT, answers.READ_MODE_AVAILABLE):
        for asked, expected in (
            ({}, ["broker-a", "broker-b"]),
            ({"cluster": "C2"}, ["broker-b"]),
            ({"names": ["broker-a", "none"]}, ["broker-a"]),
            ({"names": ["broker-a"], "cluster": "C2"}, []),
        ):
            request = answers.GetBrokersRequest(mode=mode, **asked)
            found = await names.service.GetBrokers(request, None)
            assert [each.name for each in found.brokers] == expected
            assert (found.state.mode, found.state.age_ms) == (mode, 0)


async def test_the_order_of_a_topics_queues_is_part_of_its_route(names: Names) -> None:
    await names.register(registration())
    order = rows.KvConfig(namespace="ORDER_TOPIC_CONFIG", key="orders", value="broker-a:4")
    await names.do(pb.PutKvConfigs(configs=[order]))
    for mode in (answers.READ_MODE_CONSISTENT, answers.READ_MODE_AVAILABLE):
        route = await names.route("orders", mode)
        assert route is not None
        assert route.order_config == "broker-a:4"
    assert names.service._known.settings("ORDER_TOPIC_CONFIG") == {"orders": "broker-a:4"}

    key = pb.KvConfigKey(namespace="ORDER_TOPIC_CONFIG", key="orders")
    await names.do(pb.DeleteKvConfigs(configs=[key]))
    assert names.service._known.settings("ORDER_TOPIC_CONFIG") is None


async def test_too_many_topics_are_not_looked_up_at_once(names: Names) -> None:
    with pytest.raises(Invalid, match="at most 1000"):
        await names.service.GetRoutes(answers.GetRoutesRequest(topics=["t"] * 1_001), None)


async def test_queues_are_rows_of_a_table(names: Names, node: Node) -> None:
    await names.register(registration())
    row: tuple[Any, ...] = ("static", "broker-a", 1, 2, 4, 3)

    await names.do(pb.PutQueues(queues=[tables.to_item(*row)]))

    found = [TABLE.from_row(key, value) for key, value in node.rows(QUEUES).items()]
    assert found == [
        ("bills", "broker-a", 8, 8, 6, 0),
        ("orders", "broker-a", 8, 8, 6, 0),
        row,
    ]
    [static] = [key for key in node.rows(QUEUES) if key.startswith(TABLE.to_key("static"))]
    assert static == TABLE.to_key("static", "broker-a")


@pytest.mark.parametrize(
    ("column", "value"), [(0, ""), (1, "b" * 256), (2, -1), (4, 1 << 31), (5, -1)]
)
def test_a_row_that_cannot_be_right_names_its_column(column: int, value: object) -> None:
    row: list[Any] = ["static", "broker-a", 1, 2, 4, 3]
    row[column] = value
    with pytest.raises(Invalid) as refused:
        tables.to_item(*row)
    assert refused.value.field == TABLE.columns[column].name

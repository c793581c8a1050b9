"""Whatever brokers, operators and time do in turn, indexes, counts and memory fit the rows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings, strategies as st
from quorate.plugin import keys
from quorate.v1.batch_pb2 import BatchReply
from quorate_name_server.families import (
    ADDRESSES,
    BROKERS,
    DEPARTED,
    MAPPINGS,
    QUEUES,
    TOPICS_OF_BROKERS,
)
from quorate_name_server.routes.known import KnownRoutes
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

from plugins.name_server.tests.memory import Names, Node, registration, topics, version

Step = Callable[[Names, Node], Awaitable[object]]

BROKER_NAMES = ("a", "b")
TOPIC_NAMES = ("orders", "bills", "static")
names = st.sampled_from(BROKER_NAMES)
# Few addresses, so that they move between ids and brokers.
addresses = st.sampled_from(("h:1", "h:2", "h:3"))


@st.composite
def registrations(draw: st.DrawFn) -> Step:
    wanted = draw(st.sets(st.sampled_from(TOPIC_NAMES)))
    perm = draw(st.sampled_from((2, 4, 6, 7)))
    mapped = draw(st.sets(st.sampled_from(TOPIC_NAMES), max_size=1))
    said = registration(
        name=draw(names),
        id=draw(st.sampled_from((-1, 0, 1, 2))),
        address=draw(addresses),
        cluster=draw(st.sampled_from(("C1", "C2"))),
        data_version=version(draw(st.integers(0, 2)), draw(st.integers(0, 2))),
        topics=topics(*sorted(wanted), perm=perm),
        mappings=[
            pb.TopicQueueMapping(
                topic=topic,
                broker=draw(st.sampled_from(("", *BROKER_NAMES))),
                mapping=rows.QueueMapping(total_queues=perm),
            )
            for topic in mapped
        ],
        heartbeat_timeout_ms=draw(st.sampled_from((0, 10_000))),
        door=draw(st.sampled_from(("", "n1", "n2"))),
        partial=draw(st.sampled_from((False, False, True))),
    )
    if not said.partial:
        said.drops_absent_topics = draw(st.booleans())
    if draw(st.booleans()):
        said.enable_acting_master = draw(st.booleans())

    async def step(names: Names, node: Node) -> None:
        await names.service.Register(pb.RegisterBrokers(brokers=[said]), None)

    return step


@st.composite
def departures(draw: st.DrawFn) -> Step:
    named = {"name": draw(names), "address": draw(addresses)}
    door = draw(st.sampled_from(("", "n1", "n2")))
    return lambda names, _: names.unregister(**named, door=door)


@st.composite
def commands(draw: st.DrawFn) -> Step:
    name, topic = draw(names), draw(st.sampled_from(TOPIC_NAMES))
    queues = rows.Queues(perm=draw(st.sampled_from((4, 6))))
    command = draw(
        st.sampled_from(
            (
                pb.WipeWritePermission(names=[name]),
                pb.AddWritePermission(names=[name]),
                pb.DeleteTopics(topics=[pb.TopicDeletion(topic=topic)]),
                pb.DeleteTopics(topics=[pb.TopicDeletion(topic=topic, cluster="C1")]),
                pb.PutQueues(queues=[pb.BrokerQueues(topic=topic, broker=name, queues=queues)]),
            )
        )
    )

    async def step(names: Names, node: Node) -> None:
        await node.propose(command, BatchReply)

    return step


@st.composite
def waits(draw: st.DrawFn) -> Step:
    ms = draw(st.sampled_from((1_000, 10_000, 120_000)))
    return lambda _, node: node.advance(ms)


steps = st.one_of(
    registrations(),
    registrations(),
    departures(),
    commands(),
    waits(),
    st.just(lambda _, node: node.run_woken()),
)


@pytest.mark.ci
@settings(max_examples=40)
@given(st.lists(steps, max_size=25))
def test_everything_fits_the_rows(steps: list[Step]) -> None:
    async def run() -> None:
        node = Node(["name_server"], at_ms=1_000_000)
        node.cache(KnownRoutes).clock = lambda: node.now_ms / 1_000
        names = Names(node)
        for step in steps:
            await step(names, node)
            check(node)
            for topic in TOPIC_NAMES:
                await names.perms(topic)
            await names.topics()
        # In the end nobody is left, and nothing of them.
        await node.advance(200_000)
        await node.run_woken()
        for family in (BROKERS, QUEUES, MAPPINGS, ADDRESSES, DEPARTED, TOPICS_OF_BROKERS):
            assert node.rows(family) == {}, family

    asyncio.run(run())


def check(node: Node) -> None:
    brokers = {
        broker.name: broker for broker in map(rows.Broker.FromString, node.rows(BROKERS).values())
    }
    queues = [tuple(map(str, keys.unpack(key))) for key in node.rows(QUEUES)]
    mappings = [tuple(map(str, keys.unpack(key))) for key in node.rows(MAPPINGS)]
    departed = {str(keys.unpack(key)[0]) for key in node.rows(DEPARTED)}

    for broker in brokers.values():
        ids = [member.id for member in broker.members]
        assert ids == sorted(set(ids))
        assert ids
    owners = {
        member.address: broker.name for broker in brokers.values() for member in broker.members
    }
    assert sum(len(broker.members) for broker in brokers.values()) == len(owners)
    assert owners == {
        str(keys.unpack(key)[0]): value.decode() for key, value in node.rows(ADDRESSES).items()
    }

    counts = Counter(name for _, name in queues)
    for name, broker in brokers.items():
        assert broker.topics == counts[name]
        assert name not in departed
    # What is not of a broker that is there waits to be swept.
    assert {name for _, name in [*queues, *mappings]} <= {*brokers, *departed}
    index = {tuple(map(str, keys.unpack(key))) for key in node.rows(TOPICS_OF_BROKERS)}
    assert index == {(name, topic) for topic, name in [*queues, *mappings]}

    rebuilt = KnownRoutes()
    for family in (BROKERS, QUEUES, MAPPINGS):
        for key, row in node.rows(family).items():
            rebuilt.put(family, key, row)
    assert rebuilt == node.cache(KnownRoutes)

import logging
from typing import Any, get_args

import pytest
from quorate_storage_engine.leadership.log_ends import ask_over_grpc, is_credible
from quorate_storage_engine.v1.queries_pb2 import SegmentId
from quorate_storage_engine.v1.rows_pb2 import Segment
from quorate_storage_engine.v1.storage_node_pb2 import LogEnd, LogEndRequest

from tests.support.storage_engine.fleet import EngineCluster
from tests.support.storage_engine.storage_node import (
    Fault,
    MisbehavingStorageNode,
    ReferenceStorageNode,
    ReplicaLog,
    served,
)


@pytest.fixture
def cluster() -> EngineCluster:
    return EngineCluster({"log_end_timeout_s": 0.3})


async def unavailable(cluster: EngineCluster) -> Segment:
    await cluster.register_all("ab")
    segment = await cluster.create_shard(replicas=2)
    for engine in segment.replicas[::-1]:
        await cluster.unregister(engine)
    await cluster.hold_elections()
    return cluster.segment()


def log_of(segment: Segment, offset: int) -> dict[tuple[str, int], ReplicaLog]:
    return {("s", 0): ReplicaLog(shard_uid=segment.shard_uid, offset=offset)}


async def test_engines_are_asked_over_grpc(cluster: EngineCluster) -> None:
    segment = await unavailable(cluster)
    first, second = segment.last_known_isr
    short = ReferenceStorageNode(engine=first, broker_epoch=0, logs=log_of(segment, 3))
    long = ReferenceStorageNode(engine=second, broker_epoch=0, logs=log_of(segment, 8))
    async with served(short) as one, served(long) as two:
        short.broker_epoch = await cluster.register(first, address=one)
        long.broker_epoch = await cluster.register(second, address=two)

        await cluster.hold_elections(ask_over_grpc)

    assert cluster.segment().leader == second


@pytest.mark.parametrize("fault", get_args(Fault))
async def test_who_misbehaves_neither_leads_nor_keeps_others_from_it(
    cluster: EngineCluster, fault: Fault
) -> None:
    segment = await unavailable(cluster)
    first, second = segment.last_known_isr
    bad = MisbehavingStorageNode(engine=first, broker_epoch=0, logs=log_of(segment, 9), fault=fault)
    good = ReferenceStorageNode(engine=second, broker_epoch=0, logs=log_of(segment, 8))
    async with served(bad) as one, served(good) as two:
        bad.broker_epoch = await cluster.register(first, address=one)
        await cluster.hold_elections(ask_over_grpc)
        assert cluster.segment() == segment
        good.broker_epoch = await cluster.register(second, address=two)

        await cluster.hold_elections(ask_over_grpc)

    assert cluster.segment().leader == second


async def test_an_engine_without_an_address_is_named(
    cluster: EngineCluster, caplog: pytest.LogCaptureFixture
) -> None:
    segment = await unavailable(cluster)
    name = segment.last_known_isr[0]
    await cluster.register(name)

    with caplog.at_level(logging.WARNING):
        await cluster.hold_elections(ask_over_grpc)

    assert f"engine {name} is registered without the address" in caplog.text
    assert cluster.segment() == segment


async def test_the_reference_answers_for_what_it_holds_alone() -> None:
    node = ReferenceStorageNode(
        engine="a", broker_epoch=4, logs={("s", 1): ReplicaLog(shard_uid=7, offset=5)}
    )
    request = LogEndRequest(
        segments=[SegmentId(shard="s", segment=0), SegmentId(shard="s", segment=1)]
    )
    async with served(node) as address:
        response = await ask_over_grpc(address, request, 5.0)

    assert (response.engine, response.broker_epoch) == ("a", 4)
    assert [(each.segment.segment, each.offset) for each in response.log_ends] == [(1, 5)]


@pytest.mark.parametrize(
    ("change", "credible"),
    [
        ({}, True),
        ({"shard_uid": 2}, False),
        ({"leader_epoch": 4}, False),
        ({"log_start": 9}, False),
        ({"offset": 29}, False),
        ({"offset": 19, "log_start": 19}, False),
    ],
)
def test_a_log_must_be_one_that_the_segment_can_have(
    change: dict[str, Any], credible: bool
) -> None:
    segment = Segment(shard_uid=1, start_offset=10, end_offset=30, leader_epoch=3)
    values: dict[str, Any] = {
        "shard_uid": 1,
        "leader_epoch": 3,
        "log_start": 10,
        "offset": 30,
        **change,
    }

    assert is_credible(LogEnd(**values), segment) is credible

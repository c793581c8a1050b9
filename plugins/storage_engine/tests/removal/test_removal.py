import logging

import pytest
from quorate.plugin import Rejected
from quorate.v1.batch_pb2 import BatchReply
from quorate_storage_engine.families import DELETIONS, GROUP
from quorate_storage_engine.removal.controllers import collect_garbage
from quorate_storage_engine.v1.commands_pb2 import (
    AcknowledgeDrops,
    CreateNextSegment,
    DecommissionEngines,
    DeleteSegment,
    DeleteShard,
    DroppedSegment,
    ShardState,
)
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment, Shard

from tests.support.storage_engine.fleet import EngineCluster


async def grow(cluster: EngineCluster, segments: int) -> None:
    """Have a shard of so many segments, the last of them written to."""
    await cluster.create_shard()
    for number in range(segments - 1):
        claim = cluster.claim(cluster.segment(number=number))
        command = CreateNextSegment(
            shard="s", current_segment=number, end_offset=10 * (number + 1), claim=claim
        )
        await cluster.node.propose(command, ShardState)


async def delete_shard(cluster: EngineCluster) -> None:
    await cluster.node.propose(DeleteShard(name="s"), Shard)


async def test_a_shard_is_gone_when_every_engine_has_dropped_its_replicas(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abcd")
    await grow(cluster, 5)
    await delete_shard(cluster)
    assert cluster.drops() == []

    await cluster.collect_garbage()

    assert len(cluster.drops()) == 15
    assert {segment.status for segment in cluster.segments()} == {SEGMENT_STATUS_DELETING}
    assert not cluster.engines(), "what is being dropped is no load any more"
    for engine in "abc":
        await cluster.acknowledge(engine)
        assert cluster.shard() is not None
    await cluster.acknowledge("d")
    assert (cluster.shard(), cluster.segments(), cluster.drops()) == (None, [], [])
    assert not cluster.node.rows(DELETIONS)


async def test_a_shard_of_that_name_can_be_created_again_then(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    first = await cluster.create_shard()
    await delete_shard(cluster)
    await cluster.collect_garbage()
    with pytest.raises(Rejected, match="SHARD_DELETING"):
        await cluster.create_shard()
    for engine in "abc":
        await cluster.acknowledge(engine)

    assert (await cluster.create_shard()).shard_uid != first.shard_uid


async def test_another_leader_goes_on_where_the_last_one_stopped() -> None:
    cluster = EngineCluster({"batch": 2})
    await cluster.register_all("abc")
    await grow(cluster, 5)
    await delete_shard(cluster)
    propose = cluster.node.propose
    calls = 0

    async def deposed_after_one(*arguments: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            cluster.node.elect(GROUP)
        return await propose(*arguments, **options)  # type: ignore[arg-type]

    cluster.node.propose = deposed_after_one  # type: ignore[method-assign,assignment]
    with pytest.raises(Rejected, match="ABORTED"):
        await cluster.collect_garbage()
    cluster.node.propose = propose  # type: ignore[method-assign]
    assert len(cluster.drops()) == 6

    await cluster.collect_garbage()

    assert len(cluster.drops()) == 15


async def test_a_removed_segment_moves_the_start_of_its_shard(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    await grow(cluster, 3)
    for number in (0, 1):
        await cluster.node.propose(DeleteSegment(shard="s", segment=number), Segment)
    for engine in "abc":
        await cluster.acknowledge(engine)

    shard = cluster.shard()

    assert shard is not None
    assert (shard.start_segment, shard.active_segment, shard.segments) == (2, 2, 1)


async def test_an_engine_without_a_registration_does_not_hold_a_deletion_up(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abc")
    await grow(cluster, 2)
    await delete_shard(cluster)
    await cluster.collect_garbage()
    await cluster.acknowledge("a")
    await cluster.acknowledge("b")
    await cluster.collect_garbage()
    assert cluster.shard() is not None, "c is registered, and may still hold it"

    await cluster.unregister("c")
    await cluster.collect_garbage()

    assert (cluster.shard(), cluster.segments()) == (None, [])
    assert {drop.engine for drop in cluster.drops()} == {"c"}, "it drops them when it comes back"
    await cluster.register("c")
    await cluster.acknowledge("c")
    assert cluster.drops() == []


async def test_what_a_late_engine_drops_is_not_the_new_shard_of_that_name(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abcd")
    first = await cluster.create_shard()
    await delete_shard(cluster)
    await cluster.collect_garbage()
    late = first.replicas[0]
    for engine in first.replicas[1:]:
        await cluster.acknowledge(engine)
    await cluster.unregister(late)
    await cluster.collect_garbage()
    second = await cluster.create_shard()

    await cluster.register(late)
    await cluster.acknowledge(late)

    assert cluster.segment() == second
    assert cluster.drops() == []


async def test_decommissioned_engines_that_are_gone_are_asked_for_nothing(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abcd")
    await grow(cluster, 2)
    await cluster.node.propose(DeleteSegment(shard="s", segment=0), Segment)
    gone = cluster.segment(number=0).drops[0]
    for engine in list(cluster.segment(number=0).drops)[1:]:
        await cluster.acknowledge(engine)
    await cluster.unregister(gone)
    await cluster.node.propose(DecommissionEngines(engines=[gone]), BatchReply)

    await cluster.collect_garbage()

    assert [segment.number for segment in cluster.segments()] == [1]
    assert cluster.drops() == []


async def test_an_engine_that_left_nothing_but_drops_is_decommissioned(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abc")
    await grow(cluster, 1)
    await cluster.unregister("c")
    await delete_shard(cluster)
    await cluster.collect_garbage()
    await cluster.acknowledge("a")
    await cluster.acknowledge("b")
    await cluster.collect_garbage()
    assert [drop.engine for drop in cluster.drops()] == ["c"]
    assert "c" not in cluster.engines()

    reply = await cluster.node.propose(DecommissionEngines(engines=["c"]), BatchReply)
    await cluster.collect_garbage()

    assert not reply.refusals
    assert cluster.drops() == []


async def test_only_the_registered_process_acknowledges(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    segment = await cluster.create_shard()
    await delete_shard(cluster)
    await cluster.collect_garbage()
    before = cluster.drops()
    command = AcknowledgeDrops(
        engine="a",
        broker_epoch=99,
        segments=[DroppedSegment(shard_uid=segment.shard_uid, segment=0)],
    )

    reply = await cluster.node.propose(command, BatchReply)

    assert [each.code for each in reply.refusals] == ["STALE_BROKER_EPOCH"]
    assert cluster.drops() == before


async def test_what_nobody_asked_for_may_be_acknowledged(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    segment = await cluster.create_shard()
    command = AcknowledgeDrops(
        engine="a",
        broker_epoch=cluster.broker_epoch("a"),
        segments=[DroppedSegment(shard_uid=segment.shard_uid, segment=0)],
    )

    reply = await cluster.node.propose(command, BatchReply)

    assert not reply.refusals
    assert cluster.segment() == segment


async def test_who_does_not_acknowledge_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    cluster = EngineCluster({"overdue_after_s": 10})
    await cluster.register_all("abc")
    await grow(cluster, 2)
    await delete_shard(cluster)
    await cluster.collect_garbage()
    await cluster.acknowledge("a")
    gauge = 'quorate_storage_engine_overdue_drops{engine="b"}'

    async def wait(ms: int) -> None:
        await cluster.node.advance(ms)
        # The shard's time moves with its log, as heartbeats make it do.
        await cluster.register("d")

    await wait(9_999)
    await cluster.collect_garbage()
    assert cluster.node.metrics[gauge] == 0
    await wait(1)
    with caplog.at_level(logging.WARNING):
        await cluster.collect_garbage()

    assert cluster.node.metrics[gauge] == 2
    assert "engine b has not acknowledged 2 drops" in caplog.text
    assert "engine a " not in caplog.text


async def test_an_idle_collection_proposes_nothing(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    await grow(cluster, 2)
    await delete_shard(cluster)
    await cluster.collect_garbage()
    before = len(cluster.node.proposals)

    await collect_garbage(cluster.node, cluster.node.leader(GROUP))

    assert len(cluster.node.proposals) == before


async def test_a_late_acknowledgement_answers_no_later_request(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    await cluster.create_shard()
    await delete_shard(cluster)
    await cluster.collect_garbage()
    [drop, *_] = cluster.drops()
    before = cluster.drops()
    command = AcknowledgeDrops(
        engine=drop.engine,
        broker_epoch=cluster.broker_epoch(drop.engine),
        segments=[
            DroppedSegment(
                shard_uid=drop.shard_uid,
                segment=drop.segment,
                segment_epoch=drop.segment_epoch - 1,
            )
        ],
    )

    await cluster.node.propose(command, BatchReply)

    assert cluster.drops() == before

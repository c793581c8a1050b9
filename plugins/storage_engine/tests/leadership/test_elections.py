import pytest
from quorate.plugin import Rejected
from quorate.v1.batch_pb2 import BatchReply
from quorate_storage_engine.families import GROUP
from quorate_storage_engine.leadership.controllers import hold_elections
from quorate_storage_engine.v1.commands_pb2 import (
    CreateShard,
    CreateShards,
    Election,
    ElectLeaders,
    ForceLeader,
    SeenSegment,
)
from quorate_storage_engine.v1.rows_pb2 import STORAGE_TYPE_SEGMENT, Segment, ShardConfig
from quorate_storage_engine.v1.storage_node_pb2 import LogEndRequest, LogEndResponse
from quorate_storage_engine.validation import MOST_CREATED

from tests.support.storage_engine.fleet import EngineCluster
from tests.support.storage_engine.storage_node import ReferenceStorageNode, ReplicaLog


class Engines:
    """Answers for engines that are asked at their names."""

    def __init__(self, cluster: EngineCluster) -> None:
        self._cluster = cluster
        self.nodes: dict[str, ReferenceStorageNode] = {}

    async def come_back(self, name: str, segment: Segment, log: ReplicaLog) -> None:
        epoch = await self._cluster.register(name, address=name)
        logs = {(segment.shard, segment.number): log}
        self.nodes[name] = ReferenceStorageNode(engine=name, broker_epoch=epoch, logs=logs)

    async def __call__(
        self, address: str, request: LogEndRequest, timeout_s: float
    ) -> LogEndResponse:
        return self.nodes[address].answer(request)


@pytest.fixture
def engines(cluster: EngineCluster) -> Engines:
    return Engines(cluster)


async def unavailable(cluster: EngineCluster, gone: int = 3) -> Segment:
    """Have the replicas of a segment leave, the leader last; so many of them are in sync."""
    await cluster.register_all("abcd")
    segment = await cluster.create_shard()
    if gone < 3:
        segment = await cluster.set_isr(segment, segment.replicas[:gone])
    for engine in segment.replicas[:0:-1]:
        await cluster.unregister(engine)
    await cluster.unregister(segment.leader)
    await cluster.hold_elections()
    return cluster.segment()


async def test_the_first_live_in_sync_replica_follows_a_leader_that_is_gone(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abcd")
    segment = await cluster.create_shard()
    first, second, third = segment.replicas
    await cluster.set_isr(segment, [first, third, second])
    await cluster.unregister(third)
    await cluster.unregister(first)

    await cluster.hold_elections()

    after = cluster.segment()
    assert after.leader == second
    assert after.leader_broker_epoch == cluster.broker_epoch(second)
    assert list(after.isr) == [third, second]
    assert list(after.replicas) == list(segment.replicas)
    assert (after.leader_epoch, after.segment_epoch) == (2, 3)


async def test_a_leader_that_registered_again_is_replaced_as_well(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    segment = await cluster.create_shard()
    await cluster.register(segment.leader)

    await cluster.hold_elections()

    after = cluster.segment()
    assert after.leader == segment.replicas[1]
    assert segment.leader not in after.isr
    assert after.leader_epoch == 2


async def test_live_leaders_are_left_alone(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    segment = await cluster.create_shard()
    await cluster.unregister(segment.replicas[1])
    before = len(cluster.node.proposals)

    await cluster.hold_elections()

    assert len(cluster.node.proposals) == before


async def test_without_a_live_in_sync_replica_nobody_leads(cluster: EngineCluster) -> None:
    await cluster.register_all("abcd")
    segment = await cluster.create_shard()
    first, second, _ = segment.replicas
    await cluster.set_isr(segment, [first, second])
    await cluster.unregister(second)
    await cluster.unregister(first)

    await cluster.hold_elections()

    after = cluster.segment()
    assert (after.leader, list(after.isr)) == ("", [])
    assert list(after.last_known_isr) == [first, second]
    assert after.leader_epoch == segment.leader_epoch


async def test_all_leaderships_of_an_engine_move_in_batches(cluster: EngineCluster) -> None:
    await cluster.register_all("abcdef")
    config = ShardConfig(replicas=3, min_in_sync_replicas=1, storage=STORAGE_TYPE_SEGMENT)
    shards = [CreateShard(name=f"s-{number}", config=config) for number in range(3_200)]
    for part in range(0, len(shards), MOST_CREATED):
        some = shards[part : part + MOST_CREATED]
        await cluster.node.propose(CreateShards(shards=some), BatchReply)
    led = cluster.engines()["a"].leaderships
    assert led > 500
    await cluster.unregister("a")
    before = len(cluster.node.proposals)

    await cluster.hold_elections()

    assert cluster.engines()["a"].leaderships == 0
    assert len(cluster.node.proposals) - before == -(-led // 500)
    assert all(segment.leader not in ("", "a") for segment in cluster.segments())


@pytest.mark.parametrize(
    ("logs", "winner"),
    [
        ((ReplicaLog(shard_uid=1, offset=5), ReplicaLog(shard_uid=1, offset=7)), 1),
        ((ReplicaLog(shard_uid=1, offset=7), ReplicaLog(shard_uid=1, offset=7)), 0),
        (
            (
                ReplicaLog(shard_uid=1, offset=9, leader_epoch=0),
                ReplicaLog(shard_uid=1, offset=7, leader_epoch=1),
            ),
            1,
        ),
    ],
)
async def test_the_log_that_knows_most_is_elected(
    cluster: EngineCluster, engines: Engines, logs: tuple[ReplicaLog, ReplicaLog], winner: int
) -> None:
    segment = await unavailable(cluster)
    names = segment.last_known_isr[:2]
    for name, log in zip(names, logs, strict=True):
        log.shard_uid = segment.shard_uid
        await engines.come_back(name, segment, log)

    await cluster.hold_elections(engines)

    after = cluster.segment()
    assert after.leader == names[winner]
    assert after.leader_broker_epoch == cluster.broker_epoch(after.leader)
    assert (list(after.isr), list(after.last_known_isr)) == ([after.leader], [])
    assert after.leader_epoch == segment.leader_epoch + 1


async def test_who_was_not_in_sync_is_not_asked(cluster: EngineCluster, engines: Engines) -> None:
    segment = await unavailable(cluster, gone=2)
    outside = segment.replicas[2]
    log = ReplicaLog(shard_uid=segment.shard_uid, offset=100)
    await engines.come_back(outside, segment, log)

    await cluster.hold_elections(engines)
    assert cluster.segment() == segment

    inside = segment.last_known_isr[1]
    await engines.come_back(inside, segment, ReplicaLog(shard_uid=segment.shard_uid, offset=3))
    await cluster.hold_elections(engines)
    assert cluster.segment().leader == inside


async def test_an_emptied_disk_leads_nothing(cluster: EngineCluster, engines: Engines) -> None:
    segment = await unavailable(cluster)
    name = segment.last_known_isr[0]
    await engines.come_back(name, segment, ReplicaLog(shard_uid=segment.shard_uid))
    engines.nodes[name].logs.clear()

    await cluster.hold_elections(engines)

    assert cluster.segment() == segment


async def test_an_engine_that_left_again_after_its_answer_is_not_elected(
    cluster: EngineCluster, engines: Engines
) -> None:
    segment = await unavailable(cluster)
    name = segment.last_known_isr[0]
    await engines.come_back(name, segment, ReplicaLog(shard_uid=segment.shard_uid, offset=3))

    async def ask(address: str, request: LogEndRequest, timeout_s: float) -> LogEndResponse:
        answer = await engines(address, request, timeout_s)
        await cluster.register(name, address=name)
        return answer

    await cluster.hold_elections(ask)

    assert cluster.segment() == segment


@pytest.mark.parametrize("epoch", [0, 99])
async def test_an_election_names_the_registration_that_answered(
    cluster: EngineCluster, epoch: int
) -> None:
    segment = await unavailable(cluster)
    seen = SeenSegment(shard="s", segment=0, segment_epoch=segment.segment_epoch)
    election = Election(seen=seen, engine=segment.last_known_isr[0], broker_epoch=epoch)

    reply = await cluster.node.propose(ElectLeaders(elections=[election]), BatchReply)

    assert [each.code for each in reply.refusals] == ["STALE_BROKER_EPOCH"]


async def test_an_operator_can_give_up_records_and_it_is_counted(cluster: EngineCluster) -> None:
    segment = await unavailable(cluster, gone=2)
    outside = segment.replicas[2]
    command = ForceLeader(shard="s", segment=0, engine=outside, segment_epoch=segment.segment_epoch)

    with pytest.raises(Rejected, match="INELIGIBLE_REPLICA"):
        await cluster.node.propose(command, Segment)
    await cluster.register(outside)
    forced = await cluster.node.propose(command, Segment)

    assert (forced.leader, list(forced.isr), forced.unclean_elections) == (outside, [outside], 1)
    command.segment_epoch = forced.segment_epoch
    with pytest.raises(Rejected, match="SEGMENT_AVAILABLE"):
        await cluster.node.propose(command, Segment)
    command.segment_epoch += 1
    with pytest.raises(Rejected, match="STALE_SEGMENT_EPOCH"):
        await cluster.node.propose(command, Segment)


async def test_a_leader_of_an_earlier_term_holds_no_elections(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    segment = await cluster.create_shard()
    await cluster.unregister(segment.leader)
    deposed = cluster.node.leader(GROUP)
    cluster.node.elect(GROUP)

    with pytest.raises(Rejected, match="ABORTED"):
        await hold_elections(cluster.node, deposed)

    assert cluster.segment() == segment


async def test_leadership_goes_back_to_preferred_leaders_a_few_at_a_time() -> None:
    cluster = EngineCluster({"balance_moves": 2})
    await cluster.register_all("abc")
    for number in range(9):
        await cluster.create_shard(f"s-{number}")
    led = [each for each in cluster.segments() if each.leader == "a"]
    await cluster.register("a")
    await cluster.hold_elections()
    displaced = [each for each in cluster.segments() if each.leader != each.replicas[0]]
    assert len(displaced) == len(led) == 3

    await cluster.balance()
    assert cluster.engines()["a"].leaderships == 0, "it is not in sync yet"
    for segment in displaced:
        await cluster.set_isr(segment, [*segment.isr, "a"])

    for left in (1, 0, 0):
        await cluster.balance()
        moved = [each for each in cluster.segments() if each.leader != each.replicas[0]]
        assert len(moved) == left
    epochs = [each.leader_epoch for each in cluster.segments() if each.replicas[0] == "a"]
    assert epochs == [3, 3, 3]


async def test_nobody_gives_leadership_to_an_engine_that_is_gone(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    segment = await cluster.create_shard()
    await cluster.register(segment.leader)
    await cluster.hold_elections()
    await cluster.set_isr(cluster.segment(), segment.replicas)
    await cluster.unregister(segment.leader)
    before = len(cluster.node.proposals)

    await cluster.balance()

    assert len(cluster.node.proposals) == before

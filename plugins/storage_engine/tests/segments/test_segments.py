from collections.abc import Callable

import pytest
from google.protobuf.message import Message
from quorate.plugin import Invalid, Rejected
from quorate.v1.batch_pb2 import BatchReply
from quorate_storage_engine.v1.commands_pb2 import (
    CreateNextSegment,
    DeleteSegment,
    DeleteShard,
    IsrMember,
    LeaderClaim,
    RecordSegmentStart,
    SealSegment,
    ShardState,
    UpdateSegmentIsr,
    UpdateSegmentIsrs,
)
from quorate_storage_engine.v1.rows_pb2 import (
    SEGMENT_STATUS_DELETING,
    SEGMENT_STATUS_SEALED,
    SEGMENT_STATUS_WRITING,
    Segment,
    Shard,
)

from tests.support.storage_engine.fleet import EngineCluster


async def started(cluster: EngineCluster) -> Segment:
    await cluster.register_all("abcd")
    return await cluster.create_shard()


def following(cluster: EngineCluster, end: int = 40, current: int = 0) -> CreateNextSegment:
    segment = cluster.segment(number=current)
    return CreateNextSegment(
        shard="s",
        current_segment=current,
        end_offset=end,
        end_timestamp_ms=7,
        claim=cluster.claim(segment),
    )


def sealing(cluster: EngineCluster, end: int = 40) -> SealSegment:
    claim = cluster.claim(cluster.segment())
    return SealSegment(shard="s", segment=0, end_offset=end, end_timestamp_ms=7, claim=claim)


def update(cluster: EngineCluster, engines: str) -> UpdateSegmentIsr:
    segment = cluster.segment()
    return UpdateSegmentIsr(
        shard="s",
        segment=0,
        claim=cluster.claim(segment),
        segment_epoch=segment.segment_epoch,
        isr=[IsrMember(engine=each, broker_epoch=cluster.broker_epoch(each)) for each in engines],
    )


async def refused(cluster: EngineCluster, command: Message) -> str:
    before = cluster.node.digest()
    with pytest.raises(Rejected) as refusal:
        await cluster.node.propose(command, Message)
    assert cluster.node.digest() == before
    return refusal.value.code


async def test_the_next_segment_begins_where_the_current_one_ends(cluster: EngineCluster) -> None:
    await started(cluster)

    state = await cluster.node.propose(following(cluster), ShardState)

    ended = cluster.segment(number=0)
    assert (ended.status, ended.end_offset, ended.end_timestamp_ms) == (
        SEGMENT_STATUS_SEALED,
        40,
        7,
    )
    assert (state.segment.number, state.segment.start_offset) == (1, 40)
    assert state.segment.status == SEGMENT_STATUS_WRITING
    assert (state.shard.active_segment, state.shard.segments) == (1, 2)


async def test_a_repeated_next_segment_answers_with_the_one_that_was_begun(
    cluster: EngineCluster,
) -> None:
    await started(cluster)
    command = following(cluster)
    first = await cluster.node.propose(command, ShardState)
    before = cluster.node.digest()

    assert await cluster.node.propose(command, ShardState) == first
    assert cluster.node.digest() == before
    command.end_offset += 1
    assert await refused(cluster, command) == "NOT_ACTIVE_SEGMENT"


async def test_a_sealed_segment_is_followed_at_its_end_alone(cluster: EngineCluster) -> None:
    await started(cluster)
    await cluster.node.propose(sealing(cluster, 40), Segment)

    assert await refused(cluster, following(cluster, 41)) == "INVALID_OFFSET"
    state = await cluster.node.propose(following(cluster, 40), ShardState)
    assert state.segment.start_offset == 40


async def test_a_segment_is_sealed_once(cluster: EngineCluster) -> None:
    await started(cluster)
    sealed = await cluster.node.propose(sealing(cluster), Segment)

    assert await cluster.node.propose(sealing(cluster), Segment) == sealed
    assert await refused(cluster, sealing(cluster, 50)) == "SEGMENT_SEALED"


async def test_no_segment_ends_before_it_begins(cluster: EngineCluster) -> None:
    await started(cluster)
    await cluster.node.propose(following(cluster, 40), ShardState)

    assert await refused(cluster, following(cluster, 39, current=1)) == "INVALID_OFFSET"


async def test_too_few_engines_leave_the_current_segment_as_it_is(cluster: EngineCluster) -> None:
    segment = await started(cluster)
    for engine in sorted(set("abcd") - {segment.leader})[:2]:
        await cluster.unregister(engine)

    assert await refused(cluster, following(cluster)) == "NOT_ENOUGH_ENGINES"


async def test_the_time_of_the_first_record_is_kept(cluster: EngineCluster) -> None:
    segment = await started(cluster)
    command = RecordSegmentStart(
        shard="s", segment=0, start_timestamp_ms=5, claim=cluster.claim(segment)
    )

    assert (await cluster.node.propose(command, Segment)).start_timestamp_ms == 5


async def test_only_sealed_segments_before_the_last_are_deleted(cluster: EngineCluster) -> None:
    await started(cluster)
    deletion = DeleteSegment(shard="s", segment=0)

    assert await refused(cluster, deletion) == "SEGMENT_WRITING"
    await cluster.node.propose(sealing(cluster), Segment)
    assert await refused(cluster, deletion) == "SEGMENT_ACTIVE"
    await cluster.node.propose(following(cluster), ShardState)
    deleted = await cluster.node.propose(deletion, Segment)

    assert deleted.status == SEGMENT_STATUS_DELETING
    assert await cluster.node.propose(deletion, Segment) == deleted
    claimed = RecordSegmentStart(
        shard="s", segment=0, claim=LeaderClaim(engine="a", broker_epoch=1, leader_epoch=1)
    )
    assert await refused(cluster, claimed) == "SEGMENT_DELETING"


async def test_the_leader_shrinks_and_grows_the_in_sync_replicas(cluster: EngineCluster) -> None:
    segment = await started(cluster)
    [second, third] = segment.replicas[1:]

    shrunk = await cluster.set_isr(segment, [segment.leader])
    grown = await cluster.set_isr(shrunk, [segment.leader, third, second])

    assert list(shrunk.isr) == [segment.leader]
    assert list(grown.isr) == [segment.leader, third, second]
    assert [each.segment_epoch for each in (segment, shrunk, grown)] == [1, 2, 3]
    assert grown.leader_epoch == segment.leader_epoch


async def test_of_two_updates_of_one_epoch_one_wins(cluster: EngineCluster) -> None:
    segment = await started(cluster)
    first = update(cluster, segment.leader)
    second = update(cluster, "".join(segment.replicas[:2]))

    await cluster.node.propose(first, Segment)

    assert await refused(cluster, second) == "STALE_SEGMENT_EPOCH"


Change = Callable[[UpdateSegmentIsr], None]


def _claims(**fields: object) -> Change:
    def change(command: UpdateSegmentIsr) -> None:
        for field, value in fields.items():
            setattr(command.claim, field, value)

    return change


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda command: setattr(command, "shard", "t"), "SHARD_NOT_FOUND"),
        (lambda command: setattr(command, "segment", 1), "SEGMENT_NOT_FOUND"),
        (_claims(engine="nobody"), "NOT_LEADER"),
        (_claims(leader_epoch=2), "FENCED_LEADER_EPOCH"),
        (_claims(broker_epoch=99), "STALE_BROKER_EPOCH"),
        (lambda command: setattr(command, "segment_epoch", 2), "STALE_SEGMENT_EPOCH"),
        (lambda command: command.isr.pop(0), "INVALID_ISR"),
        (lambda command: command.isr.add(engine="stranger"), "INVALID_ISR"),
    ],
)
async def test_each_wrong_field_has_its_own_reason(
    cluster: EngineCluster, change: Change, code: str
) -> None:
    segment = await started(cluster)
    command = update(cluster, "".join(segment.replicas))
    change(command)

    assert await refused(cluster, command) == code


async def test_a_leader_that_registered_again_waits_for_its_election(
    cluster: EngineCluster,
) -> None:
    segment = await started(cluster)
    command = update(cluster, segment.leader)
    await cluster.register(segment.leader)

    assert await refused(cluster, command) == "STALE_BROKER_EPOCH"
    command.claim.broker_epoch = cluster.broker_epoch(segment.leader)
    assert await refused(cluster, command) == "STALE_BROKER_EPOCH"


async def test_a_leader_without_a_registration_is_not_heard(cluster: EngineCluster) -> None:
    segment = await started(cluster)
    command = update(cluster, segment.leader)
    await cluster.unregister(segment.leader)

    assert await refused(cluster, command) == "STALE_BROKER_EPOCH"


async def test_who_joins_does_so_under_the_epoch_in_which_it_caught_up(
    cluster: EngineCluster,
) -> None:
    segment = await started(cluster)
    follower = segment.replicas[1]
    await cluster.set_isr(segment, [segment.leader])
    command = update(cluster, segment.leader + follower)

    await cluster.register(follower)
    assert await refused(cluster, command) == "INELIGIBLE_REPLICA"
    await cluster.unregister(follower)
    assert await refused(cluster, command) == "INELIGIBLE_REPLICA"
    command.isr[1].broker_epoch = 0
    assert await refused(cluster, command) == "INELIGIBLE_REPLICA"


async def test_who_is_in_sync_may_stay_while_it_is_gone(cluster: EngineCluster) -> None:
    segment = await started(cluster)
    follower = segment.replicas[1]
    await cluster.unregister(follower)

    kept = await cluster.set_isr(segment, [segment.leader, follower])

    assert list(kept.isr) == [segment.leader, follower]


async def test_a_batch_refuses_the_wrong_update_alone(cluster: EngineCluster) -> None:
    await started(cluster)
    other = await cluster.create_shard("t")
    right = update(cluster, cluster.segment().leader)
    wrong = update(cluster, other.leader)
    wrong.shard = "t"
    wrong.claim.CopyFrom(cluster.claim(other))
    wrong.segment_epoch = 9

    reply = await cluster.node.propose(UpdateSegmentIsrs(updates=[wrong, right]), BatchReply)

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "STALE_SEGMENT_EPOCH")]
    assert Segment.FromString(reply.replies[1]) == cluster.segment()


async def test_a_shard_that_is_being_deleted_hears_no_leader(cluster: EngineCluster) -> None:
    segment = await started(cluster)
    commands = [
        update(cluster, segment.leader),
        sealing(cluster),
        following(cluster),
    ]
    await cluster.node.propose(DeleteShard(name="s"), Shard)

    assert [await refused(cluster, command) for command in commands] == ["SHARD_DELETING"] * 3


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda command: command.isr.add(engine=command.isr[0].engine), "isr"),
        (lambda command: command.ClearField("isr"), "isr"),
        (_claims(engine=""), "claim.engine"),
        (_claims(leader_epoch=0), "claim.leader_epoch"),
        (_claims(broker_epoch=0), "claim.broker_epoch"),
    ],
)
async def test_what_can_never_be_right_is_not_logged(
    cluster: EngineCluster, change: Change, field: str
) -> None:
    segment = await started(cluster)
    command = update(cluster, segment.leader)
    change(command)
    before = len(cluster.node.proposals)

    with pytest.raises(Invalid) as refusal:
        await cluster.node.propose(command, Segment)

    assert refusal.value.field == field
    assert len(cluster.node.proposals) == before

"""Masters are elected among replicas that hold every acknowledged message, one in each epoch."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings, strategies as st
from quorate.plugin import Rejected
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate_name_server.replication import apply
from quorate_name_server.replication.electing import elect
from quorate_name_server.replication.rows import SETS, find_set
from quorate_name_server.v1 import replica_sets_pb2 as pb

from plugins.name_server.tests.memory import Node


class Sets:
    """Does one thing at a time with the replicas of broker-a."""

    def __init__(self, node: Node) -> None:
        self.node = node

    async def do(self, command: Message) -> bytes:
        """Carry out a batch of one, and return its reply; raises `Rejected`."""
        reply = await self.node.propose(command, BatchReply)
        for refusal in reply.refusals:
            raise Rejected(refusal.code, refusal.message)
        return reply.replies[0] if reply.replies else b""

    async def start(self, *ids: int, epoch: int = 0, max_offset: int = 0) -> None:
        """Let replicas take ids, register and send a heartbeat."""
        for number in ids:
            wanted = pb.ReplicaId(
                name="broker-a", cluster="C1", id=number, check_code=f"code {number}"
            )
            await self.do(pb.ApplyReplicaIds(replicas=[wanted]))
            said = pb.ReplicaAddress(name="broker-a", id=number, address=f"10.0.0.{number}:1")
            await self.do(pb.RegisterReplicas(replicas=[said]))
            await self.heartbeat(number, epoch=epoch, max_offset=max_offset)

    async def heartbeat(self, number: int, **state: int) -> None:
        said = pb.ReplicaHeartbeat(name="broker-a", id=number, state=pb.ReplicaState(**state))
        await self.do(pb.SendReplicaHeartbeats(replicas=[said]))

    async def lose(self, number: int, address: str = "") -> None:
        lost = pb.ReplicaAddress(
            name="broker-a", id=number, address=address or f"10.0.0.{number}:1"
        )
        await self.do(pb.LoseReplicas(replicas=[lost]))

    async def elect(self, number: int = 0, **how: bool) -> pb.Elected:
        election = pb.Election(name="broker-a", id=number, **how)
        return pb.Elected.FromString(await self.do(pb.ElectMasters(elections=[election])))

    async def alter(self, *in_sync: int, **said: Any) -> pb.ReplicaSet:
        found = await self.found()
        about = {
            "master": found.master,
            "master_epoch": found.master_epoch,
            "in_sync_epoch": found.in_sync_epoch,
        }
        altered = pb.InSyncSet(name="broker-a", in_sync=in_sync, **about | said)
        return pb.ReplicaSet.FromString(await self.do(pb.AlterInSyncSets(sets=[altered])))

    async def clean(self, *ids: int, living: bool = False) -> None:
        cleaning = pb.ReplicaCleaning(name="broker-a", ids=ids, living=living)
        await self.do(pb.CleanReplicas(sets=[cleaning]))

    async def found(self) -> pb.ReplicaSet:
        [stored] = self.node.rows(SETS).values()
        return pb.ReplicaSet.FromString(stored)


@pytest.fixture
def sets(node: Node) -> Sets:
    return Sets(node)


async def test_the_first_that_asks_becomes_the_master(sets: Sets) -> None:
    await sets.start(1, 2)
    elected = await sets.elect(2)
    assert elected.changed
    assert (elected.set.master, elected.set.master_epoch) == (2, 1)
    assert list(elected.set.in_sync) == [2]

    again = await sets.elect(1)
    assert not again.changed
    assert again.set.master == 2


async def test_an_id_belongs_to_the_process_that_took_it_first(sets: Sets) -> None:
    await sets.start(1)
    taken = pb.ReplicaId(name="broker-a", cluster="C1", id=1, check_code="another")
    with pytest.raises(Rejected, match="apply for 2"):
        await sets.do(pb.ApplyReplicaIds(replicas=[taken]))
    ahead = pb.ReplicaId(name="broker-b", cluster="C1", id=2, check_code="x")
    with pytest.raises(Rejected, match="apply for 1"):
        await sets.do(pb.ApplyReplicaIds(replicas=[ahead]))

    await sets.start(1, 2)
    await sets.lose(2)
    await sets.clean(2)
    with pytest.raises(Rejected, match="apply for 3"):
        await sets.start(2)


async def test_a_lost_master_is_replaced_at_once_by_one_in_sync(sets: Sets) -> None:
    await sets.start(1, 2, 3)
    await sets.elect(1)
    await sets.alter(1, 3)
    await sets.lose(1)

    found = await sets.found()
    assert (found.master, found.master_epoch, list(found.in_sync)) == (3, 2, [3])


async def test_a_connection_of_a_replica_that_is_elsewhere_by_now_ends_nothing(sets: Sets) -> None:
    await sets.start(1, 2)
    await sets.elect(1)
    await sets.lose(1, address="10.0.0.9:1")
    assert (await sets.found()).master == 1


async def test_of_those_in_sync_the_one_is_elected_that_has_come_furthest(sets: Sets) -> None:
    await sets.start(1, 2, 3, 4)
    await sets.elect(1)
    await sets.alter(1, 2, 3, 4)
    await sets.heartbeat(2, epoch=1, max_offset=5_000_000_000)
    await sets.heartbeat(3, epoch=1, max_offset=5_000_000_001, priority=2)
    await sets.heartbeat(4, epoch=1, max_offset=5_000_000_001, priority=1)
    await sets.lose(1)
    assert (await sets.found()).master == 4


async def test_without_a_replica_in_sync_there_is_no_master(sets: Sets) -> None:
    await sets.start(1, 2)
    await sets.elect(1)
    await sets.lose(1)
    found = await sets.found()
    assert (found.master, found.master_epoch) == (0, 2)

    for _ in range(3):
        with pytest.raises(Rejected, match="no in-sync replica"):
            await sets.elect(2)
    assert (await sets.found()).master_epoch == 2

    await sets.heartbeat(1)
    assert (await sets.elect(2)).set.master == 1


async def test_an_operator_may_elect_one_that_lacks_messages(sets: Sets) -> None:
    await sets.start(1, 2)
    await sets.elect(1)
    await sets.lose(1)
    assert (await sets.elect(unclean=True)).set.master == 2


async def test_a_designated_replica_must_be_in_sync(sets: Sets) -> None:
    await sets.start(1, 2)
    await sets.elect(1)
    with pytest.raises(Rejected, match="2 is not among them"):
        await sets.elect(2, designated=True)
    await sets.alter(1, 2)
    elected = await sets.elect(2, designated=True)
    assert elected.changed
    assert elected.set.master == 2


async def test_a_replica_that_says_nothing_for_its_timeout_is_dead(sets: Sets, node: Node) -> None:
    await sets.start(1, 2)
    await sets.elect(1)
    await sets.alter(1, 2)
    await node.advance(9_000)
    await sets.heartbeat(2)
    await node.advance(1_001)

    found = await sets.found()
    assert found.master == 2
    assert [each.alive for each in found.replicas] == [False, True]


async def test_a_master_that_was_elected_before_its_first_heartbeat_expires(
    sets: Sets, node: Node
) -> None:
    await sets.do(
        pb.ApplyReplicaIds(
            replicas=[pb.ReplicaId(name="broker-a", cluster="C1", id=1, check_code="c")]
        )
    )
    await sets.elect(1)
    await node.advance(10_001)
    assert (await sets.found()).master == 0


@pytest.mark.parametrize(
    ("in_sync", "said", "code"),
    [
        ([1], {}, apply.INVALID_SET),
        ([1, 2], {"master": 2}, apply.NOT_MASTER),
        ([1, 2], {"master_epoch": 7}, apply.OLDER_MASTER_EPOCH),
        ([1, 2], {"in_sync_epoch": 7}, apply.OLDER_IN_SYNC_EPOCH),
        ([1, 9], {}, "UNKNOWN_REPLICA"),
        ([1, 3], {}, apply.REPLICA_DEAD),
        ([2], {}, apply.INVALID_SET),
    ],
)
async def test_only_the_master_of_now_says_which_replicas_are_in_sync(
    sets: Sets, in_sync: list[int], said: dict[str, int], code: str
) -> None:
    await sets.start(1, 2, 3)
    await sets.elect(1)
    await sets.lose(3)
    with pytest.raises(Rejected) as refused:
        await sets.alter(*in_sync, **said)
    assert refused.value.code == code
    assert list((await sets.found()).in_sync) == [1]


async def test_a_living_replica_is_removed_only_when_told_so(sets: Sets, node: Node) -> None:
    await sets.start(1, 2)
    await sets.elect(1)
    await sets.alter(1, 2)
    with pytest.raises(Rejected, match="is alive"):
        await sets.clean(1)
    await sets.clean(1, living=True)
    found = await sets.found()
    assert (found.master, [each.id for each in found.replicas]) == (2, [2])

    await sets.clean(living=True)
    assert not node.rows(SETS)


actions = st.one_of(
    st.tuples(st.sampled_from(["beat", "lose", "elect", "designate"]), st.integers(1, 3)),
    st.tuples(st.just("alter"), st.sets(st.integers(1, 3), min_size=1)),
)


@settings(max_examples=200)
@given(steps=st.lists(actions, max_size=30))
def test_no_master_lacks_an_acknowledged_message(steps: list[tuple[str, Any]]) -> None:
    txn = MemoryTxn(at_ms=1_000)
    for number in (1, 2, 3):
        apply.apply_id(txn, pb.ReplicaId(name="a", cluster="C", id=number, check_code=f"c{number}"))
        apply.register(txn, pb.ReplicaAddress(name="a", id=number, address=f"h:{number}"))
    masters: dict[int, int] = {}
    epoch, in_sync = 0, [1, 2, 3]
    for action, what in steps:
        try:
            match action:
                case "beat":
                    apply.take_heartbeat(txn, pb.ReplicaHeartbeat(name="a", id=what))
                case "lose":
                    apply.lose(txn, pb.ReplicaAddress(name="a", id=what, address=f"h:{what}"))
                case "elect" | "designate":
                    elect(txn, pb.Election(name="a", id=what, designated=action == "designate"))
                case _:
                    found = find_set(txn, "a")
                    assert found is not None
                    said = pb.InSyncSet(
                        name="a",
                        master=found.master,
                        master_epoch=found.master_epoch,
                        in_sync=sorted(what),
                        in_sync_epoch=found.in_sync_epoch,
                    )
                    apply.alter_in_sync(txn, said)
        except Rejected:
            pass
        found = find_set(txn, "a")
        assert found is not None
        assert found.master_epoch >= epoch
        if found.master:
            assert masters.setdefault(found.master_epoch, found.master) == found.master
            assert found.master in found.in_sync
            if found.master_epoch > epoch > 0:
                assert found.master in in_sync
        epoch, in_sync = found.master_epoch, list(found.in_sync)

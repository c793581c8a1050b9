"""What the leader of a shard does next for a replica that moves."""

from __future__ import annotations

import pytest
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.status import FollowerStatus, ReplicaStatus
from quorate.plugin.shard_id import ShardId
from quorate.shards.steps import OVER, ChangeMembers, Order, Step, Transfer
from quorate.topology.changes.move import move_step
from quorate.v1.control_pb2 import FinishMove, ReplicaMove, ShardMember, ShardRow

SHARD = ShardId("toy", 0)
A, B, C = (Peer(node, number) for number, node in enumerate("abc", start=1))
PAUSE_S = 0.2


def row(source: Peer | None, target: Peer | None) -> ShardRow:
    move = ReplicaMove(number=6)
    if target is not None:
        move.to.CopyFrom(ShardMember(node=target.node, replica=target.replica))
    if source is not None:
        getattr(move, "from").CopyFrom(ShardMember(node=source.node, replica=source.replica))
    return ShardRow(group="toy", number=0, move=move)


def status(*voters: Peer, learner: Peer | None = None) -> ReplicaStatus:
    """What A says while it leads with these members."""
    configuration = members(*voters, learner=learner)
    return ReplicaStatus(
        role="leader",
        term=1,
        voted_for=A,
        leader=A,
        first=1,
        last=100,
        synced=100,
        commit=50,
        applied=9,
        configuration=configuration,
        configuration_index=10,
        followers=tuple(
            FollowerStatus(peer=peer, mode="replicate", match=90, next=101, silent_s=0.0)
            for peer in configuration.peers
            if peer != A
        ),
    )


def members(*voters: Peer, learner: Peer | None = None) -> Configuration:
    found = [Member(peer) for peer in voters]
    return Configuration.of([*found, *([Member(learner, voter=False)] if learner else ())])


def change(said: str, *voters: Peer, learner: Peer | None = None) -> Step:
    configuration = members(*voters, learner=learner)
    acts = ("move.step", ChangeMembers(configuration), "move.stepped")
    return Step(acts, status=said, pause_s=PAUSE_S)


FINISH = Step(
    (Order(FinishMove(group="toy", number=0, move=6)),), status="removed", pause_s=PAUSE_S
)


@pytest.mark.parametrize(
    ("asked", "of", "step"),
    [
        (ShardRow(group="toy", number=0), status(A, B), OVER),
        (row(B, C), status(A, B), change("learner", A, B, learner=C)),
        (row(B, C), status(A, B, learner=C), change("voter", A, B, C)),
        (row(B, C), status(A, B, C), change("removed", A, C)),
        (
            row(A, C),
            status(A, B, C),
            Step((Transfer("b"),), status="leadership transferred", pause_s=PAUSE_S),
        ),
        (row(B, C), status(A, C), FINISH),
        (row(None, C), status(A, B, C), FINISH),
        (row(B, None), status(A, B, C), change("removed", A, C)),
        (row(B, None), status(A, C), FINISH),
    ],
)
def test_the_new_replica_votes_before_the_old_one_goes(
    asked: ShardRow, of: ReplicaStatus, step: Step
) -> None:
    assert move_step(SHARD, asked, of, patience_s=1.0) == step

"""What the leader of a shard does next for a member that comes or goes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.status import FollowerStatus, ReplicaStatus
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.shards.steps import ChangeMembers, Step, Transfer
from quorate.topology.changes.members import Goal, next_step, promotion_step

SHARD = ShardId("toy", 0)
A, B, C, D = (Peer(node, number) for number, node in enumerate("abcd", start=1))
ADD = Goal("d", D.replica)
HANDED_OVER = Step((Transfer("c"),), status="leadership transferred")


def status(
    *voters: Peer,
    learner: Peer | None = None,
    silent: dict[Peer, float] | None = None,
    mode: str = "replicate",
    agreed: bool = True,
) -> ReplicaStatus:
    """What A says while it leads with these members."""
    members = [Member(peer) for peer in voters]
    if learner is not None:
        members.append(Member(learner, voter=False))
    configuration = Configuration.of(members)
    return ReplicaStatus(
        role="leader",
        term=1,
        voted_for=A,
        leader=A,
        first=1,
        last=100,
        synced=100,
        commit=50 if agreed else 9,
        applied=9,
        configuration=configuration,
        configuration_index=10,
        followers=tuple(
            FollowerStatus(
                peer=peer,
                mode=mode if peer == learner else "replicate",
                match=90 + peer.replica,
                next=101,
                silent_s=(silent or {}).get(peer, 0.0),
            )
            for peer in configuration.peers
            if peer != A
        ),
    )


def taken(goal: Goal, of: ReplicaStatus) -> Step:
    return next_step(SHARD, goal, of, patience_s=1.0)


def members(step: Step) -> str:
    [act] = step.acts
    assert isinstance(act, ChangeMembers)
    shown = (m.peer.node if m.voter else f"({m.peer.node})" for m in act.configuration.members)
    return " ".join(shown)


def test_a_newcomer_learns_then_votes() -> None:
    step = taken(ADD, status(A, B, C))
    assert (step.status, step.over, members(step)) == ("learner", False, "a b c (d)")
    step = taken(ADD, status(A, B, C, learner=D, mode="probe"))
    assert step == Step(status="catching up, 6 entries to go")
    step = taken(ADD, status(A, B, C, learner=D))
    assert (step.status, step.over, members(step)) == ("voter", True, "a b c d")
    assert taken(ADD, status(A, B, C, D)) == Step(status="voter", over=True)


def test_a_member_goes_and_a_leader_hands_over_first() -> None:
    step = taken(Goal("b", None), status(A, B, C))
    assert (step.status, step.over, members(step)) == ("removed", True, "a c")
    assert taken(Goal("d", None), status(A, B, C)) == Step(status="removed", over=True)
    step = taken(Goal("a", None), status(A, B, C, learner=D))
    assert step == HANDED_OVER
    # C has more of the log, and is not there.
    four = status(A, B, C, D, silent={D: 2.0})
    assert taken(Goal("a", None), four) == HANDED_OVER
    step = taken(Goal("d", None), status(A, B, C, learner=D))
    assert members(step) == "a b c"


def test_nothing_is_done_before_the_last_change_is_agreed_upon() -> None:
    for goal in (ADD, Goal("d", None), Goal("b", None)):
        assert taken(goal, status(A, B, C, agreed=False)) == Step(status="waiting")


@pytest.mark.parametrize(
    ("goal", "of", "said"),
    [
        (Goal("b", None), status(A, B, C, silent={C: 1.5}), "2 voters, of which c do not answer"),
        (Goal("a", None), status(A, B, C, silent={C: 1.5}), "2 voters, of which c do not answer"),
        (Goal("a", None), status(A), "a is the last voter of shard"),
        (ADD, status(A, B, C, learner=D, silent={B: 2, C: 2}), "of which b, c do not answer"),
    ],
)
def test_no_step_leaves_a_shard_without_a_living_majority(
    goal: Goal, of: ReplicaStatus, said: str
) -> None:
    with pytest.raises(Rejected, match=said) as refused:
        taken(goal, of)
    assert refused.value.code == "NO_MAJORITY"
    assert "shard toy/0" in refused.value.message


def test_a_newcomer_counts_as_living() -> None:
    """With the leader it is a majority of three."""
    assert members(taken(ADD, status(A, B, silent={B: 9.0}))) == "a b (d)"
    assert members(taken(ADD, status(A, B, learner=D, silent={B: 9.0}))) == "a b d"


def test_who_is_dead_may_go() -> None:
    assert members(taken(Goal("c", None), status(A, B, C, silent={C: 9.0}))) == "a b"


def test_a_newcomer_that_is_not_heard_is_not_waited_for() -> None:
    with pytest.raises(Rejected, match="no contact with d") as refused:
        taken(ADD, status(A, B, C, learner=D, silent={D: 11.0}))
    assert refused.value.code == "SILENT"


def test_another_disk_is_another_member() -> None:
    with pytest.raises(Rejected, match=r"toy/0 has d#.*`quorate member replace d") as refused:
        taken(ADD, status(A, B, C, Peer("d", 9)))
    assert refused.value.code == "OTHER_REPLICA"


def test_a_learner_is_enough_where_that_is_asked() -> None:
    enough = Goal("d", D.replica, votes=None)
    assert members(taken(enough, status(A, B, C))) == "a b c (d)"
    assert taken(enough, status(A, B, C, learner=D)).over
    # One that votes stays as it is.
    assert taken(enough, status(A, B, C, D)) == Step(status="voter", over=True)


def test_a_voter_becomes_a_learner_and_a_leader_hands_over_first() -> None:
    assert members(taken(Goal("c", C.replica, votes=False), status(A, B, C))) == "a b (c)"
    step = taken(Goal("a", A.replica, votes=False), status(A, B, C))
    assert step == HANDED_OVER
    with pytest.raises(Rejected, match="would have 2 voters, of which b do not answer"):
        taken(Goal("c", C.replica, votes=False), status(A, B, C, silent={B: 9.0}))


def test_a_leader_of_a_moment_ago_goes_when_it_has_heard_what_became_of_its_entries() -> None:
    probed = replace(status(A, B, C), followers=(follower(B), follower(C, mode="probe")))
    assert taken(Goal("c", None), probed) == Step(status="waiting")
    silent = replace(probed, followers=(follower(B), follower(C, mode="probe", silent_s=9.0)))
    assert members(taken(Goal("c", None), silent)) == "a b"


def follower(peer: Peer, *, mode: str = "replicate", silent_s: float = 0.0) -> FollowerStatus:
    return FollowerStatus(peer=peer, mode=mode, match=90, next=101, silent_s=silent_s)


@pytest.mark.parametrize(
    ("of", "became"),
    [
        (status(A, B, C), None),
        (status(A, B, learner=D), "a b d"),
        (status(A, B, learner=D, mode="probe"), ""),
        # There is no contact with it, or another change is not agreed upon.
        (status(A, B, learner=D, silent={D: 11.0}), ""),
        (status(A, B, learner=D, agreed=False), ""),
    ],
)
def test_learners_of_a_recovered_shard_vote_once_they_have_caught_up(
    of: ReplicaStatus, became: str | None
) -> None:
    step = promotion_step(SHARD, of, patience_s=1.0)
    assert step.over is (became is None)
    assert (members(step) if step.acts else "") == (became or "")

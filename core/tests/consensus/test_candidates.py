from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.candidates import Candidates
from quorate.consensus.inherited import CANDIDATE, FOLLOWER, LEADER
from quorate.consensus.liveness import Liveness
from quorate.consensus.timing import Timing

if TYPE_CHECKING:
    from quorate.consensus.replica import Replica

    from core.tests.consensus.conftest import Group


class Voter:
    """Stands as soon as it may."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.stands = False

    def stand(self) -> None:
        self.stands = self.candidates.admit(self)

    def end(self) -> None:
        self.stands = False
        self.candidates.leave(self)


def standing(voters: list[Voter]) -> list[int]:
    return [number for number, voter in enumerate(voters) if voter.stands]


@pytest.fixture
def voters() -> list[Voter]:
    candidates = Candidates(2)
    return [Voter(candidates) for _ in range(5)]


def test_the_others_wait_and_follow_in_their_order(voters: list[Voter]) -> None:
    for voter in voters:
        voter.stand()
    assert standing(voters) == [0, 1]
    voters[2].end()
    voters[1].end()
    assert standing(voters) == [0, 3]
    voters[0].end()
    voters[3].end()
    assert standing(voters) == [4]


def test_one_that_failed_lets_those_that_wait_go_first(voters: list[Voter]) -> None:
    for voter in voters:
        voter.stand()
    voters[0].stand()
    assert standing(voters) == [1, 2]
    voters[1].end()
    voters[2].end()
    assert standing(voters) == [3, 4]
    voters[3].end()
    assert standing(voters) == [0, 4]


def test_one_that_asks_again_keeps_its_place(voters: list[Voter]) -> None:
    for voter in voters:
        voter.stand()
    voters[2].stand()
    voters[0].end()
    assert standing(voters) == [1, 2]


def test_any_number_may_have_found_leaders_before_they_are_called() -> None:
    candidates = Candidates(1)
    first = Voter(candidates)
    first.stand()

    class Follower(Voter):
        def stand(self) -> None:
            self.candidates.leave(self)

    for _ in range(10_000):
        assert not candidates.admit(Follower(candidates))
    last = Voter(candidates)
    last.stand()
    first.end()
    assert last.stands


@pytest.fixture
def two(new_group: Callable[..., Group]) -> list[Group]:
    """Groups whose replicas `a` are on one node, where one may stand at a time."""
    groups = [new_group(), new_group()]
    liveness = Liveness(lambda: groups[0].now, Timing(), 1, lambda epoch: None)
    liveness.candidates = Candidates(1)  # type: ignore[misc]
    for group in groups:
        group.replicas["a"].rests_by(liveness)
    return groups


def on_one_node(groups: list[Group]) -> list[Replica]:
    return [group.replicas["a"] for group in groups]


def test_a_replica_stands_once_another_one_leads(two: list[Group]) -> None:
    first, second = on_one_node(two)
    for group in two:
        group.campaign("a")
    assert (first.role, second.role) == (CANDIDATE, FOLLOWER)
    assert second.election_deadline > two[1].now

    two[0].settle()
    assert first.role == LEADER
    assert second.election_deadline <= two[1].now
    second.tick()
    two[1].settle()
    assert second.role == LEADER


def test_a_replica_stands_once_another_one_follows_or_has_ended(two: list[Group]) -> None:
    first, second = on_one_node(two)
    for group in two:
        group.campaign("a")
    first.take_messages()
    two[0].elect("b")
    assert first.role == FOLLOWER
    assert second.election_deadline <= two[1].now

    second.tick()
    two[0].campaign("a")
    assert first.election_deadline > two[0].now
    second.retire()
    assert first.election_deadline <= two[0].now


def test_a_replica_that_is_not_elected_lets_the_others_try(two: list[Group]) -> None:
    first, second = on_one_node(two)
    for group in two:
        group.cut = {("a", "b"), ("a", "c")}
        group.campaign("a")
        group.settle()
    assert second.role == FOLLOWER
    two[0].campaign("a")
    assert first.election_deadline > two[0].now
    assert second.election_deadline <= two[1].now
    second.tick()
    assert second.role == CANDIDATE
    two[1].campaign("a")
    assert second.election_deadline > two[1].now
    assert first.election_deadline <= two[0].now


def test_one_that_has_found_a_leader_meanwhile_does_not_stand(two: list[Group]) -> None:
    first, second = on_one_node(two)
    for group in two:
        group.campaign("a")
    two[1].elect("b")
    two[0].settle()
    assert first.role == LEADER
    assert second.election_deadline > two[1].now


def test_one_whose_leader_is_heard_before_its_turn_makes_room(two: list[Group]) -> None:
    first, second = on_one_node(two)
    leader = two[1].elect("b")
    for group in two:
        group.campaign("a")
    two[0].settle()
    assert (first.role, second.role) == (LEADER, FOLLOWER)
    assert second.election_deadline <= two[1].now

    leader.propose(b"late")
    two[1].settle()
    assert second.leader == leader.me
    two[0].elect("b")
    two[0].campaign("a")
    assert first.role == CANDIDATE

"""Gap 12: how initial members come to the same first entry, and who never does."""

from __future__ import annotations

from itertools import permutations

import pytest
from quorate.consensus.formation import (
    Formation,
    FormationRefusedError,
    Introduction,
    cluster_id,
)
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer

A, B, C = (Peer(node, number) for number, node in enumerate("abc", 1))
MEMBERS = ("a", "b", "c")
FIRST = Configuration.of([Member(A), Member(B), Member(C)])


def new(peer: Peer, members: tuple[str, ...] = MEMBERS) -> Introduction:
    return Introduction(peer, members, b"")


@pytest.mark.parametrize("order", list(permutations([A, B, C])))
def test_whoever_hears_every_member_settles_on_the_same_entry(order: tuple[Peer, ...]) -> None:
    me, *others = order
    formation = Formation(me, [peer.node for peer in order])

    assert formation.introduction() == new(me)
    assert formation.settled() is None
    assert formation.receive(new(others[0])) is None
    assert formation.receive(new(others[0])) is None
    settled = formation.receive(new(others[1]))
    assert settled == FIRST == formation.settled()


def test_a_cluster_of_one_is_settled_at_once() -> None:
    assert Formation(A, ["a", "a"]).settled() == Configuration.of([Member(A)])


def test_a_member_that_came_late_takes_over_the_entry() -> None:
    formed = Introduction(B, MEMBERS, FIRST.encode())

    assert Formation(A, MEMBERS).receive(formed) == FIRST


def test_an_emptied_disk_is_told_what_to_do() -> None:
    formed = Introduction(B, MEMBERS, FIRST.encode())

    with pytest.raises(FormationRefusedError, match=r"new to it.*quorate member replace"):
        Formation(Peer("a", 99), MEMBERS).receive(formed)


def test_the_files_must_name_the_same_members() -> None:
    with pytest.raises(FormationRefusedError, match="b names the initial members b, c"):
        Formation(A, MEMBERS).receive(new(B, ("b", "c")))


def test_a_node_that_is_not_named_joins_a_running_cluster() -> None:
    with pytest.raises(FormationRefusedError, match=r"d is not among .*`quorate member add`"):
        Formation(Peer("d", 4), MEMBERS)


def test_two_directories_under_one_name_are_refused() -> None:
    formation = Formation(A, MEMBERS)
    with pytest.raises(FormationRefusedError, match="another directory calls itself a too"):
        formation.receive(new(Peer("a", 99)))
    formation.receive(new(A))
    formation.receive(new(B))
    assert formation.receive(new(C)) == FIRST


def test_a_cluster_is_named_by_its_token_and_its_first_entry() -> None:
    names = {
        cluster_id("token", FIRST.encode()),
        cluster_id("other", FIRST.encode()),
        cluster_id("token", Configuration.of([Member(A)]).encode()),
    }

    assert {len(name) for name in names} == {16}
    assert len(names) == 3
    assert cluster_id("token", FIRST.encode()) in names

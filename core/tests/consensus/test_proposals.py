"""Gap 10: every proposal is answered once, with what happened."""

from __future__ import annotations

import pytest
from quorate.consensus.proposals import Fate, Proposals, Waiter
from quorate.consensus.status import Proposed

APPLIED, DISCARDED, UNKNOWN = Fate.APPLIED, Fate.DISCARDED, Fate.UNKNOWN


class Waiters:
    def __init__(self) -> None:
        self.proposals = Proposals()
        self.answers: dict[tuple[int, int], list[tuple[Fate, object]]] = {}

    def add(self, index: int, term: int) -> None:
        self.answers.setdefault((index, term), [])
        self.proposals.add(Proposed(index, term), self._waiter(index, term))

    def _waiter(self, index: int, term: int) -> Waiter:
        return lambda fate, result: self.answers[index, term].append((fate, result))


@pytest.fixture
def waiters() -> Waiters:
    return Waiters()


def test_an_applied_proposal_gets_its_result_once(waiters: Waiters) -> None:
    waiters.add(5, 2)
    waiters.proposals.applied(4, 2, "four")
    assert waiters.answers == {(5, 2): []}

    waiters.proposals.applied(5, 2, "five")
    waiters.proposals.applied(5, 2, "again")
    assert waiters.answers == {(5, 2): [(APPLIED, "five")]}


def test_an_overwritten_proposal_is_discarded(waiters: Waiters) -> None:
    waiters.add(5, 2)
    waiters.add(5, 3)
    waiters.proposals.applied(5, 3, "theirs")

    assert waiters.answers == {(5, 2): [(DISCARDED, None)], (5, 3): [(APPLIED, "theirs")]}


def test_an_entry_of_a_later_term_discards_what_would_follow_it(waiters: Waiters) -> None:
    for index, term in ((8, 2), (9, 2), (9, 3), (9, 4)):
        waiters.add(index, term)
    waiters.proposals.applied(7, 3, None)

    assert waiters.answers == {
        (8, 2): [(DISCARDED, None)],
        (9, 2): [(DISCARDED, None)],
        (9, 3): [],
        (9, 4): [],
    }
    waiters.proposals.applied(9, 3, "nine")
    assert waiters.answers[9, 3] == [(APPLIED, "nine")]
    assert waiters.answers[9, 4] == [(DISCARDED, None)]


def test_what_a_snapshot_overtakes_is_unknown(waiters: Waiters) -> None:
    for index in (5, 6, 7):
        waiters.add(index, 2)
    waiters.proposals.overtaken(6)

    assert waiters.answers == {(5, 2): [(UNKNOWN, None)], (6, 2): [(UNKNOWN, None)], (7, 2): []}
    waiters.proposals.applied(7, 2, "seven")
    assert waiters.answers[7, 2] == [(APPLIED, "seven")]


def test_a_replica_that_stops_answers_everybody(waiters: Waiters) -> None:
    waiters.proposals.abandon()
    for index in (5, 60):
        waiters.add(index, 2)
    waiters.proposals.abandon()
    waiters.proposals.abandon()

    assert waiters.answers == {(5, 2): [(UNKNOWN, None)], (60, 2): [(UNKNOWN, None)]}

"""Gap 10: every proposal is answered once, with what happened."""

from __future__ import annotations

import pytest
from quorate.consensus.proposals import Fate, Proposals, Waiter
from quorate.consensus.status import Proposed

APPLIED, DISCARDED, UNKNOWN = Fate.APPLIED, Fate.DISCARDED, Fate.UNKNOWN


class Waiters:
    def __init__(self) -> None:
        self.proposals = Proposals()
        self.answers: dict[tuple[int, int], list[Fate]] = {}

    def add(self, index: int, term: int) -> None:
        self.answers.setdefault((index, term), [])
        self.proposals.add(Proposed(index, term), self._waiter(index, term))

    def _waiter(self, index: int, term: int) -> Waiter:
        return self.answers[index, term].append


@pytest.fixture
def waiters() -> Waiters:
    return Waiters()


def test_an_applied_proposal_is_told_so_once(waiters: Waiters) -> None:
    waiters.add(5, 2)
    waiters.proposals.applied(4, 2)
    assert waiters.answers == {(5, 2): []}

    waiters.proposals.applied(5, 2)
    waiters.proposals.applied(5, 2)
    assert waiters.answers == {(5, 2): [APPLIED]}


def test_an_overwritten_proposal_is_discarded(waiters: Waiters) -> None:
    waiters.add(5, 2)
    waiters.add(5, 3)
    waiters.proposals.applied(5, 3)

    assert waiters.answers == {(5, 2): [DISCARDED], (5, 3): [APPLIED]}


def test_an_entry_of_a_later_term_discards_what_would_follow_it(waiters: Waiters) -> None:
    for index, term in ((8, 2), (9, 2), (9, 3), (9, 4)):
        waiters.add(index, term)
    waiters.proposals.applied(7, 3)

    assert waiters.answers == {
        (8, 2): [DISCARDED],
        (9, 2): [DISCARDED],
        (9, 3): [],
        (9, 4): [],
    }
    waiters.proposals.applied(9, 3)
    assert waiters.answers[9, 3] == [APPLIED]
    assert waiters.answers[9, 4] == [DISCARDED]


def test_what_a_snapshot_overtakes_is_unknown(waiters: Waiters) -> None:
    for index in (5, 6, 7):
        waiters.add(index, 2)
    waiters.proposals.overtaken(6)

    assert waiters.answers == {(5, 2): [UNKNOWN], (6, 2): [UNKNOWN], (7, 2): []}
    waiters.proposals.applied(7, 2)
    assert waiters.answers[7, 2] == [APPLIED]


def test_a_replica_that_stops_answers_everybody(waiters: Waiters) -> None:
    waiters.proposals.abandon()
    for index in (5, 60):
        waiters.add(index, 2)
    waiters.proposals.abandon()
    waiters.proposals.abandon()

    assert waiters.answers == {(5, 2): [UNKNOWN], (60, 2): [UNKNOWN]}

import pytest
from quorate.consensus.messages import Entry, EntryKind, Peer
from quorate.testing.sim.facts import Acknowledged, Applied, Ended, Fact, Refused
from quorate.testing.sim.history import Violation
from quorate.testing.sim.invariants.acknowledged_survives import AcknowledgedSurvives

A = Peer("a", 1)


def _applied(payload: bytes) -> Applied:
    return Applied("s0", A, Entry(1, 1, EntryKind.COMMAND, payload), 1, 0)


def test_what_was_told_and_stays_is_fine() -> None:
    judge = AcknowledgedSurvives()
    for fact in (
        _applied(b"x"),
        Acknowledged("s0", A, 1, b"x"),
        Refused("s0", A, b"y"),
        Ended("s0", A, 1, 0),
    ):
        judge.see(fact)


@pytest.mark.parametrize(
    "history",
    [
        (Acknowledged("s0", A, 1, b"x"),),
        (_applied(b"x"), Acknowledged("s0", A, 1, b"x"), _applied(b"y")),
        (_applied(b"x"), Acknowledged("s0", A, 1, b"x"), Ended("s0", A, 0, 0)),
        (_applied(b"x"), Refused("s0", A, b"x")),
        (Refused("s0", A, b"x"), _applied(b"x")),
    ],
)
def test_a_word_that_is_broken_is_a_violation(history: tuple[Fact, ...]) -> None:
    judge = AcknowledgedSurvives()
    for fact in history[:-1]:
        judge.see(fact)
    with pytest.raises(Violation, match="acknowledged proposals survive"):
        judge.see(history[-1])

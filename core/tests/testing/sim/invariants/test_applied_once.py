import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.messages import Entry, EntryKind, Peer
from quorate.testing.sim.facts import Applied, Fact, Installed, Opened
from quorate.testing.sim.history import Violation
from quorate.testing.sim.invariants.applied_once import AppliedOnce

A, B = Peer("a", 1), Peer("b", 1)


def _applied(index: int, payload: bytes, peer: Peer = A) -> Applied:
    return Applied("s0", peer, Entry(index, 1, EntryKind.COMMAND, payload), index, 0)


def test_entries_in_order_are_fine_and_a_restart_may_fall_back() -> None:
    judge = AppliedOnce()
    judge.see(_applied(1, b"x"))
    judge.see(_applied(2, b"y"))
    judge.see(Opened("s0", A, Position(0, 0), (1, 1), (), HardState(1, None), 1, None))
    judge.see(_applied(2, b"y"))
    judge.see(Installed("s0", A, Position(9, 1), 0, 9))
    judge.see(_applied(10, b"z"))


@pytest.mark.parametrize(
    "fact",
    [
        _applied(1, b"x"),
        _applied(4, b"z"),
        _applied(3, b"x"),
        Installed("s0", A, Position(2, 1), 0, 2),
    ],
)
def test_a_repetition_or_a_gap_is_a_violation(fact: Fact) -> None:
    judge = AppliedOnce()
    judge.see(_applied(1, b"x"))
    judge.see(_applied(2, b"y"))
    with pytest.raises(Violation, match="applied once"):
        judge.see(fact)

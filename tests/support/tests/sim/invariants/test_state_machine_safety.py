import pytest
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Entry, EntryKind, Peer

from tests.support.sim.facts import Applied, Committed, Ended, Fact, StateAt
from tests.support.sim.history import Violation
from tests.support.sim.invariants.state_machine_safety import StateMachineSafety

A, B = Peer("a", 1), Peer("b", 1)
ENTRY = Entry(1, 1, EntryKind.COMMAND, b"x")
OTHER = Entry(1, 2, EntryKind.COMMAND, b"y")
ALONE = Configuration((Member(A),))


def test_equal_entries_and_digests_are_safe() -> None:
    judge = StateMachineSafety()
    judge.see(Committed("s0", A, True, 1, ALONE, (ENTRY,)))
    judge.see(Applied("s0", A, ENTRY))
    judge.see(Applied("s0", B, ENTRY))
    judge.see(StateAt("s0", A, 1, 7, 3))
    judge.see(StateAt("s0", B, 1, 7, 3))
    judge.see(Applied("s1", B, OTHER))


@pytest.mark.parametrize(
    "fact",
    [
        Committed("s0", B, False, 2, ALONE, (OTHER,)),
        Applied("s0", B, OTHER),
        StateAt("s0", B, 1, 8, 3),
        StateAt("s0", B, 1, 7, 4),
        Ended("s0", B, 1, 8, {}),
    ],
)
def test_a_replica_that_differs_is_a_violation(fact: Fact) -> None:
    judge = StateMachineSafety()
    judge.see(Applied("s0", A, ENTRY))
    judge.see(StateAt("s0", A, 1, 7, 3))
    with pytest.raises(Violation, match="state-machine safety"):
        judge.see(fact)

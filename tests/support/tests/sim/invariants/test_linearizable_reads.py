import pytest
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.consensus.messages import Peer

from tests.support.sim.facts import Acknowledged, ReadBegan, ReadEnded
from tests.support.sim.history import Violation
from tests.support.sim.invariants.linearizable_reads import LinearizableReads

A = Peer("a", 1)
DONE = Acknowledged("s0", A, LoggedCommand("x", b""), Outcome(5 << 20))


def test_a_read_may_miss_what_ended_after_it_began() -> None:
    judge = LinearizableReads()
    judge.see(ReadBegan("s0", A, 1))
    judge.see(DONE)
    judge.see(ReadEnded("s0", A, 1, 4))


def test_a_read_behind_an_acknowledgement_is_a_violation() -> None:
    judge = LinearizableReads()
    judge.see(DONE)
    judge.see(ReadBegan("s0", A, 1))
    with pytest.raises(Violation, match="serves read 1 at index 4"):
        judge.see(ReadEnded("s0", A, 1, 4))


def test_a_read_behind_an_earlier_read_is_a_violation() -> None:
    judge = LinearizableReads()
    judge.see(ReadBegan("s0", A, 1))
    judge.see(ReadEnded("s0", A, 1, 6))
    judge.see(ReadBegan("s0", A, 2))
    with pytest.raises(Violation, match="serves read 2 at index 5"):
        judge.see(ReadEnded("s0", A, 2, 5))

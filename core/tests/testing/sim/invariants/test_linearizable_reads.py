import pytest
from quorate.consensus.messages import Peer
from quorate.testing.sim.facts import Acknowledged, ReadBegan, ReadEnded
from quorate.testing.sim.history import Violation
from quorate.testing.sim.invariants.linearizable_reads import LinearizableReads

A = Peer("a", 1)


def test_a_read_may_miss_what_ended_after_it_began() -> None:
    judge = LinearizableReads()
    judge.see(ReadBegan("s0", A, 1))
    judge.see(Acknowledged("s0", A, 5, b"x"))
    judge.see(ReadEnded("s0", A, 1, 4))


def test_a_read_behind_an_acknowledgement_is_a_violation() -> None:
    judge = LinearizableReads()
    judge.see(Acknowledged("s0", A, 5, b"x"))
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

import pytest
from quorate.consensus.messages import Peer

from tests.support.sim.facts import StaleRead
from tests.support.sim.history import Violation
from tests.support.sim.invariants.stale_reads import StaleReads


def test_a_read_at_what_was_asked_for_is_fine() -> None:
    StaleReads().see(StaleRead("s0", Peer("a", 1), 7, 7))


def test_an_older_one_is_a_violation() -> None:
    with pytest.raises(Violation, match="serves revision 6 to who has seen 7"):
        StaleReads().see(StaleRead("s0", Peer("a", 1), 7, 6))

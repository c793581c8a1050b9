import pytest
from quorate.consensus.messages import Peer

from tests.support.sim.facts import Healed
from tests.support.sim.history import Violation
from tests.support.sim.invariants.liveness import Liveness


def _healed(*, served: bool) -> Healed:
    return Healed("s0", Peer("", 0), 4.0, served)


def test_a_shard_that_serves_is_alive() -> None:
    Liveness().see(_healed(served=True))


def test_a_shard_that_does_not_is_a_violation() -> None:
    with pytest.raises(Violation, match=r"within 4\.0 s"):
        Liveness().see(_healed(served=False))

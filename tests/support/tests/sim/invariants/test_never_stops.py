import pytest
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import ReplicaStoppedError

from tests.support.sim.facts import Stopped
from tests.support.sim.history import Violation
from tests.support.sim.invariants.never_stops import NeverStops


def test_a_replica_that_stops_is_a_violation() -> None:
    stopped = Stopped("s0", Peer("a", 1), ReplicaStoppedError("two leaders", "report it"))
    with pytest.raises(Violation, match="two leaders; report it"):
        NeverStops().see(stopped)

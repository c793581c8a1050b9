import pytest
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.testing.sim.facts import Stopped
from quorate.testing.sim.history import Violation
from quorate.testing.sim.invariants.never_stops import NeverStops


def test_a_replica_that_stops_is_a_violation() -> None:
    stopped = Stopped("s0", Peer("a", 1), ReplicaStoppedError("two leaders", "report it"))
    with pytest.raises(Violation, match="two leaders; report it"):
        NeverStops().see(stopped)

"""The documents' timing: heartbeat 250 ms, election from 299 ms."""

from collections import Counter
from collections.abc import Iterator

import pytest
from quorate.consensus.messages import Peer, weight

from tests.support.sim.facts import Appended, Fact
from tests.support.sim.profile import DOCUMENTS, QUIET, Profile
from tests.support.sim.simulation import Simulation

TEN_MINUTES_S = 600.0
SHARD = "sim/0"


class Written:
    """Weighs what each replica wrote behind the first entry, which all write by themselves."""

    name = "weight of entries"
    judges = (Appended,)

    def __init__(self) -> None:
        self.by: Counter[Peer] = Counter()

    def see(self, fact: Fact) -> None:
        assert isinstance(fact, Appended)
        self.by[fact.peer] += sum(weight(entry) for entry in fact.entries if entry.index > 1)


@pytest.fixture(scope="module")
def written() -> Written:
    return Written()


@pytest.fixture(scope="module")
def quiet(written: Written) -> Iterator[Simulation]:
    profile = Profile(
        spares=0,
        timing=DOCUMENTS,
        faults=QUIET,
        seconds=TEN_MINUTES_S,
        proposals=2.0,
        reads=1.0,
        stale_reads=1.0,
        session_commands=1.0,
    )
    with Simulation(1, profile, written) as simulation:
        assert simulation.run().violation is None
        yield simulation


@pytest.mark.ci
def test_it_keeps_one_leader_and_one_term_for_ten_minutes(quiet: Simulation) -> None:
    assert quiet.history.elections == 1
    assert {hosted.replica.term for hosted in quiet.cluster.replicas(SHARD)} == {1}
    assert quiet.cluster.counts["acknowledged"] > 1000


@pytest.mark.ci
def test_entries_travel_once_to_each_follower(quiet: Simulation, written: Written) -> None:
    leader = quiet.cluster.leader(SHARD)
    assert leader is not None
    assert leader.replica.entry_bytes_sent == 2 * written.by[leader.replica.me]


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(10))
def test_it_fails_over_when_the_leader_is_gone(seed: int) -> None:
    profile = Profile(spares=0, timing=DOCUMENTS, faults=QUIET, seconds=5.0)
    with Simulation(seed, profile) as simulation:
        assert simulation.run().violation is None
        old = simulation.cluster.leader(SHARD)
        assert old is not None
        simulation.cluster.nodes[old.peer.node].kill()
        simulation.world.run(simulation.world.now + 2.0)
        new = simulation.cluster.leader(SHARD)
        assert new is not None
        assert new.term > old.term
        assert simulation.history.violation is None

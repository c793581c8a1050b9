"""Shards at rest: what wakes them, and that no shard is left without a leader."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from quorate.consensus.liveness import Liveness, _Heard
from quorate.consensus.replica import Replica

from tests.support.sim.hosted import Hosted
from tests.support.sim.profile import QUICK, QUIET, Profile
from tests.support.sim.simulation import Simulation

SHARD = "sim/0"
#: Longer than a node may be silent and an election may take.
RECOVERED_S = 2.0
#: Long enough to fall asleep from whatever went on before.
ASLEEP_S = 3.0

IDLE = Profile(
    spares=0,
    faults=QUIET,
    timing=replace(QUICK, rest_s=0.2),
    rests=True,
    proposals=0.0,
    reads=0.0,
    stale_reads=0.0,
    sessions=0,
    watchers=0,
)


@pytest.fixture(params=[1, 2, 3])
def sim(request: pytest.FixtureRequest) -> Iterator[Simulation]:
    with Simulation(request.param, IDLE) as simulation:
        simulation.cluster.start()
        run(simulation, ASLEEP_S)
        assert rest(simulation)
        yield simulation
        assert simulation.history.violation is None


def run(sim: Simulation, seconds: float) -> None:
    sim.world.run(sim.world.now + seconds)


def rest(sim: Simulation) -> bool:
    return all(each.replica.resting for each in sim.cluster.replicas(SHARD))


def leader(sim: Simulation) -> Hosted:
    found = sim.cluster.leader(SHARD)
    assert found is not None
    return found


def followers(sim: Simulation) -> list[Hosted]:
    return [each for each in sim.cluster.replicas(SHARD) if not each.leads]


def node_of(sim: Simulation, hosted: Hosted) -> Any:
    return sim.cluster.nodes[hosted.peer.node]


def led_by_another(sim: Simulation, old: Hosted) -> bool:
    run(sim, RECOVERED_S)
    found = sim.cluster.leader(SHARD)
    return found is not None and found.peer != old.peer


def written(sim: Simulation, at: Hosted) -> bool:
    """Write at a replica; whether it is acknowledged soon."""
    answers: list[object] = []
    assert sim.traffic.propose(at, sim.traffic.invent(SHARD), answers.append)
    run(sim, 0.1)
    return bool(answers) and not isinstance(answers[0], BaseException)


def kill(sim: Simulation, old: Hosted) -> None:
    node_of(sim, old).kill()


def lose_disk_and_come_back(sim: Simulation, old: Hosted) -> None:
    """It is heard again at once, and is no member any more."""
    node = node_of(sim, old)
    node.empty()
    node.start()


def close_replica(sim: Simulation, old: Hosted) -> None:
    """The process goes on without this replica."""
    del old.process.hosted[SHARD]
    old.process.loop.run(old.shard.stop)


def isolate(sim: Simulation, old: Hosted) -> None:
    me = old.peer.node
    others = [name for name in sim.cluster.nodes if name != me]
    sim.cluster.network.cut([pair for each in others for pair in ((me, each), (each, me))])


def silence(sim: Simulation, old: Hosted) -> None:
    """It hears the others, and they do not hear it."""
    me = old.peer.node
    sim.cluster.network.cut([(me, each) for each in sim.cluster.nodes if each != me])


LOSSES: list[Callable[[Simulation, Hosted], None]] = [
    kill,
    lose_disk_and_come_back,
    close_replica,
    isolate,
    silence,
]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_leader_that_is_lost_at_rest_has_a_successor(
    sim: Simulation, lose: Callable[[Simulation, Hosted], None]
) -> None:
    old = leader(sim)
    lose(sim, old)
    assert led_by_another(sim, old)
    assert written(sim, leader(sim))


@pytest.mark.parametrize(
    ("lose", "owner", "rule"),
    [
        (kill, Liveness, "beat"),
        (lose_disk_and_come_back, Liveness, "hear"),
        (close_replica, Liveness, "renew"),
        (isolate, Replica, "rouse"),
    ],
)
def test_each_rule_is_needed(
    sim: Simulation,
    monkeypatch: pytest.MonkeyPatch,
    lose: Callable[[Simulation, Hosted], None],
    owner: type[object],
    rule: str,
) -> None:
    def beat(self: Liveness) -> None:
        self._send(self.epoch)

    def hear(self: Liveness, node: str, epoch: int) -> None:
        """It takes the new life of a node for the former one."""
        known = self._heard.get(node, _Heard(0.0, epoch, alive=True))
        self._heard[node] = known._replace(at=self._clock())

    broken: dict[str, Callable[..., None]] = {
        "beat": beat,
        "hear": hear,
        "renew": lambda self: None,
        "rouse": lambda self, node: None,
    }
    monkeypatch.setattr(owner, rule, broken[rule])
    old = leader(sim)
    lose(sim, old)
    assert not led_by_another(sim, old)


def test_only_nodes_send_heartbeats(sim: Simulation) -> None:
    sent = sim.cluster.network.sent
    run(sim, 3.0)
    assert sim.cluster.network.sent - sent <= 6 * (3.0 / IDLE.timing.heartbeat_s + 1)
    assert rest(sim)
    assert sim.history.elections == 1


def test_a_write_wakes_it_without_an_election(sim: Simulation) -> None:
    assert written(sim, leader(sim))
    assert all(each.applied == leader(sim).applied for each in sim.cluster.replicas(SHARD))
    run(sim, ASLEEP_S)
    assert rest(sim)
    assert sim.history.elections == 1


def test_a_read_on_a_follower_is_answered_by_the_leader_at_rest(sim: Simulation) -> None:
    follower = followers(sim)[0]
    done: list[asyncio.Future[int]] = []
    follower.process.loop.run(lambda: done.append(follower.shard.read_barrier()))
    run(sim, 0.2)
    assert done[0].result() == follower.applied
    assert not leader(sim).replica.resting


def test_a_follower_that_is_started_again_finds_its_leader(sim: Simulation) -> None:
    old, node = leader(sim), node_of(sim, followers(sim)[0])
    node.kill()
    node.start()
    run(sim, RECOVERED_S)
    [back] = [each for each in followers(sim) if each.peer.node == node.name]
    assert back.replica.leader == old.peer
    run(sim, ASLEEP_S)
    assert rest(sim)
    assert sim.history.elections == 1


def test_the_others_rest_without_a_dead_follower_and_wake_when_it_is_back(sim: Simulation) -> None:
    old, node = leader(sim), node_of(sim, followers(sim)[0])
    node.kill()
    run(sim, ASLEEP_S)
    assert rest(sim)
    assert leader(sim) is old
    assert written(sim, old)
    run(sim, ASLEEP_S)
    assert rest(sim)
    node.start()
    run(sim, RECOVERED_S)
    assert all(each.applied == old.applied for each in sim.cluster.replicas(SHARD))
    run(sim, ASLEEP_S)
    assert rest(sim)


def test_a_leader_that_slept_through_an_election_follows(sim: Simulation) -> None:
    old = leader(sim)
    old.process.pause()
    run(sim, RECOVERED_S + ASLEEP_S)
    new = leader(sim)
    assert new is not old
    assert new.replica.resting
    old.process.resume()
    run(sim, RECOVERED_S)
    assert not old.leads
    assert old.replica.leader == new.peer
    run(sim, ASLEEP_S)
    assert rest(sim)


def test_a_node_that_stood_still_reads_before_it_misses_the_others(sim: Simulation) -> None:
    follower = followers(sim)[0]
    follower.process.pause()
    run(sim, 0.4)
    follower.process.resume()
    run(sim, RECOVERED_S)
    assert rest(sim)
    assert sim.history.elections == 1


def test_who_hears_the_leader_no_more_does_not_unseat_it(sim: Simulation) -> None:
    old, deaf = leader(sim), followers(sim)[0]
    mend = sim.cluster.network.cut([(old.peer.node, deaf.peer.node)])
    run(sim, RECOVERED_S)
    assert leader(sim) is old
    assert written(sim, old)
    mend()
    run(sim, ASLEEP_S)
    assert rest(sim)
    assert leader(sim) is old


def test_what_rests_is_as_fresh_as_the_last_heartbeat_of_the_node(sim: Simulation) -> None:
    run(sim, 1.0)
    for each in sim.cluster.replicas(SHARD):
        assert each.shard.staleness().age_ms <= 1_000 * IDLE.timing.quorum_window_s
    isolate(sim, leader(sim))
    run(sim, 1.0)
    assert leader(sim).shard.staleness().age_ms <= 1_000 * IDLE.timing.quorum_window_s


def test_a_replica_without_others_rests_too() -> None:
    with Simulation(1, replace(IDLE, nodes=1)) as sim:
        sim.cluster.start()
        run(sim, ASLEEP_S)
        assert rest(sim)
        assert written(sim, leader(sim))
        assert not rest(sim)
        run(sim, ASLEEP_S)
        assert rest(sim)

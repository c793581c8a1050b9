"""Which leader goes where, and how seldom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from quorate.apply.placement import Placement
from quorate.consensus.refusals import TransferRefusedError
from quorate.control import leader_balance
from quorate.control.leader_balance import LeaderBalance, Leadership, Transfer, choose
from quorate.plugin.shard_id import ShardId

if TYPE_CHECKING:
    from core.tests.control.conftest import Stage

NODES = "abc"


def led(group: str, number: int, leader: str | None, ready: str = NODES) -> Leadership:
    others = frozenset(ready) - {leader or ""}
    return Leadership(
        shard=ShardId(group, number), leader=leader, voters=frozenset(NODES), ready=others
    )


def seen_by(node: str, leaderships: Sequence[Leadership]) -> list[Leadership]:
    """Leave out what the node cannot know."""
    return [
        each if each.leader == node else each._replace(ready=frozenset()) for each in leaderships
    ]


clusters = st.lists(
    st.tuples(
        st.sampled_from(["metadata", "offset"]),
        st.sampled_from([*NODES, None]),
        st.frozensets(st.sampled_from(NODES)),
    ),
    max_size=20,
).map(
    lambda drawn: [
        led(group, number, leader, "".join(ready))
        for number, (group, leader, ready) in enumerate(drawn)
    ]
)


@given(cluster=clusters)
def test_at_most_one_node_gives_away_and_only_what_is_its_own_and_ready(
    cluster: list[Leadership],
) -> None:
    counts = Counter(each.leader for each in cluster)
    found = {node: choose(node, seen_by(node, cluster)) for node in NODES}
    chosen = [(node, transfer) for node, transfer in found.items() if transfer is not None]

    assert len(chosen) <= 1
    for node, transfer in chosen:
        [moved] = [each for each in cluster if each.shard == transfer.shard]
        assert moved.leader == node
        assert transfer.node in moved.ready
        assert counts[node] - counts[transfer.node] >= 2


@given(cluster=clusters)
def test_transfers_come_to_an_end_with_leaders_spread_evenly(cluster: list[Leadership]) -> None:
    cluster = [led(each.shard.group, each.shard.number, each.leader) for each in cluster]
    for _ in range(len(cluster) + 1):
        chosen = [found for node in NODES if (found := choose(node, seen_by(node, cluster)))]
        if not chosen:
            break
        cluster = [
            led(each.shard.group, each.shard.number, chosen[0].node)
            if each.shard == chosen[0].shard
            else each
            for each in cluster
        ]
    else:
        pytest.fail("there is no end to it")
    counts = [sum(each.leader == node for each in cluster) for node in NODES]
    assert max(counts) - min(counts) <= 1


def test_a_group_that_is_spread_unevenly_gives_first() -> None:
    cluster = [
        led("kv", 0, "a"),
        led("kv", 1, "c"),
        led("kv", 2, "b"),
        led("offset", 0, "a"),
        led("offset", 1, "a"),
    ]

    assert choose("a", seen_by("a", cluster)) == Transfer(ShardId("offset", 0), "b")


def test_a_shard_whose_followers_are_behind_stays() -> None:
    cluster = [led("kv", 0, "a", ""), led("kv", 1, "a", "c"), led("kv", 2, "a", "")]

    assert choose("a", seen_by("a", cluster)) == Transfer(ShardId("kv", 1), "c")


class Cluster:
    """Carries transfers out, or refuses them."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.leaderships = [led("kv", number, "a") for number in range(6)]
        self.moved: list[float] = []
        self.refuses = False
        #: What the shards carry out in a second of a time.
        self.per_s: Callable[[ShardId, float], float] = lambda *_: 0.0
        self._done: dict[ShardId, tuple[float, float]] = {}

    def transfer(self, shard: ShardId, node: str) -> None:
        self.moved.append(self.stage.world.now)
        if self.refuses:
            raise TransferRefusedError("a transfer is under way")
        self.leaderships = [
            each._replace(leader=node) if each.shard == shard else each for each in self.leaderships
        ]

    def worked(self) -> list[Leadership]:
        now = self.stage.world.now
        for each in self.leaderships:
            at, done = self._done.get(each.shard, (now, 0.0))
            self._done[each.shard] = now, done + (now - at) * self.per_s(each.shard, now)
        return [each._replace(done=self._done[each.shard][1]) for each in self.leaderships]

    def start(self, me: str) -> LeaderBalance:
        made = LeaderBalance(
            me, lambda: seen_by(me, self.worked()), self.transfer, loop=self.stage.loop
        )
        self.stage.run(made.start)
        return made


@pytest.fixture
def new_cluster(stage: Stage) -> Callable[[], Cluster]:
    return lambda: Cluster(stage)


def test_nodes_together_move_at_most_one_leader_in_ten_seconds(
    stage: Stage, new_cluster: Callable[[], Cluster]
) -> None:
    cluster = new_cluster()
    for node in NODES:
        stage.pass_time(0.3)
        cluster.start(node)
    stage.pass_time(300.0)

    counts = Counter(each.leader for each in cluster.leaderships)
    assert counts == {"a": 2, "b": 2, "c": 2}
    assert len(cluster.moved) == 4
    times = [0.0, *cluster.moved]
    assert all(after - before >= 10.0 for before, after in pairwise(times))


def test_a_leader_that_changed_by_itself_delays_the_next_transfer(
    stage: Stage, new_cluster: Callable[[], Cluster]
) -> None:
    cluster = new_cluster()
    cluster.start("a")
    stage.pass_time(9.5)
    cluster.leaderships[0] = led("kv", 0, "b")
    stage.pass_time(9.5)
    assert cluster.moved == []

    stage.pass_time(2.0)

    assert len(cluster.moved) == 1


def test_a_node_that_stood_still_waits_until_it_knows_more(
    stage: Stage, new_cluster: Callable[[], Cluster]
) -> None:
    cluster = new_cluster()
    cluster.start("a")
    stage.pass_time(5.0)
    stage.loop.pause()
    stage.pass_time(60.0)
    stage.loop.resume()
    stage.pass_time(9.0)
    assert cluster.moved == []

    stage.pass_time(3.0)

    assert len(cluster.moved) == 1


def test_a_transfer_that_is_refused_is_tried_again_ten_seconds_later(
    stage: Stage, new_cluster: Callable[[], Cluster]
) -> None:
    cluster = new_cluster()
    cluster.refuses = True
    cluster.start("a")
    stage.pass_time(25.0)

    assert [round(at) for at in cluster.moved] == [10, 20]


def test_many_shards_are_looked_at_less_often(
    stage: Stage, new_cluster: Callable[[], Cluster]
) -> None:
    cluster = new_cluster()
    cluster.leaderships = [led("kv", number, NODES[number % 3]) for number in range(1_000)]
    looks = set[float]()

    def note(_: ShardId, now: float) -> float:
        looks.add(now)
        return 0.0

    cluster.per_s = note
    cluster.start("a")
    stage.pass_time(31.0)
    assert 6 <= len(looks) <= 8

    cluster.leaderships[1] = led("kv", 1, "a")
    stage.pass_time(31.0)
    assert len(cluster.moved) == 1


def test_a_shard_under_load_stays_until_the_load_is_over(
    stage: Stage, new_cluster: Callable[[], Cluster]
) -> None:
    cluster = new_cluster()
    # It pauses now and then, for less than the time of a load's end.
    cluster.per_s = lambda _, now: 50.0 if now < 100.0 and now % 10.0 < 3.0 else 1.0
    cluster.start("a")
    stage.pass_time(95.0)
    assert cluster.moved == []

    stage.pass_time(20.0)
    assert len(cluster.moved) >= 1
    assert cluster.moved[0] > 100.0


def test_one_that_rests_goes_in_the_place_of_one_under_load(
    stage: Stage, new_cluster: Callable[[], Cluster]
) -> None:
    cluster = new_cluster()
    rests = ShardId("kv", 4)
    cluster.per_s = lambda shard, _: 0.0 if shard == rests else 1_000.0
    cluster.start("a")
    stage.pass_time(100.0)

    assert [each.shard for each in cluster.leaderships if each.leader != "a"] == [rests]
    assert len(cluster.moved) == 1


def test_a_load_that_never_ends_is_spread(stage: Stage, new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.per_s = lambda *_: 1_000.0
    for node in NODES:
        cluster.start(node)
    stage.pass_time(leader_balance.LONGEST_LOAD_S - 5.0)
    assert cluster.moved == []

    stage.pass_time(2 * leader_balance.LONGEST_LOAD_S)
    assert Counter(each.leader for each in cluster.leaderships) == {"a": 2, "b": 2, "c": 2}


def test_a_shard_stays_for_an_hour_where_an_operator_has_put_it() -> None:
    placed = Placement("a", 1_000)

    assert leader_balance.stays(placed, "a", 1_000 + 3_599_999)
    assert not leader_balance.stays(placed, "a", 1_000 + 3_600_000)
    # It has gone elsewhere by itself since.
    assert not leader_balance.stays(placed, "b", 1_000)
    assert not leader_balance.stays(None, "a", 1_000)


def test_a_look_that_fails_is_not_the_last_one(
    stage: Stage, new_cluster: Callable[[], Cluster], caplog: pytest.LogCaptureFixture
) -> None:
    cluster = new_cluster()
    cluster.start("a")
    kept, cluster.leaderships = cluster.leaderships, None  # type: ignore[assignment]
    stage.pass_time(1.5)
    cluster.leaderships = kept
    stage.pass_time(15.0)

    assert "cannot balance leaders; trying again" in caplog.text
    assert len(cluster.moved) == 1


def test_nothing_moves_after_the_stop(stage: Stage, new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    balance = cluster.start("a")
    stage.finish(balance.stop())
    stage.pass_time(60.0)

    assert cluster.moved == []


def test_what_waits_runs_before_many_shards_are_looked_at(stage: Stage) -> None:
    looked: list[int] = []
    between: list[int] = []

    def leaderships() -> Iterator[Leadership]:
        looked.clear()
        stage.loop.call_soon(lambda: between.append(len(looked)))
        for number in range(1_000):
            looked.append(number)
            yield led("kv", number, NODES[number % 3])

    balance = LeaderBalance("a", leaderships, lambda *_: None, loop=stage.loop)
    stage.run(balance.start)
    stage.pass_time(0.5)

    assert len(looked) == 1_000
    assert between[0] <= 32

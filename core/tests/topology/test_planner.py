"""Where replicas are planned to be."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest
from quorate.plugin.shard_id import ShardId
from quorate.topology.planner import Move, Placed, Plan, Site, founders, misplaced, plan


def sites(*nodes: str, zones: Mapping[str, str] | None = None) -> list[Site]:
    return [Site(node=node, machine=node, zone=(zones or {}).get(node, "")) for node in nodes]


def found(places: Iterable[Site], count: int, wanted: int = 3, group: str = "g") -> list[Placed]:
    shards = [ShardId(group, number) for number in range(count)]
    nodes = founders(places, [(shard, wanted) for shard in shards])
    return [
        Placed(shard=shard, nodes=tuple(each), wanted=wanted)
        for shard, each in zip(shards, nodes, strict=True)
    ]


def after(shards: Sequence[Placed], moves: Sequence[Move]) -> list[Placed]:
    """Return the shards as they are once the moves are over."""
    by_shard = {move.shard: move for move in moves}
    assert len(by_shard) == len(moves)
    result: list[Placed] = []
    for shard in shards:
        nodes = list(shard.nodes)
        if (move := by_shard.get(shard.shard)) is not None:
            if move.source is not None:
                nodes.remove(move.source)
            if move.target is not None:
                assert move.target not in nodes
                nodes.append(move.target)
        result.append(
            Placed(shard=shard.shard, nodes=tuple(nodes), wanted=shard.wanted, load=shard.load)
        )
    return result


def settle(places: Sequence[Site], shards: Sequence[Placed]) -> tuple[list[Placed], int]:
    """Plan and move until nothing is left to do; return the shards and the number of moves."""
    moved, current = 0, list(shards)
    for _ in range(20):
        made: Plan = plan(places, current)
        if not made.moves:
            return current, moved
        current, moved = after(current, made.moves), moved + len(made.moves)
    raise AssertionError(f"it never comes to an end: {made.moves[:3]}")


def check(places: Sequence[Site], shards: Sequence[Placed], *, spread: int = 1) -> None:
    """Assert the rules: distinct machines, enough replicas, evenness within `spread`."""
    by_node = {site.node: site for site in places}
    counts = Counter({site.node: 0 for site in places if site.takes})
    for shard in shards:
        assert len(shard.nodes) == shard.wanted
        machines = {by_node[node].machine for node in shard.nodes}
        assert len(machines) == len(shard.nodes)
        assert not any(by_node[node].leaves for node in shard.nodes)
        counts.update(shard.nodes)
    assert max(counts.values()) - min(counts.values()) <= spread


def test_new_shards_are_spread_over_nodes_and_zones() -> None:
    zones = {node: node[0] for node in ("a1", "a2", "b1", "b2", "c1")}
    places = sites(*zones, zones=zones)
    shards = found(places, 12)
    for shard in shards:
        assert sorted(node[0] for node in shard.nodes) == ["a", "b", "c"]
    counts = Counter(node for shard in shards for node in shard.nodes)
    assert counts == {"a1": 6, "a2": 6, "b1": 6, "b2": 6, "c1": 12}
    assert plan(places, shards) == Plan([], [])


def test_a_node_that_comes_gets_its_share_and_no_more_moves_than_that() -> None:
    shards = found(sites("a", "b", "c"), 10)
    places = sites("a", "b", "c", "d")
    settled, moves = settle(places, shards)
    check(places, settled)
    # 30 replicas on four nodes: the new one gets 7.
    assert moves == 7


def test_a_node_that_drains_gives_everything_away() -> None:
    places = sites("a", "b", "c", "d", "e")
    shards = found(places, 10)
    had = sum("e" in shard.nodes for shard in shards)
    leaving = [*places[:4], Site(node="e", machine="e", takes=False, leaves=True)]
    settled, moves = settle(leaving, shards)
    check(leaving, settled)
    assert moves == had


def test_a_node_that_does_not_answer_keeps_what_it_has_and_gets_nothing() -> None:
    places = sites("a", "b", "c", "d")
    shards = found(places, 8)
    silent = [*places[:3], Site(node="d", machine="d", takes=False)]
    made = plan([*silent, *sites("e")], shards)
    assert all(move.target == "e" and move.source != "d" for move in made.moves)


def test_replicas_leave_a_shared_machine() -> None:
    shard = Placed(shard=ShardId("g", 0), nodes=("a", "b", "c"), wanted=3)
    places = [
        Site(node="a", machine="one"),
        Site(node="b", machine="one"),
        Site(node="c", machine="two"),
        Site(node="d", machine="two"),
        Site(node="e", machine="three"),
    ]
    assert plan(places, [shard]).moves == [Move(shard.shard, "b", "e")]
    made = plan(places[:4], [shard])
    assert not made.moves
    [first, *_] = made.problems
    assert first.startswith("1 shard of group g cannot have 3 replicas: 2 machines take any")


def test_replicas_are_added_and_removed_as_the_number_changes() -> None:
    places = sites("a", "b", "c", "d", "e")
    three = found(places, 10)
    five = [Placed(shard=each.shard, nodes=each.nodes, wanted=5) for each in three]
    settled, moves = settle(places, five)
    check(places, settled)
    assert moves == 20
    fewer = [Placed(shard=each.shard, nodes=each.nodes, wanted=3) for each in settled]
    settled, moves = settle(places, fewer)
    check(places, settled)
    assert moves == 20


def test_more_replicas_than_machines_are_a_problem_and_no_moves() -> None:
    made = plan(sites("a", "b"), [Placed(shard=ShardId("g", 0), nodes=("a", "b"), wanted=3)])
    assert not made.moves
    assert made.problems == [
        "1 shard of group g cannot have 3 replicas: 2 machines take any; add a node on another"
        " machine, start those that do not answer, undrain one, or lower [groups.g] replicas"
    ]


def test_a_drain_without_another_place_is_a_problem() -> None:
    places = [*sites("a", "b"), Site(node="c", machine="c", takes=False, leaves=True)]
    made = plan(places, [Placed(shard=ShardId("g", 0), nodes=("a", "b", "c"), wanted=3)])
    assert not made.moves
    assert "c cannot give away 1 of its replicas: no other node takes them" in made.problems


def test_zones_that_come_are_used() -> None:
    zones = {"a": "x", "b": "x", "c": "x", "d": "y", "e": "z"}
    shards = found(sites("a", "b", "c"), 6)
    settled, _ = settle(sites(*zones, zones=zones), shards)
    for shard in settled:
        assert sorted(zones[node] for node in shard.nodes) == ["x", "y", "z"]


def test_a_shard_that_is_moving_stays_out_of_the_plan() -> None:
    places = [*sites("a", "b", "d"), Site(node="c", machine="c", takes=False, leaves=True)]
    moving = Placed(shard=ShardId("g", 0), nodes=("a", "b", "c"), wanted=3, moving=True)
    assert not plan(places, [moving]).moves


def test_load_moves_where_it_is_less_without_making_counts_uneven() -> None:
    nodes = ("a", "b", "c", "d")
    busy = {0: 900.0, 1: 800.0}
    shards = [
        Placed(
            shard=ShardId("g", number),
            nodes=(nodes[number // 2 % 4],),
            wanted=1,
            load=busy.get(number, 10.0),
        )
        for number in range(8)
    ]
    places = sites(*nodes)
    settled, moves = settle(places, shards)
    loads = Counter[str]()
    counts = Counter[str]()
    for shard in settled:
        loads[shard.nodes[0]] += round(shard.load)
        counts[shard.nodes[0]] += 1
    assert set(counts.values()) == {2}
    assert max(loads.values()) <= 910
    assert moves == 2
    assert plan(places, settled) == Plan([], [])


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_the_rules_hold_and_plans_come_to_an_end(seed: int) -> None:
    rng = Random(seed)
    machines = rng.randint(4, 9)
    places = [
        Site(node=f"n{number}", machine=f"m{number % machines}", zone=f"z{number % 3}")
        for number in range(rng.randint(machines, 14))
    ]
    shards = found(places, rng.randint(1, 40), wanted=rng.choice([1, 2, 3]))
    for _ in range(4):
        gone = rng.choice(places)
        places = [
            Site(
                node=site.node,
                machine=site.machine,
                zone=site.zone,
                takes=site.node != gone.node,
                leaves=site.node == gone.node,
            )
            for site in places
        ]
        shards = [
            Placed(
                shard=each.shard,
                nodes=each.nodes,
                wanted=each.wanted,
                load=rng.choice([0.0, rng.random() * 1_000]),
            )
            for each in shards
        ]
        shards, _ = settle(places, shards)
        check(places, shards, spread=len(shards))


def test_why_a_replica_must_not_be_moved_somewhere() -> None:
    places = {
        "a": Site(node="a", machine="one"),
        "b": Site(node="b", machine="one"),
        "c": Site(node="c", machine="two", takes=False),
        "d": Site(node="d", machine="three"),
        "e": Site(node="e", machine="four", zone="far"),
    }
    assert misplaced(places, ["a", "e"], "d") is None
    assert "zone far 0: take e" in str(misplaced(places, ["a"], "d"))
    # No node of another zone takes any.
    assert misplaced({**places, "e": replace(places["e"], takes=False)}, ["a"], "d") is None
    assert "is no node" in str(misplaced(places, ["a"], "x"))
    assert "has a replica" in str(misplaced(places, ["a"], "a"))
    assert "same machine, one" in str(misplaced(places, ["a"], "b"))
    assert "is drained" in str(misplaced(places, ["a"], "c"))


@pytest.mark.ci
def test_a_node_of_a_thousand_is_lost() -> None:
    """1,000 nodes and 100,000 shards: planned with at most 10 % too many moves."""
    nodes = [f"n{number:03}" for number in range(1_000)]
    places = [
        Site(node=node, machine=f"m{number // 2}", zone=f"z{number // 2 % 5}")
        for number, node in enumerate(nodes)
    ]
    shards = found(places, 100_000)
    check(places, shards)
    lost = sum("n123" in shard.nodes for shard in shards)
    left = [site for site in places if site.node != "n123"]
    began = time.process_time()
    made = plan(left, shards)
    took = time.process_time() - began
    print(f"planned in {took:.2f} s: {len(made.moves)} moves, {lost} replicas were lost")
    assert lost <= len(made.moves) <= 1.1 * lost
    check(left, after(shards, made.moves), spread=2)

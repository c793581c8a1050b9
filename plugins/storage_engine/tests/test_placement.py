from collections import Counter

from hypothesis import given, settings, strategies as st
from quorate_storage_engine.placement import Load, place, preferred_first

NAMES = [f"engine-{number:02}" for number in range(12)]


def carry(loads: list[Load], segments: int, replicas: int) -> list[list[str]]:
    by_name = {load.name: load for load in loads}
    placed = []
    for number in range(segments):
        seed = f"segment-{number}".encode()
        chosen = preferred_first(loads, place(loads, replicas, seed=seed), seed=seed)
        by_name[chosen[0]].leaderships += 1
        for name in chosen:
            by_name[name].replicas += 1
        placed.append(chosen)
    return placed


@settings(max_examples=25)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 300))
def test_from_nothing_replicas_and_leaders_lie_evenly(
    engines: int, replicas: int, segments: int
) -> None:
    loads = [Load(name=name) for name in NAMES[:engines]]

    placed = carry(loads, segments, min(replicas, engines))

    counts = [load.replicas for load in loads]
    assert max(counts) - min(counts) <= 1
    assert sum(counts) == sum(map(len, placed))
    leaderships = [load.leaderships for load in loads]
    assert sum(leaderships) == segments
    assert max(leaderships) <= segments / engines * 1.05 + 2


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), min_size=1, max_size=12),
    st.integers(0, 14),
    st.binary(max_size=4),
    st.data(),
)
def test_nobody_is_chosen_twice_and_holders_stay_where_they_are(
    carried: list[tuple[int, int]], wanted: int, seed: bytes, data: st.DataObject
) -> None:
    loads = [
        Load(name=name, replicas=replicas, rack=f"rack-{rack}")
        for name, (replicas, rack) in zip(NAMES, carried, strict=False)
    ]
    names = [load.name for load in loads]
    holders = data.draw(st.lists(st.sampled_from([*names, "gone"]), unique=True))
    barred = data.draw(st.lists(st.sampled_from(names), unique=True))

    chosen = place(loads, wanted, seed=seed, holders=holders, barred=barred)

    free = set(names) - set(holders) - set(barred)
    assert len(chosen) == len(set(chosen)) == min(wanted, len(free))
    assert set(chosen) <= free
    # Another order of the engines changes nothing.
    assert chosen == place(loads[::-1], wanted, seed=seed, holders=holders, barred=barred)
    # Asking for more moves nobody who was chosen before.
    assert place(loads, wanted + 1, seed=seed, holders=holders, barred=barred)[:wanted] == chosen


@settings(max_examples=100)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(1, 6), st.data())
def test_racks_are_used_evenly_as_far_as_they_have_engines(
    racks: list[int], wanted: int, data: st.DataObject
) -> None:
    loads = [
        Load(name=name, rack=f"rack-{rack}", replicas=data.draw(st.integers(0, 100)))
        for name, rack in zip(NAMES, racks, strict=False)
    ]

    chosen = place(loads, wanted, seed=b"s")

    rack_of = {load.name: load.rack for load in loads}
    used = Counter(rack_of[name] for name in chosen)
    size = Counter(rack_of.values())
    for rack in size:
        for other in used:
            # A rack with room holds at most one less than any other.
            assert used[rack] == size[rack] or used[other] <= used[rack] + 1


def test_the_least_loaded_engine_of_a_new_rack_comes_first() -> None:
    loads = [
        Load(name="a", rack="x", replicas=1),
        Load(name="b", rack="x", replicas=0),
        Load(name="c", rack="y", replicas=9),
    ]

    assert place(loads, 1, seed=b"", holders=["b"]) == ["c"]
    assert place(loads, 3, seed=b"") == ["b", "c", "a"]


def test_neighbours_differ_from_segment_to_segment() -> None:
    placed = carry([Load(name=name) for name in NAMES], 400, 3)

    neighbours = {frozenset(chosen) - {NAMES[0]} for chosen in placed if NAMES[0] in chosen}
    assert len({name for pair in neighbours for name in pair}) == len(NAMES) - 1


def test_who_leads_least_comes_first() -> None:
    loads = [Load(name="a", leaderships=2), Load(name="b", leaderships=1)]

    assert preferred_first(loads, ["a", "b"], seed=b"") == ["b", "a"]

from __future__ import annotations

from hypothesis import given, strategies as st
from quorate.shards.shard.clock import TOLERANCE_MS, LogicalClock

NOON = 1_700_000_000_000


class Machine:
    def __init__(self, **others: int | None) -> None:
        self.monotonic = 100.0
        self.wall = NOON
        self.others: dict[str, int | None] = dict(others)
        self.clock = LogicalClock(
            "a",
            clock=lambda: self.monotonic,
            wall_ms=lambda: self.wall,
            voters=lambda: self.others,
        )

    def pass_ms(self, ms: int) -> None:
        self.monotonic += ms / 1_000
        self.wall += ms
        self.others = {
            node: shown + ms if shown is not None else None for node, shown in self.others.items()
        }


def test_a_node_alone_goes_by_its_wall_clock() -> None:
    machine = Machine()
    machine.clock.elected(5)
    assert machine.clock.now_ms() == NOON
    assert machine.clock.alarm is None


def test_time_goes_on_by_the_monotonic_clock_when_the_wall_clock_is_set_back() -> None:
    machine = Machine(b=NOON, c=NOON)
    machine.clock.elected(0)
    machine.clock.now_ms()
    machine.wall -= 4_000
    machine.monotonic += 1.5
    assert machine.clock.now_ms() == NOON + 1_500


def test_a_clock_that_leaps_raises_nothing_and_is_named() -> None:
    machine = Machine(b=NOON, c=NOON)
    machine.clock.elected(0)
    machine.clock.now_ms()
    machine.pass_ms(1_000)
    machine.wall += 3_600_000

    assert machine.clock.now_ms() == NOON + 1_000
    assert "a is +3600000 ms away" in (machine.clock.alarm or "")
    assert "b is" not in (machine.clock.alarm or "")

    machine.wall -= 3_600_000
    assert machine.clock.now_ms() == NOON + 1_000
    assert machine.clock.alarm is None


def test_one_stray_among_three_voters_does_not_matter() -> None:
    machine = Machine(b=NOON + TOLERANCE_MS, c=0)
    machine.clock.elected(0)
    assert machine.clock.now_ms() == NOON
    # It would lead one day.
    assert dict(machine.clock.strays) == {"c": -NOON}
    assert f"c is -{NOON} ms away; with one of them as its leader" in (machine.clock.alarm or "")
    machine.others["c"] = NOON
    machine.clock.now_ms()
    assert machine.clock.alarm is None


def test_of_two_voters_that_differ_neither_is_believed() -> None:
    machine = Machine(b=NOON + TOLERANCE_MS + 1)
    machine.clock.elected(7)
    assert machine.clock.now_ms() == 7
    assert "b is +5001 ms away" in (machine.clock.alarm or "")


def test_silent_voters_are_no_majority_and_no_alarm() -> None:
    machine = Machine(b=None, c=None)
    machine.clock.elected(7)
    machine.pass_ms(3)
    assert (machine.clock.now_ms(), machine.clock.alarm) == (10, None)
    machine.others["b"] = machine.wall
    assert machine.clock.now_ms() == machine.wall


def test_a_new_leader_goes_on_where_the_shard_stood() -> None:
    machine = Machine(b=None, c=None)
    machine.pass_ms(60_000)
    machine.clock.elected(1_000)
    assert machine.clock.now_ms() == 1_000
    assert machine.clock.now_ms(shard_now_ms=9_000) == 9_000
    machine.pass_ms(5)
    assert machine.clock.now_ms() == 9_005


Steps = st.lists(
    st.tuples(
        st.integers(0, 20_000),
        st.integers(-10_000_000, 10_000_000),
        st.sampled_from([None, 0, 4_000, 60_000, -60_000]),
        st.sampled_from([None, 0, 4_000, 60_000, -60_000]),
    ),
    min_size=2,
)


@given(Steps, st.integers(0, NOON * 2))
def test_it_never_runs_backwards_nor_beyond_what_a_majority_shows(
    steps: list[tuple[int, int, int | None, int | None]], start: int
) -> None:
    machine = Machine()
    machine.clock.elected(start)
    last, bound = start, start
    for elapsed, leap, b, c in steps:
        machine.pass_ms(elapsed)
        machine.wall += leap
        offsets = {"b": b, "c": c}
        machine.others = {
            node: NOON + offset if offset is not None else None for node, offset in offsets.items()
        }
        now = machine.clock.now_ms()
        assert now >= last
        near = [each for each in machine.others.values() if each is not None]
        agreed = any(abs(each - machine.wall) <= TOLERANCE_MS for each in near)
        bound = max(bound + elapsed, machine.wall if agreed else 0)
        assert now <= bound + 1
        last = now


def test_right_clocks_are_compared_again_after_a_while_and_after_a_step() -> None:
    machine, asked = Machine(b=NOON, c=NOON), 0

    def voters() -> dict[str, int | None]:
        nonlocal asked
        asked += 1
        return machine.others

    machine.clock = LogicalClock(
        "a", clock=lambda: machine.monotonic, wall_ms=lambda: machine.wall, voters=voters
    )
    machine.clock.elected(0)
    for ms in range(50):
        assert machine.clock.now_ms() == NOON + ms
        machine.pass_ms(1)
    assert asked == 1

    machine.wall += 3_600_000
    assert machine.clock.now_ms() == NOON + 50
    assert dict(machine.clock.strays) == {"a": 3_600_000}
    machine.wall -= 3_600_000
    assert machine.clock.now_ms() == NOON + 50
    assert not machine.clock.strays

    machine.others["c"] = 0
    machine.pass_ms(100)
    machine.clock.now_ms()
    assert list(machine.clock.strays) == ["c"]

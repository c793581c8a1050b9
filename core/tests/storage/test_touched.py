from __future__ import annotations

from hypothesis import given, strategies as st
from quorate.storage.touched import Touched

NAMES = ("a", "b", "c")
SETS = st.sets(st.sampled_from(NAMES))
#: The entries that were stored before it was opened, and what is stored then, some at a time.
HISTORIES = st.tuples(
    st.lists(SETS, max_size=5), st.lists(st.lists(SETS, min_size=1, max_size=3), max_size=12)
)


@given(HISTORIES, SETS, st.data())
def test_nothing_that_was_changed_is_passed_over(
    history: tuple[list[set[str]], list[list[set[str]]]], names: set[str], data: st.DataObject
) -> None:
    """Entries that are stored together count as one."""
    before, turns = history
    entries = [*before]
    touched = Touched(len(before))
    for turn in turns:
        touched.record(set().union(*turn), len(entries) + 1, len(entries) + len(turn))
        entries += turn
    index = data.draw(st.integers(0, len(entries)))

    to = touched.unchanged_to(names, index)

    assert index <= to <= len(entries)
    assert all(names.isdisjoint(each) for each in entries[index:to])
    if any(not names.isdisjoint(each) for each in entries[index:]):
        assert touched.changed(names, index)
    changed = {name for name in names if any(name in each for each in entries[index:])}
    assert changed <= {*touched.those_changed(names, index)} <= names


def test_what_is_about_others_is_passed_over_at_once() -> None:
    touched = Touched(5)
    touched.record({"a"}, 6, 7)
    touched.record({"b"}, 8, 9)
    touched.record({"b"}, 10, 12)

    assert touched.unchanged_to(["a"], 7) == 12
    assert touched.unchanged_to(["a"], 5) == 5
    assert touched.unchanged_to(["b"], 5) == 5
    assert touched.unchanged_to(["b"], 9) == 9
    assert touched.unchanged_to(["c"], 5) == 12
    assert not touched.changed(["c"], 5)


def test_of_what_was_before_it_nothing_is_known() -> None:
    touched = Touched(5)

    assert touched.unchanged_to(["a"], 4) == 4
    assert touched.changed(["a"], 4)
    assert not touched.changed(["a"], 5)


def test_one_look_tells_what_the_last_entries_changed() -> None:
    touched = Touched(5)
    assert touched.those_changed(NAMES, 5) == []
    touched.record({"a"}, 6, 6)
    touched.record({"a", "c"}, 7, 8)

    assert touched.those_changed(NAMES, 6) == ["a", "c"]
    assert touched.those_changed(NAMES, 5) == ["a", "c"]
    assert touched.those_changed(NAMES, 8) == []

"""The changes and deadlines of a key, as far as they are kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from quorate.apply import history
from quorate.apply.applier import ApplyLimits
from quorate.apply.history import History
from quorate.plugin import keys

from core.tests.apply.conftest import Machine

ROWS, OLDS = "tested.rows", "tested.olds"
TIMER = "tested.bell"


def changes(machine: Machine, key: str, before: int = 0, family: str = ROWS) -> History:
    return machine.applier.reader(frozenset({family})).changes(family, key.encode(), before)


def told(found: History) -> list[tuple[str, int]]:
    return [(each.operation, each.at_ms) for each in found.changes]


def test_the_newest_change_is_first_and_no_other_key_is_among_them(machine: Machine) -> None:
    machine.do(["put", ROWS, "a", "1"], ["put", ROWS, "ab", "1"], ["put", OLDS, "a", "1"], at_ms=1)
    machine.do(["put", ROWS, "b", "a"], at_ms=2)
    machine.do(["delete", ROWS, "a"], at_ms=3)
    last = machine.do(["put", ROWS, "a", "2"], ["put", ROWS, "a", "3"], at_ms=4).revision

    found = changes(machine, "a")
    assert told(found) == [("put", 4), ("put", 4), ("deleted", 3), ("put", 1)]
    assert found.changes[0].revision == last
    assert found.complete
    assert told(changes(machine, "a", family=OLDS)) == [("put", 1)]
    assert told(changes(machine, "a", before=last)) == [("deleted", 3), ("put", 1)]
    middle = machine.script(["put", ROWS, "c", "1"])
    first, second = machine.apply(middle, middle)
    assert [each.revision for each in changes(machine, "c", second.revision).changes] == [
        first.revision
    ]
    assert changes(machine, "none") == History([], 1 << 20, True)


def test_a_long_history_is_read_page_by_page(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_ENTRIES", 3)
    for number in range(10):
        machine.do(["put", ROWS, "a" if number % 4 == 0 else "b", str(number)], at_ms=number)

    found, before, pages = list[tuple[str, int]](), 0, 0
    while True:
        page = changes(machine, "a", before)
        found, before, pages = found + told(page), page.complete_after, pages + 1
        if page.complete:
            break
    assert found == [("put", 8), ("put", 4), ("put", 0)]
    assert pages == 4


def test_what_was_trimmed_is_not_claimed_to_be_known(new_machine: Callable[..., Machine]) -> None:
    trimmed = new_machine(limits=ApplyLimits(retained_entries=5, retained_ms=0))
    for number in range(1, 21):
        trimmed.do(["put", ROWS, "a", str(number)], at_ms=number)

    found = changes(trimmed, "a")
    assert found.complete
    assert 5 <= len(found.changes) < 20
    assert found.complete_after <= min(each.revision for each in found.changes)
    assert found.complete_after >> 20 > 1


def test_deadlines_of_a_key_and_of_what_its_parts_begin(machine: Machine) -> None:
    packed = keys.pack("a")
    for key in ("a", "ab", packed.decode(), keys.pack("a", "b").decode(), keys.pack("ab").decode()):
        machine.do(["at", key, 70])
    reader = machine.applier.reader(frozenset({ROWS}))

    assert list(reader.due_of([TIMER], b"a")) == [(TIMER, b"a", 70)]
    assert [key for _, key, _ in reader.due_of([TIMER], packed)] == [packed, keys.pack("a", "b")]

from collections.abc import Sequence

import pytest
from quorate.apply.checksum import fold_entry, fold_outcomes, fold_tables
from quorate.apply.layers import Table
from quorate.apply.outcomes import Outcome, Refusal


def table(*rows: tuple[bytes, bytes | None], ranges: Sequence[tuple[bytes, bytes]] = ()) -> Table:
    made = Table()
    made.ranges.extend(ranges)
    made.rows.update(rows)
    return made


def test_changes_that_differ_in_anything_have_other_checksums() -> None:
    different = [
        [("a", table((b"k", b"v")))],
        [("b", table((b"k", b"v")))],
        [("ak", table((b"", b"v")))],
        [("a", table((b"kv", b"")))],
        [("a", table((b"k", None)))],
        [("a", table((b"k", b"")))],
        [("a", table(ranges=[(b"k", b"v")]))],
        [("a", table(ranges=[(b"kv", b"")]))],
        [("a", table((b"k", b""), ranges=[(b"", b"v")]))],
        [("a", table((b"k", b"v"), (b"", b"")))],
        [("a", table((b"k", b"v"))), ("a", table((b"", b"")))],
        [("a", table((b"k", b"v"))), ("b", table())],
        [("b", table()), ("a", table((b"k", b"v")))],
        [("a", table(ranges=[(b"b", b"c")])), ("d", table())],
        [("a", table()), ("b", table(ranges=[(b"c", b"d")]))],
        [],
    ]

    assert len({fold_tables(7, each) for each in different}) == len(different)


def test_answers_that_differ_in_anything_have_other_checksums() -> None:
    different = [
        [Outcome(1)],
        [Outcome(2)],
        [Outcome(1), Outcome(2)],
        [Outcome(1, b"reply")],
        [Outcome(1, b"reply"), Outcome(2)],
        [Outcome(1), Outcome(2, b"reply")],
        [Outcome(1, forgotten=True)],
        [Outcome(1, refusal=Refusal("CODE", "why"))],
        [Outcome(1, refusal=Refusal("CODE", "not"))],
        [Outcome(1, b"CODE why")],
    ]

    assert len({fold_outcomes(7, each) for each in different}) == len(different)


@pytest.mark.parametrize(
    "other", [(8, 1, 1, b"e"), (7, 2, 1, b"e"), (7, 1, 2, b"e"), (7, 1, 1, b"")]
)
def test_entries_that_differ_in_anything_have_other_checksums(
    other: tuple[int, int, int, bytes],
) -> None:
    assert fold_entry(*other) != fold_entry(7, 1, 1, b"e")


def test_it_goes_on_from_the_checksum_before() -> None:
    changes, outcomes = [("a", table((b"k", b"v")))], [Outcome(1)]

    assert fold_tables(7, changes) != fold_tables(8, changes)
    assert fold_outcomes(7, outcomes) != fold_outcomes(8, outcomes)
    assert fold_tables(7, []) == 7

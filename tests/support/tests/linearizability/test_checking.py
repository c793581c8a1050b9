"""Histories made by hand, of which everybody can see whether they can have happened."""

from __future__ import annotations

import pytest

from tests.support.linearizability import (
    Call,
    Delete,
    Deleted,
    Get,
    Operation,
    Outcome,
    Put,
    Read,
    Refused,
    Written,
    check,
)
from tests.support.linearizability.violation import Violation


def did(
    call: Call,
    sent: float,
    answered: float = float("inf"),
    outcome: Outcome | None = None,
    client: int = 1,
    key: bytes = b"k",
) -> Operation:
    return Operation(
        client=client, key=key, call=call, sent=sent, answered=answered, outcome=outcome
    )


#: What most begin with.
FIRST = did(Put(b"a"), 1, 2, Written(5, created=True))
SECOND = did(Put(b"b"), 3, 4, Written(6, created=False))

IMPOSSIBLE = {
    "stale read": ([FIRST, SECOND, did(Get(), 5, 6, Read(b"a", 5))], 3),
    "lost write": ([FIRST, did(Get(), 3, 4, Read())], 2),
    "read of what nobody wrote": ([FIRST, did(Get(), 3, 4, Read(b"c", 6))], 1),
    "read from the future": ([did(Get(), 1, 2, Read(b"a", 5)), did(Put(b"a"), 3, 4)], 1),
    "write applied twice": ([FIRST, SECOND, did(Get(), 5, 6, Read(b"a", 7))], 2),
    "unknown write applied twice": (
        [
            did(Put(b"a"), 1),
            did(Get(), 2, 3, Read(b"a", 5)),
            did(Put(b"b"), 4, 5, Written(6, created=False)),
            did(Get(), 6, 7, Read(b"a", 7)),
        ],
        2,
    ),
    "both win": (
        [
            FIRST,
            did(Put(b"b", 5), 3, 8, Written(6, created=False)),
            did(Put(b"c", 5), 4, 7, Written(7, created=False), client=2),
        ],
        2,
    ),
    "nobody wins": ([FIRST, did(Put(b"b", 5), 3, 4, Refused())], 2),
    "read goes back": (
        [
            FIRST,
            did(Put(b"b"), 3, 9, Written(6, created=False)),
            did(Get(), 4, 5, Read(b"b", 6), client=2),
            did(Get(), 6, 7, Read(b"a", 5), client=3),
        ],
        3,
    ),
    "created over a pair": ([FIRST, did(Put(b"b"), 3, 4, Written(6, created=True))], 2),
    "deleted what was deleted": (
        [
            FIRST,
            did(Delete(), 3, 4, Deleted(deleted=True)),
            did(Delete(), 5, 6, Deleted(deleted=True)),
        ],
        2,
    ),
    "read of a deleted pair": (
        [FIRST, did(Delete(5), 3, 4, Deleted(deleted=True)), did(Get(), 5, 6, Read(b"a", 5))],
        2,
    ),
    "revisions go back": ([FIRST, did(Put(b"b"), 3, 4, Written(4, created=False))], 2),
    "one value, two revisions": ([FIRST, did(Get(), 3, 4, Read(b"a", 6))], 2),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_have_happened_is_found_and_told_in_few_operations(name: str) -> None:
    history, most = IMPOSSIBLE[name]
    noise = [
        did(Put(b"x"), 0, 99, Written(3, created=True), client=7, key=b"other"),
        did(Get(), 0, 99, Read(), client=8),
        did(Get(), 0.5, 0.6, Read(), client=9),
    ]
    found = check([*noise, *history])
    assert isinstance(found, Violation)
    assert found.key == b"k"
    assert len(found.operations) <= most, str(found)
    for operation in found.operations:
        assert operation in history


POSSIBLE = {
    "nothing": [],
    "reads see the writes before them": [FIRST, SECOND, did(Get(), 5, 6, Read(b"b", 6))],
    "what overlaps comes in any order": [
        FIRST,
        did(Put(b"b"), 3, 9, Written(6, created=False)),
        did(Get(), 4, 8, Read(b"a", 5), client=2),
        did(Get(), 5, 7, Read(b"b", 6), client=3),
    ],
    "an unknown write takes effect late": [
        FIRST,
        did(Put(b"late"), 3),
        did(Get(), 4, 5, Read(b"a", 5)),
        did(Put(b"b"), 6, 7, Written(6, created=False)),
        did(Get(), 8, 9, Read(b"late", 7)),
    ],
    "an unknown write never takes effect": [
        FIRST,
        did(Put(b"never"), 3),
        did(Get(), 4, 5, Read(b"a", 5)),
    ],
    "an unknown delete explains an absence": [FIRST, did(Delete(), 3), did(Get(), 4, 5, Read())],
    "an unknown swap explains a refusal": [
        FIRST,
        did(Put(b"b", 5), 3),
        did(Put(b"c", 5), 4, 5, Refused()),
    ],
    "one of two swaps wins": [
        FIRST,
        did(Put(b"b", 5), 3, 8, Written(6, created=False)),
        did(Put(b"c", 5), 4, 7, Refused(), client=2),
    ],
    "absent pairs have revision 0": [
        did(Put(b"a", 0), 1, 2, Written(5, created=True)),
        did(Put(b"b", 0), 3, 4, Refused()),
        did(Delete(5), 5, 6, Deleted(deleted=True)),
        did(Delete(0), 7, 8, Deleted(deleted=False)),
    ],
    "keys do not touch each other": [
        FIRST,
        did(Get(), 3, 4, Read(), key=b"other"),
    ],
}


@pytest.mark.parametrize("name", POSSIBLE)
def test_what_can_have_happened_is_accepted(name: str) -> None:
    found = check(POSSIBLE[name])
    assert found is None, str(found)


def test_a_violation_reads_like_a_story() -> None:
    seen = did(Get(), 6, 7, Read(b"b", 6), client=2)
    found = check([FIRST, SECOND, seen, did(Get(), 8, 9, Read(b"a", 5), client=2)])
    assert str(found) == (
        "key b'k': no order explains these answers, whatever became of the other writes of that "
        "time:\n"
        "  client 2, 0.0 to 1000.0 ms: get -> b'b' of revision 6\n"
        "  client 2, 2000.0 to 3000.0 ms: get -> b'a' of revision 5"
    )


def test_more_clients_than_can_be_judged_are_refused() -> None:
    with pytest.raises(ValueError, match="11 clients use key b'k'; at most 10 allowed"):
        check([did(Get(), 1, 2, Read(), client=client) for client in range(11)])

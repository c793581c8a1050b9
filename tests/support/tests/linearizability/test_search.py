"""The search against one that tries every order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import event, given, settings, strategies as st

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
from tests.support.linearizability.checking import linearizes
from tests.support.linearizability.pairs import ABSENT, State, after, changes

CLIENTS = 4


def tried(operations: Sequence[Operation]) -> bool:
    """Whether an order of all that was answered, and some of the rest, makes sense."""
    told = [each for each in operations if each.outcome is not None]
    untold = [each for each in operations if each.outcome is None]
    return any(
        makes_sense(order)
        for count in range(len(untold) + 1)
        for some in combinations(untold, count)
        for order in permutations([*told, *some])
    )


def makes_sense(order: Sequence[Operation]) -> bool:
    state: State = ABSENT
    for position, operation in enumerate(order):
        if any(later.answered < operation.sent for later in order[position + 1 :]):
            return False
        then = after(state, operation)
        if then is None:
            return False
        state = then
    return True


@st.composite
def calls(draw: st.DrawFn) -> Call:
    expected = st.none() | st.integers(0, 6)
    return draw(
        st.just(Get())
        | st.builds(Put, st.sampled_from([b"a", b"b", b"c"]), expected)
        | st.builds(Delete, expected)
    )


@st.composite
def histories(draw: st.DrawFn, most: int) -> list[Operation]:
    """What clients see of a key that does one thing after the other: each at its moment."""
    value, revision = b"", 0
    free_at = [0.0] * CLIENTS
    history: list[Operation] = []
    for turn, call in enumerate(draw(st.lists(calls(), min_size=1, max_size=most)), start=1):
        value, revision, outcome = carry_out(call, value, revision, turn)
        client = min(range(CLIENTS), key=lambda each: (free_at[each] > turn - 0.5, each))
        early = draw(st.floats(0, 4))
        sent = min(turn - 0.01, max(free_at[client], turn - 0.01 - early))
        answered = turn + 0.01 + draw(st.floats(0, 4))
        lost = not isinstance(call, Get) and draw(st.integers(0, 5)) == 0
        free_at[client] = answered
        history.append(
            Operation(
                client=client,
                key=b"k",
                call=call,
                sent=sent,
                answered=float("inf") if lost else answered,
                outcome=None if lost else outcome,
            )
        )
    return draw(st.permutations(history))


def carry_out(call: Call, value: bytes, revision: int, turn: int) -> tuple[bytes, int, Outcome]:
    """Do what a key does; said anew, so that the model is held against something."""
    match call:
        case Get():
            return value, revision, Read(value, revision)
        case Put(_, expected) | Delete(expected) if expected not in (None, revision):
            return value, revision, Refused()
        case Put(new, _):
            return new, turn, Written(turn, created=revision == 0)
        case Delete(_):
            return b"", 0, Deleted(deleted=revision != 0)


@pytest.mark.ci
@given(histories(most=60))
def test_whatever_one_key_did_is_accepted(history: list[Operation]) -> None:
    found = check(history)
    assert found is None, str(found)


@pytest.mark.ci
@settings(max_examples=300)
@given(histories(most=6), st.data())
def test_what_was_changed_is_judged_as_by_trying_every_order(
    history: list[Operation], data: st.DataObject
) -> None:
    changed = [changed_one(each, data) for each in history]
    verdict = tried(changed)
    event("accepted" if verdict else "refused")
    assert linearizes(changed) == verdict
    assert (check(changed) is None) == verdict


def changed_one(operation: Operation, data: st.DataObject) -> Operation:
    """Answer otherwise now and then."""
    if operation.outcome is None or data.draw(st.integers(0, 2)):
        return operation
    return replace(operation, outcome=data.draw(answers(operation.call)))


def answers(call: Call) -> st.SearchStrategy[Outcome]:
    match call:
        case Get():
            values = st.sampled_from([b"a", b"b", b"c"])
            return st.just(Read()) | st.builds(Read, values, st.integers(1, 7))
        case Put():
            written = st.builds(Written, st.integers(1, 7), created=st.booleans())
            return written if call.expected is None else written | st.just(Refused())
        case Delete():
            deleted = st.builds(Deleted, deleted=st.booleans())
            return deleted if call.expected is None else deleted | st.just(Refused())


@pytest.mark.ci
@settings(max_examples=200)
@given(histories(most=30), st.data())
def test_what_is_left_of_a_violation_is_one_and_nothing_of_it_can_be_spared(
    history: list[Operation], data: st.DataObject
) -> None:
    found = check([changed_one(each, data) for each in history])
    if found is None:
        return
    event("refused")
    left = [*found.operations, *found.others]
    assert not linearizes(left)
    for spared in found.operations:
        rest = [each for each in left if each is not spared]
        assert linearizes([*rest, *unknown(spared)])


def unknown(operation: Operation) -> list[Operation]:
    """What an operation may have been when its answer is forgotten."""
    if not changes(operation):
        return []
    return [replace(operation, outcome=None, answered=float("inf"))]

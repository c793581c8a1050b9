"""What one key does, one operation after the other."""

from typing import Final, NamedTuple

from tests.support.linearizability.operations import (
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
)


class State(NamedTuple):
    """The pair of a key, if it has one, and how far the revisions of the key have come."""

    value: bytes | None = None
    #: None while nobody has been told the revision of the pair.
    revision: int | None = 0
    #: The highest that anybody was told: later ones are higher.
    known: int = 0


ABSENT: Final = State()


def after(state: State, operation: Operation) -> State | None:
    """Return the state in which an operation leaves a key; None when it cannot be its turn.

    An operation without an outcome is taken to succeed: to fail is to do nothing.
    """
    call, outcome = operation.call, operation.outcome
    if isinstance(outcome, Refused):
        return state if _may_be_refused(state, call) else None
    if isinstance(call, Get):
        return _read(state, outcome)
    if not _may_be_carried_out(state, call):
        return None
    if isinstance(call, Put):
        return _put(state, call, outcome)
    return _delete(state, outcome)


def changes(operation: Operation) -> bool:
    """Tell whether an operation may have left the key other than it found it."""
    match operation.outcome:
        case Read() | Refused() | Deleted(deleted=False):
            return False
    return not isinstance(operation.call, Get)


def _read(state: State, outcome: Outcome | None) -> State | None:
    if not isinstance(outcome, Read):
        return None
    if not outcome.revision:
        return state if state.value is None else None
    if state.value != outcome.value or not _may_be(state, outcome.revision):
        return None
    return State(outcome.value, outcome.revision, outcome.revision)


def _put(state: State, call: Put, outcome: Outcome | None) -> State | None:
    if outcome is None:
        return State(call.value, None, state.known)
    if not isinstance(outcome, Written):
        return None
    if outcome.created != (state.value is None) or outcome.revision <= state.known:
        return None
    return State(call.value, outcome.revision, outcome.revision)


def _delete(state: State, outcome: Outcome | None) -> State | None:
    deleted = True if outcome is None else isinstance(outcome, Deleted) and outcome.deleted
    if deleted == (state.value is None):
        return None
    return State(None, 0, state.known) if deleted else state


def _may_be(state: State, revision: int) -> bool:
    """Whether the pair can have a revision, which is its own or not told yet."""
    if state.revision is None:
        return revision > state.known
    return revision == state.revision


def _may_be_carried_out(state: State, call: Put | Delete) -> bool:
    return call.expected is None or _may_be(state, call.expected)


def _may_be_refused(state: State, call: Call) -> bool:
    if not isinstance(call, Put | Delete) or call.expected is None:
        return False
    return state.revision is None or call.expected != state.revision

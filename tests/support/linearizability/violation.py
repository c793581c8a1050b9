"""Says in few operations what cannot have happened."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.support.linearizability.operations import (
    Delete,
    Deleted,
    Get,
    Operation,
    Put,
    Read,
    Refused,
    Written,
)
from tests.support.linearizability.pairs import changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Operations of one key that contradict each other, whatever became of the others."""

    key: bytes
    #: In the order in which they were sent.
    operations: tuple[Operation, ...]
    #: Writes of the same time, without their outcomes: they contradict whatever became of these.
    others: tuple[Operation, ...]

    def __str__(self) -> str:
        began = self.operations[0].sent
        told = "\n".join(f"  {_told(each, began)}" for each in self.operations)
        others = ", whatever became of the other writes of that time" if self.others else ""
        return f"key {self.key!r}: no order explains these answers{others}:\n{told}"


def explained(
    operations: Sequence[Operation], linearizes: Callable[[Sequence[Operation]], bool]
) -> Violation:
    """Return the violation in a history that does not linearize.

    What is left out or taken for unknown only leaves more orders: what remains is a violation too.
    """
    kept = _shortest_beginning(operations, linearizes)
    size = len(kept)
    while size:
        for start in range(0, len(kept), size):
            fewer = [
                weaker
                for position, each in enumerate(kept)
                if (weaker := _weaker(each) if start <= position < start + size else each)
            ]
            if fewer != kept and not linearizes(fewer):
                kept = fewer
                break
        else:
            size //= 2
    kept.sort(key=lambda each: each.sent)
    told = tuple(each for each in kept if each.outcome is not None)
    others = tuple(each for each in kept if each.outcome is None)
    return Violation(key=told[0].key, operations=told, others=others)


def _shortest_beginning(
    operations: Sequence[Operation], linearizes: Callable[[Sequence[Operation]], bool]
) -> list[Operation]:
    """Return what had happened when the first answer came that contradicts the others."""
    moments = sorted({each.answered for each in operations if each.outcome is not None})
    low, high = 0, len(moments) - 1
    while low < high:
        middle = (low + high) // 2
        if linearizes(_until(operations, moments[middle])):
            low = middle + 1
        else:
            high = middle
    return _until(operations, moments[low])


def _until(operations: Sequence[Operation], moment: float) -> list[Operation]:
    return [
        seen
        for each in operations
        if each.sent <= moment
        and (seen := each if each.answered <= moment else _unknown(each)) is not None
    ]


def _weaker(operation: Operation) -> Operation | None:
    """Return what says less: of a write that it may have happened, of anything else nothing."""
    return _unknown(operation) if changes(operation) else None


def _unknown(operation: Operation) -> Operation | None:
    if isinstance(operation.call, Get):
        return None
    return replace(operation, outcome=None, answered=float("inf"))


def _told(operation: Operation, began: float) -> str:
    from_ms, to_ms = ((each - began) * 1_000 for each in (operation.sent, operation.answered))
    return (
        f"client {operation.client}, {from_ms:.1f} to {to_ms:.1f} ms: "
        f"{_asked(operation)} -> {_answered(operation)}"
    )


def _asked(operation: Operation) -> str:
    match operation.call:
        case Put(value, None):
            return f"put {value!r}"
        case Put(value, expected):
            return f"put {value!r} over revision {expected}"
        case Delete(None):
            return "delete"
        case Delete(expected):
            return f"delete revision {expected}"
        case Get():
            return "get"


def _answered(operation: Operation) -> str:
    match operation.outcome:
        case Read(_, 0):
            return "absent"
        case Read(value, revision):
            return f"{value!r} of revision {revision}"
        case Written(revision, created):
            return f"revision {revision}{', created' if created else ''}"
        case Deleted(deleted):
            return "deleted" if deleted else "was absent"
        case Refused():
            return "refused"
        case None:
            return "unknown"

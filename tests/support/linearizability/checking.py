"""Looks for one order in which everything that was answered makes sense.

The search is that of Wing and Gong, with the memory of Lowe: an operation may be next when none
that is still to come was answered before it was sent; where a set of operations has led to a state
before, it leads to nothing new. Keys do not touch each other, so each is searched by itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tests.support.linearizability.operations import Operation
from tests.support.linearizability.pairs import ABSENT, State, after
from tests.support.linearizability.violation import Violation, explained

#: More at once make the search too long.
MOST_CLIENTS: Final = 10
#: Steps of the search after which it is given up.
MOST_STEPS: Final = 2_000_000


class UndecidedError(Exception):
    """The search took too long; fewer outcomes that nobody knows make it shorter."""


def check(history: Iterable[Operation]) -> Violation | None:
    """Return what cannot have happened, in few operations; None when all of it can.

    Every key begins absent. Raises `ValueError` when more than ten clients use a key, and
    `UndecidedError`.
    """
    keys: defaultdict[bytes, list[Operation]] = defaultdict(list)
    for operation in history:
        keys[operation.key].append(operation)
    for key, operations in keys.items():
        clients = {operation.client for operation in operations}
        if len(clients) > MOST_CLIENTS:
            raise ValueError(
                f"{len(clients)} clients use key {key!r}; at most {MOST_CLIENTS} allowed; give "
                "them more keys"
            )
        if not linearizes(operations):
            return explained(operations, linearizes)
    return None


def linearizes(operations: Sequence[Operation]) -> bool:
    """Tell whether the operations of one key can have happened in one order."""
    return _Search(operations).run()


class _Place(NamedTuple):
    """Where the search is; sets of operations are bits."""

    #: The operations with an outcome that have had their turn.
    told: int
    #: Those without an outcome that took effect.
    untold: int
    state: State
    #: The state before the last operation, if that has no outcome: what comes next must need it.
    without: State | None


class _Search:
    """Goes on from the likeliest step first, and comes back from where nothing goes on."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        by_time = sorted(operations, key=lambda each: each.sent)
        self._told: Final = [each for each in by_time if each.outcome is not None]
        self._untold: Final = [each for each in by_time if each.outcome is None]
        self._all: Final = (1 << len(self._told)) - 1
        self._seen: Final[defaultdict[tuple[int, State, State | None], list[int]]] = defaultdict(
            list
        )

    def run(self) -> bool:
        """Tell whether all that has an outcome can have its turn; raises `UndecidedError`."""
        ahead = [_Place(0, 0, ABSENT, None)]
        for _ in range(MOST_STEPS):
            if not ahead:
                return False
            place = ahead.pop()
            if place.told == self._all:
                return True
            if self._is_new(place):
                ahead += self._next(place)
        raise UndecidedError(
            f"{len(self._told)} operations and {len(self._untold)} without an outcome were not "
            f"decided in {MOST_STEPS} steps; record fewer operations a key"
        )

    def _is_new(self, place: _Place) -> bool:
        """Whether it was not reached before with the same effect, using up no more."""
        seen = self._seen[place.told, place.state, place.without]
        if any(before & place.untold == before for before in seen):
            return False
        seen.append(place.untold)
        return True

    def _next(self, place: _Place) -> list[_Place]:
        """Return what may be next, the likeliest last."""
        candidates, until = self._candidates(place.told)
        ahead: list[_Place] = []
        for position in reversed(candidates):
            then = _step(place, self._told[position])
            if then is None:
                continue
            after_it = _Place(place.told | 1 << position, place.untold, then, None)
            if then == place.state:
                # What can be now and changes nothing gets in nobody's way.
                return [after_it]
            ahead.append(after_it)
        rather_not = [
            _Place(place.told, place.untold | 1 << position, then, place.state)
            for position, operation in enumerate(self._untold)
            if operation.sent <= until
            and not place.untold >> position & 1
            and (then := _step(place, operation)) is not None
        ]
        return rather_not + ahead

    def _candidates(self, told: int) -> tuple[list[int], float]:
        """Return those that were sent before any of the rest was answered, and that moment."""
        found: list[int] = []
        until = float("inf")
        first = (~told & (told + 1)).bit_length() - 1
        for position in range(first, len(self._told)):
            operation = self._told[position]
            if operation.sent > until:
                break
            if not told >> position & 1:
                found.append(position)
                until = min(until, operation.answered)
        return [each for each in found if self._told[each].sent <= until], until


def _step(place: _Place, operation: Operation) -> State | None:
    """Return the state behind an operation; None when it cannot be next, or need not.

    It need not be next where it could just as well have come before an operation that nobody knows
    to have happened, or makes no difference of that.
    """
    then = after(place.state, operation)
    if then is None or place.without is None:
        return then
    return None if after(place.without, operation) in (place.without, then) else then

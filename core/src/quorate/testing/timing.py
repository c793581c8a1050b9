"""Measures the run times of handlers."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from quorate.plugin import Txn
from quorate.plugin.catalog import Catalog
from quorate.testing.probes import Apply, wrapped

#: The time budget of a handler: all shards of the node wait meanwhile.
BUDGET_S: Final = 0.005
#: A handler within the budget on a usual machine stays below this on any machine.
MOST_S: Final = 20 * BUDGET_S
#: Number of plays of a log; the shortest time counts, as other processes may use the machine.
ROUNDS: Final = 3


class Played(NamedTuple):
    """A played command, by its position."""

    position: int
    name: str


def best_of(
    rounds: int, catalog: Catalog, play: Callable[[Catalog], object]
) -> dict[Played, float]:
    """Return the shortest time, in seconds, that the handler of each command took."""
    best: dict[Played, float] = {}
    for number in range(rounds):
        took: dict[Played, float] = {}
        play(wrapped(catalog, lambda apply, took=took: _timed(apply, took)))  # type: ignore[misc]
        best = {each: min(best.get(each, took[each]), took[each]) for each in took}
        if number == 0 and max(best.values(), default=0.0) <= BUDGET_S:
            break
    return best


def _timed(apply: Apply, took: dict[Played, float]) -> Apply:
    def timed(txn: Txn, command: Any) -> Message | None:
        began = perf_counter()
        try:
            return apply(txn, command)
        finally:
            took[Played(len(took), str(command.DESCRIPTOR.full_name))] = perf_counter() - began

    return timed

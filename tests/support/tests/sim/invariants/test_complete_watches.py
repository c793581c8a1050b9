from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.messages import Peer

from tests.support.sim import domain
from tests.support.sim.facts import (
    Fact,
    WatchBegan,
    WatchEnded,
    WatchListed,
    WatchReached,
    WatchSaw,
)
from tests.support.sim.history import Violation
from tests.support.sim.invariants.complete_watches import CompleteWatches

if TYPE_CHECKING:
    from tests.support.tests.sim.conftest import Log

A, SHARD = Peer("a", 1), "sim/0"
KEY = domain.key_of("c")
FAMILIES = (domain.COUNTERS,)


def _saw(index: int, total: int) -> WatchSaw:
    return WatchSaw(SHARD, A, 1, index << 20, domain.COUNTERS, KEY, bytes((8, total)))


def _listed(index: int, *rows: tuple[str, bytes, bytes, int]) -> WatchListed:
    return WatchListed(SHARD, A, 1, (index << 20) + 5, rows)


def _reached(index: int) -> WatchReached:
    return WatchReached(SHARD, A, 1, (index << 20) + 5)


@pytest.fixture
def judge(log: Log) -> CompleteWatches:
    """Entries 1, 3 and 5 add 2 to the watched counter."""
    log.take_all([[log.add(1)], [log.write(2)], [log.add(3)], [log.write(4)], [log.add(5)]])
    return CompleteWatches(log.replays)


def _see(judge: CompleteWatches, revision: int | None, *given: Fact) -> None:
    for fact in (WatchBegan(SHARD, A, 1, FAMILIES, revision), *given):
        judge.see(fact)


def test_everything_behind_a_token_is_fine(judge: CompleteWatches) -> None:
    _see(judge, (1 << 20) + 5, _saw(3, 4), _reached(4), _saw(5, 6), _reached(9))
    judge.see(WatchEnded(SHARD, A, 1, False))


def test_the_rows_and_what_follows_are_fine(judge: CompleteWatches) -> None:
    row = (domain.COUNTERS, KEY, b"\x08\x04", 3 << 20)
    _see(judge, None, _listed(4, row), _saw(5, 6))


@pytest.mark.parametrize(
    ("revision", "given"),
    [
        (0, (_saw(3, 4),)),
        (0, (_saw(1, 2), _saw(1, 2))),
        (0, (_saw(1, 9),)),
        (0, (_reached(1),)),
        (0, (_saw(1, 2), _reached(3))),
        (6 << 20, (_saw(5, 6),)),
        (None, (_saw(1, 2),)),
        (None, (_listed(4),)),
        (None, (_listed(2, (domain.COUNTERS, KEY, b"\x08\x04", 3 << 20)),)),
        (None, (_listed(4, (domain.COUNTERS, KEY, b"\x08\x04", 3 << 20)), _saw(3, 4))),
    ],
    ids=str,
)
def test_a_gap_a_repetition_or_another_change_is_a_violation(
    judge: CompleteWatches, revision: int | None, given: tuple[Fact, ...]
) -> None:
    _see(judge, revision, *given[:-1])
    with pytest.raises(Violation, match="watches are complete"):
        judge.see(given[-1])

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.messages import Peer
from quorate.plugin import Row

from tests.support.sim import domain
from tests.support.sim.facts import Ended, Saw
from tests.support.sim.history import Violation
from tests.support.sim.invariants.rows_of_log import RowsOfLog

if TYPE_CHECKING:
    from tests.support.tests.sim.conftest import Log

A, SHARD = Peer("a", 1), "sim/0"
KEY = domain.key_of("c")


@pytest.fixture
def judge(log: Log) -> RowsOfLog:
    log.take(log.add(1))
    log.take(log.add(2))
    return RowsOfLog(log.replays)


def test_a_row_is_judged_at_the_index_of_the_reader(log: Log, judge: RowsOfLog) -> None:
    judge.see(Saw(SHARD, A, 0, domain.COUNTERS, KEY, None))
    judge.see(Saw(SHARD, A, 1, domain.COUNTERS, KEY, Row(KEY, b"\x08\x02", 1 << 20)))
    judge.see(Saw(SHARD, A, 2, domain.COUNTERS, KEY, Row(KEY, b"\x08\x04", 2 << 20)))


@pytest.mark.parametrize(
    "row", [None, Row(KEY, b"\x08\x02", 1 << 20), Row(KEY, b"\x08\x04", 1 << 20)]
)
def test_another_row_is_a_violation(judge: RowsOfLog, row: Row | None) -> None:
    with pytest.raises(Violation, match="the log comes to"):
        judge.see(Saw(SHARD, A, 2, domain.COUNTERS, KEY, row))


def test_all_rows_are_judged_at_the_end(log: Log, judge: RowsOfLog) -> None:
    rows = {family: dict(found) for family, found in log.model.rows.items()}
    judge.see(Ended(SHARD, A, 2, 0, rows))
    rows[domain.MARKS].popitem()
    with pytest.raises(Violation, match=r"ends with None in sim\.marks"):
        judge.see(Ended(SHARD, A, 2, 0, rows))

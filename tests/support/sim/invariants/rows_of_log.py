"""Rows are what the log comes to: on every replica, at whatever index somebody looks."""

from typing import Final

from quorate.plugin import Row

from tests.support.sim.facts import Ended, Fact, Saw
from tests.support.sim.history import Violation
from tests.support.sim.replays import Replays


class RowsOfLog:
    """Judges single rows while the run goes on, and all of them at its end."""

    name = "rows are the log's"
    judges = (Saw, Ended)

    def __init__(self, replays: Replays) -> None:
        self._replays: Final = replays

    def see(self, fact: Fact) -> None:
        """Judge what a replica holds."""
        model = self._replays.of(fact.shard)
        match fact:
            case Saw(index=index, family=family, key=key, row=row):
                wanted = model.row_at(family, key, index)
                if row != wanted:
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} holds {row} in {family} at index {index},"
                        f" and the log comes to {wanted}",
                    )
            case Ended(applied=applied, rows=rows) if applied == model.applied:
                for family, wanted_rows in model.rows.items():
                    self._judge_family(fact, family, rows[family], wanted_rows)

    def _judge_family(
        self, fact: Fact, family: str, found: dict[bytes, Row], wanted: dict[bytes, Row]
    ) -> None:
        for key in sorted(found.keys() | wanted.keys()):
            if found.get(key) != wanted.get(key):
                raise Violation(
                    self.name,
                    f"{fact.peer} of {fact.shard} ends with {found.get(key)} in {family}, and the"
                    f" log comes to {wanted.get(key)}",
                )

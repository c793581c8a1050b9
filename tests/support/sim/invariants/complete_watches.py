"""Watches are complete: every event behind the token, once, in order, or an explicit end."""

from dataclasses import dataclass
from typing import Final

from quorate.apply.entries import index_of

from tests.support.sim.facts import (
    Fact,
    WatchBegan,
    WatchEnded,
    WatchListed,
    WatchReached,
    WatchSaw,
)
from tests.support.sim.history import Violation
from tests.support.sim.model import Change
from tests.support.sim.replays import Replays


@dataclass(slots=True)
class _Watch:
    families: tuple[str, ...]
    #: How many of the shard's changes it has passed; None until the rows were listed.
    passed: int | None


class CompleteWatches:
    """Holds what each watcher is given against the changes that the log comes to."""

    name = "watches are complete"
    judges = (WatchBegan, WatchListed, WatchSaw, WatchReached, WatchEnded)

    def __init__(self, replays: Replays) -> None:
        self._replays: Final = replays
        self._watches: Final[dict[int, _Watch]] = {}

    def see(self, fact: Fact) -> None:
        """Judge what a watcher is given."""
        model = self._replays.of(fact.shard)
        match fact:
            case WatchBegan(watch=watch, families=families, revision=revision):
                passed = None if revision is None else model.changes_up_to(revision)
                self._watches[watch] = _Watch(families, passed)
            case WatchListed(watch=watch, revision=revision, rows=rows):
                self._judge_list(fact, self._watches[watch], revision, rows)
            case WatchSaw(watch=watch):
                change = Change(fact.revision, fact.family, fact.key, fact.value)
                self._judge_change(fact, self._watches[watch], change)
            case WatchReached(watch=watch, revision=revision):
                self._judge_position(fact, self._watches[watch], revision)
            case WatchEnded(watch=watch):
                del self._watches[watch]

    def _judge_list(
        self,
        fact: Fact,
        watch: _Watch,
        revision: int,
        rows: tuple[tuple[str, bytes, bytes, int], ...],
    ) -> None:
        model = self._replays.of(fact.shard)
        wanted = {
            (family, row.key, row.value, row.revision)
            for family in watch.families
            for row in model.rows_at(family, index_of(revision))
        }
        if len(rows) != len(wanted) or set(rows) != wanted:
            differ = sorted(set(rows) ^ wanted)
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} lists {len(rows)} rows at revision {revision}, and"
                f" the log comes to {len(wanted)}; they differ in {differ}",
            )
        watch.passed = model.changes_up_to(revision)

    def _judge_change(self, fact: Fact, watch: _Watch, change: Change) -> None:
        at, wanted = self._next(fact.shard, watch)
        if change != wanted:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} tells a watcher of {change}, and next is {wanted}",
            )
        watch.passed = at + 1

    def _judge_position(self, fact: Fact, watch: _Watch, revision: int) -> None:
        _, wanted = self._next(fact.shard, watch)
        if wanted is not None and wanted.revision <= revision:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} tells a watcher that it has come to {revision}, and"
                f" leaves out {wanted}",
            )

    def _next(self, shard: str, watch: _Watch) -> tuple[int, Change | None]:
        changes, at = self._replays.of(shard).changes, watch.passed
        if at is None:
            raise Violation(self.name, f"a watcher of {shard} is given changes before the rows")
        while at < len(changes) and changes[at].family not in watch.families:
            at += 1
        return at, changes[at] if at < len(changes) else None

from __future__ import annotations

import pytest
from quorate.consensus.journal import JournalDamagedError, Position
from quorate.consensus.messages import Entry, EntryKind
from quorate.storage.data.opening import check, log_needs_reset, needed_of_log
from quorate.storage.engine.memory import MemoryDisk, MemoryEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.shard_journal import ShardJournal
from quorate.storage.log.witness import MemoryWitnesses


def log_of(terms: list[int], cut: Position | None = None) -> ShardJournal:
    """A log with an entry in each of the terms, behind `cut`."""
    journal = NodeLog(MemoryEngine(MemoryDisk(), [FAMILY]), MemoryWitnesses()).journal("a/0")
    if cut is not None:
        journal.reset(cut)
    first = journal.last.index + 1
    journal.append(
        [
            Entry(index, term, EntryKind.COMMAND, b"")
            for index, term in enumerate(terms, start=first)
        ]
    )
    return journal


@pytest.mark.parametrize(
    ("journal", "installed", "needed"),
    [
        (log_of([1, 1, 2]), None, False),
        (log_of([]), Position(7, 3), True),
        (log_of([1, 1, 2]), Position(7, 3), True),
        (log_of([1, 1, 2]), Position(3, 3), True),
        (log_of([1, 1, 3]), Position(3, 3), False),
        (log_of([4], Position(7, 3)), Position(7, 3), False),
        (log_of([4], Position(7, 2)), Position(7, 3), True),
        # It went on behind the install and was cut since.
        (log_of([4], Position(9, 3)), Position(7, 3), False),
    ],
)
def test_a_log_is_reset_when_it_lacks_the_install(
    journal: ShardJournal, installed: Position | None, needed: bool
) -> None:
    assert log_needs_reset(installed, journal) is needed
    if installed is not None and needed:
        journal.reset(installed)
        assert not log_needs_reset(installed, journal)
        check("a/0", installed, journal)


def test_only_an_install_may_be_ahead_of_the_log() -> None:
    assert needed_of_log(None, Position(7, 3)) == 7
    assert needed_of_log(Position(7, 3), Position(7, 3)) == 0
    assert needed_of_log(Position(7, 3), Position(8, 3)) == 8


@pytest.mark.parametrize("applied", [Position(5, 1), Position(6, 2), Position(7, 2)])
def test_data_within_the_log_is_accepted(applied: Position) -> None:
    check("a/0", applied, log_of([2, 2], Position(5, 1)))


@pytest.mark.parametrize(
    ("applied", "said"),
    [
        (Position(4, 1), "holds 6 to 7"),
        (Position(8, 2), "holds 6 to 7"),
        (Position(6, 1), "has that in term 2"),
    ],
)
def test_data_beside_the_log_is_refused(applied: Position, said: str) -> None:
    with pytest.raises(JournalDamagedError, match=said):
        check("a/0", applied, log_of([2, 2], Position(5, 1)))

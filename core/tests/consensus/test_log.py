"""What a log holds, what of it is durable, and which configuration it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.log import RaftLog, Stored
from quorate.consensus.messages import Entry, EntryKind, Peer, weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorate.consensus.membership import Configuration

    from core.tests.consensus.conftest import MemoryJournal

    Commands = Callable[..., tuple[Entry, ...]]
    NewJournal = Callable[..., MemoryJournal]
    Configured = Callable[..., Configuration]

EVERYTHING = 1 << 30


def log_over(journal: MemoryJournal, tail_bytes: int = EVERYTHING) -> RaftLog:
    return RaftLog(journal, Stored(0, None), tail_bytes)


def test_the_tail_in_memory_is_bounded_and_the_rest_is_read(
    new_journal: NewJournal, commands: Commands
) -> None:
    journal = new_journal()
    log = log_over(journal, tail_bytes=1000)
    held = commands(1, *[1] * 500)
    for entry in held:
        log.append([entry])

    assert sum(map(weight, log._tail)) <= 1000
    assert log.slice(1, 500, EVERYTHING) == list(held)
    assert journal.reads == [(1, 500, EVERYTHING)]
    assert log.slice(498, 500, EVERYTHING) == list(held[497:])
    assert len(journal.reads) == 1
    assert [log.term_of(index) for index in (0, 1, 500, 501)] == [0, 1, 1, None]


def test_a_slice_is_bounded_and_never_empty(new_journal: NewJournal, commands: Commands) -> None:
    for journal in (new_journal(), new_journal(commands(1, *[1] * 9))):
        log = log_over(journal)
        if not journal.now.entries:
            log.append(commands(1, *[1] * 9))
        one = weight(log.slice(1, 1, 0)[0])
        assert [entry.index for entry in log.slice(3, 9, 2 * one)] == [3, 4]
        assert [entry.index for entry in log.slice(3, 9, 2 * one - 1)] == [3]
        assert [entry.index for entry in log.slice(3, 4, EVERYTHING)] == [3, 4]


def test_what_was_there_at_the_start_is_durable(
    new_journal: NewJournal, commands: Commands
) -> None:
    assert log_over(new_journal(commands(1, 1, 1))).synced_index == 2


def test_a_sync_covers_what_was_written_before_it_began(
    new_journal: NewJournal, commands: Commands
) -> None:
    journal = new_journal()
    log = log_over(journal)
    log.append(commands(1, 1, 1))
    began = journal.written
    log.append(commands(3, 1))
    log.synced(began)

    assert (log.synced_index, log.synced_sequence) == (2, began)
    log.synced(began - 1)
    assert log.synced_sequence == began
    log.synced(journal.written)
    assert log.synced_index == 3


def test_an_index_depends_on_the_write_that_holds_it_and_on_the_hard_state(
    new_journal: NewJournal, commands: Commands
) -> None:
    journal = new_journal()
    log = log_over(journal)
    log.append(commands(1, 1))
    first = journal.written
    log.append(commands(2, 1))
    second = journal.written
    assert (log.sequence_of(1), log.sequence_of(2)) == (first, second)

    log.setCurrentTerm(4, Peer("a", 1))
    assert log.sequence_of(1) == log.state_sequence == journal.written
    assert (log.getCurrentTerm(), log.getVotedForNodeId()) == (4, Peer("a", 1))
    assert journal.hard_state == HardState(4, Peer("a", 1))


def test_what_replaces_a_truncated_entry_is_not_durable_yet(
    new_journal: NewJournal, commands: Commands
) -> None:
    journal = new_journal(commands(1, 1, 1, 1))
    log = log_over(journal)
    log.append(commands(4, 1))
    before = journal.written
    log.truncate_from(2)
    log.append(commands(2, 2, 2, 2))
    assert log.synced_index == 1

    log.synced(before)
    assert log.synced_index == 1
    assert log.sequence_of(2) == journal.written
    log.synced(journal.written)
    assert log.synced_index == 4
    assert log.slice(1, 4, EVERYTHING) == [*commands(1, 1), *commands(2, 2, 2, 2)]


def test_a_reset_log_holds_nothing_durable_until_it_is_synced(
    new_journal: NewJournal, commands: Commands, configured: Configured
) -> None:
    journal = new_journal(commands(1, *[1] * 9))
    log = log_over(journal)
    log.append(commands(10, 1))
    log.reset(Position(5, 3), configured("ab"))
    assert (log.synced_index, log.last, log.first_index) == (0, Position(5, 3), 6)
    assert (log.configuration, log.configuration_index) == (configured("ab"), 5)
    assert log.sequence_of(5) == journal.written

    log.synced(journal.written)
    assert log.synced_index == 5
    log.append(commands(6, 3))
    assert log.slice(6, 6, EVERYTHING) == list(commands(6, 3))


def test_a_cut_log_answers_for_its_sentinel(new_journal: NewJournal, commands: Commands) -> None:
    log = log_over(new_journal())
    log.append(commands(1, 1, 2, 3))
    log.compact_to(2)

    assert [log.term_of(index) for index in range(5)] == [None, None, 2, 3, None]
    assert (log.sentinel, log.first_index) == (Position(2, 2), 3)
    assert log.slice(3, 3, EVERYTHING) == list(commands(3, 3))


@pytest.fixture
def configurations(configured: Configured) -> list[Entry]:
    return [
        Entry(index, 1, EntryKind.CONFIG, configured(voters).encode())
        for index, voters in ((1, "a"), (2, "ab"), (3, "abc"))
    ]


@pytest.mark.parametrize("reopened", [False, True])
def test_the_configuration_is_the_last_one_of_the_log(
    new_journal: NewJournal,
    configured: Configured,
    configurations: list[Entry],
    reopened: bool,
) -> None:
    journal = new_journal()
    log = log_over(journal)
    for entry in configurations:
        log.append([entry])
    if reopened:
        log = log_over(journal, tail_bytes=1)
    assert (log.configuration, log.configuration_index) == (configured("abc"), 3)
    assert log.configuration_at(2) == (2, configured("ab"))

    log.truncate_from(3)
    assert (log.configuration, log.configuration_index) == (configured("ab"), 2)
    log.truncate_from(1)
    assert log.configuration is None


def test_a_stored_configuration_stands_for_what_was_applied(
    new_journal: NewJournal, configured: Configured, configurations: list[Entry]
) -> None:
    journal = new_journal(configurations)
    journal.compact_to(2)
    log = RaftLog(journal, Stored(2, configured("ab")), EVERYTHING)
    assert log.configuration_index == 3

    log.truncate_from(3)
    assert (log.configuration, log.configuration_index) == (configured("ab"), 2)


def test_members_of_uncommitted_configurations_are_known_and_so_are_the_committed(
    new_journal: NewJournal, configured: Configured
) -> None:
    log = log_over(new_journal())
    for index, voters in ((1, "ab"), (2, "bc"), (3, "cd")):
        log.append([Entry(index, 1, EntryKind.CONFIG, configured(voters).encode())])

    def known(commit: int) -> str:
        return "".join(node for node in "abcd" if log.known(Peer(node, ord(node)), commit))

    assert [known(commit) for commit in (1, 2, 3)] == ["abcd", "bcd", "cd"]


def test_replaced_configurations_are_forgotten(
    new_journal: NewJournal, configured: Configured, configurations: list[Entry]
) -> None:
    log = log_over(new_journal())
    log.append(configurations)
    log.forget_configurations(2)

    assert log.configuration_at(2) == (2, configured("ab"))
    with pytest.raises(StopIteration):
        log.configuration_at(1)

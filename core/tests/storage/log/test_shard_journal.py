from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.journal import HardState, Journal, JournalDamagedError, Position
from quorate.consensus.messages import ENTRY_OVERHEAD, Entry, EntryKind, Peer
from quorate.storage.engine.port import Batch, Engine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.records import Records
from quorate.storage.log.shard_journal import ShardJournal
from quorate.storage.log.witness import Durable, MemoryWitnesses

if TYPE_CHECKING:
    from core.tests.storage.conftest import Databases

SHARD = "metadata/0"


def entries(first: int, last: int, term: int, size: int = 8) -> list[Entry]:
    return [
        Entry(index, term, EntryKind.COMMAND, (b"%d at %d" % (index, term)).ljust(size))
        for index in range(first, last + 1)
    ]


class Log:
    """A node's log that is closed and opened again."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self.witnesses = MemoryWitnesses()
        self.engine: Engine
        self.node_log: NodeLog
        self.open()

    def open(self) -> None:
        self.engine = self._databases.open()
        self.node_log = NodeLog(self.engine, self.witnesses)

    def again(self) -> Journal:
        self.node_log.close()
        self.open()
        return self.node_log.journal(SHARD)

    def sync(self) -> None:
        sequence = self.node_log.begin_sync()
        self.node_log.sync()
        self.node_log.synced(sequence)

    def break_row(self, key: bytes, value: bytes) -> None:
        batch = Batch()
        batch.put(FAMILY, key, value)
        self.engine.write(batch)


@pytest.fixture
def log(databases: Databases) -> Log:
    return Log(databases)


@pytest.fixture
def journal(log: Log) -> Journal:
    return log.node_log.journal(SHARD)


def everything(journal: Journal) -> tuple[Position, Position, HardState, list[Entry]]:
    first, last = journal.sentinel.index + 1, journal.last.index
    found = journal.read(first, last, 1 << 30) if first <= last else []
    return journal.sentinel, journal.last, journal.hard_state, found


def now_and_again(log: Log, journal: Journal) -> Iterator[Journal]:
    yield journal
    yield log.again()


def test_a_new_log_is_empty(journal: Journal) -> None:
    assert everything(journal) == (Position(0, 0), Position(0, 0), HardState(0, None), [])
    assert journal.written == 0
    assert [journal.term_of(index) for index in (0, 1)] == [0, None]


def test_entries_are_read_as_they_were_written(log: Log, journal: Journal) -> None:
    written = [
        Entry(1, 0, EntryKind.CONFIG, b"who"),
        Entry(2, 1, EntryKind.NOOP, b""),
        Entry(3, 1, EntryKind.COMMAND, bytes(range(256)) * 512),
    ]
    journal.append(written[:1])
    journal.append(written[1:])

    for each in now_and_again(log, journal):
        assert each.read(1, 3, 1 << 30) == written
        assert each.last == Position(3, 1)
        assert [each.term_of(index) for index in range(5)] == [0, 0, 1, 1, None]


def test_reading_ends_at_the_bytes_asked_for_but_gives_one(journal: Journal) -> None:
    journal.append(entries(1, 9, 1, size=100))
    each = 100 + ENTRY_OVERHEAD

    def found(limit: int) -> list[int]:
        return [entry.index for entry in journal.read(3, 8, limit)]

    assert found(1) == [3]
    assert found(each) == [3]
    assert found(each * 3 - 1) == [3, 4]
    assert found(each * 3) == [3, 4, 5]
    assert found(each * 100) == [3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(("first", "last"), [(3, 5), (5, 12), (8, 7)])
def test_reading_what_is_not_there_is_a_mistake(journal: Journal, first: int, last: int) -> None:
    journal.append(entries(1, 10, 1))
    journal.compact_to(3)

    with pytest.raises(ValueError, match="holds 4 to 10"):
        journal.read(first, last, 1)


def test_truncation_drops_the_end(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 4, 1))
    journal.append(entries(5, 8, 2))
    journal.truncate_from(3)
    journal.append(entries(3, 4, 5))

    for each in now_and_again(log, journal):
        expected = entries(1, 2, 1) + entries(3, 4, 5)
        assert everything(each) == (Position(0, 0), Position(4, 5), HardState(0, None), expected)
        assert [each.term_of(index) for index in range(1, 6)] == [1, 1, 5, 5, None]


def test_everything_may_be_truncated(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 4, 1))
    journal.compact_to(2)
    journal.truncate_from(3)

    for each in now_and_again(log, journal):
        assert everything(each) == (Position(2, 1), Position(2, 1), HardState(0, None), [])


def test_compaction_keeps_the_term_of_where_it_cut(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 4, 1))
    journal.append(entries(5, 8, 2))
    journal.append(entries(9, 9, 3))
    for index, term in ((0, 0), (2, 1), (4, 1), (5, 2), (8, 2), (8, 2)):
        journal.compact_to(index)

        assert journal.sentinel == Position(index, term)
        assert journal.term_of(index) == term
        assert index == 0 or journal.term_of(index - 1) is None
        assert journal.term_of(index + 1) == (1 if index < 4 else 2 if index < 8 else 3)
    for each in now_and_again(log, journal):
        expected = entries(9, 9, 3)
        assert everything(each) == (Position(8, 2), Position(9, 3), HardState(0, None), expected)


def test_a_whole_log_is_compacted_and_goes_on(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 4, 1))
    journal.compact_to(4)

    assert everything(journal) == (Position(4, 1), Position(4, 1), HardState(0, None), [])
    journal.append(entries(5, 6, 1))
    for each in now_and_again(log, journal):
        assert each.last == Position(6, 1)
        assert [each.term_of(index) for index in range(3, 8)] == [None, 1, 1, 1, None]


@pytest.mark.parametrize("position", [Position(2, 7), Position(9, 7)])
def test_reset_leaves_the_position_alone(log: Log, journal: Journal, position: Position) -> None:
    journal.save_hard_state(HardState(7, None))
    journal.append(entries(1, 4, 1))
    journal.reset(position)

    for each in now_and_again(log, journal):
        assert everything(each) == (position, position, HardState(7, None), [])
    again = entries(position.index + 1, position.index + 1, 8)
    journal = log.again()
    journal.append(again)
    assert everything(log.again())[3] == again


def test_the_newest_hard_state_is_kept(log: Log, journal: Journal) -> None:
    for state in (
        HardState(1, Peer("north", 2**64 - 1)),
        HardState(2, Peer("", 0)),
        HardState(3, None),
        HardState(3, Peer("süd", 7)),
    ):
        journal.save_hard_state(state)

        assert journal.hard_state == state
        journal = log.again()
        assert journal.hard_state == state


def test_shards_do_not_see_each_other(log: Log) -> None:
    names = ["a", "a/1", "a/10", "b", "ä"]
    journals = [log.node_log.journal(name) for name in names]
    for number, journal in enumerate(journals):
        journal.append(entries(1, 3 + number, number))
        journal.save_hard_state(HardState(number, None))
    journals[0].truncate_from(1)
    journals[1].compact_to(4)
    journals[2].reset(Position(50, 2))
    log.again()

    found = [everything(log.node_log.journal(name)) for name in names]
    assert [(state[0].index, state[1].index, len(state[3])) for state in found] == [
        (0, 0, 0),
        (4, 4, 0),
        (50, 50, 0),
        (0, 6, 6),
        (0, 7, 7),
    ]
    assert [state[2].term for state in found] == [0, 1, 2, 3, 4]


def test_writes_are_numbered_over_all_shards(log: Log) -> None:
    one, two = log.node_log.journal("a"), log.node_log.journal("b")
    numbers = []
    for journal in (one, two, one):
        journal.append(entries(journal.last.index + 1, journal.last.index + 2, 1))
        numbers.append((one.written, two.written))
    two.save_hard_state(HardState(1, None))

    assert numbers == [(1, 0), (1, 2), (3, 2)]
    assert (one.written, two.written, log.node_log.written) == (3, 4, 4)
    assert log.node_log.begin_sync() == 4


@pytest.mark.parametrize(
    "wrong",
    [entries(3, 3, 1), entries(1, 1, 1), entries(2, 2, 0), [*entries(2, 2, 1), *entries(4, 4, 1)]],
)
def test_entries_that_do_not_follow_are_a_mistake(journal: Journal, wrong: list[Entry]) -> None:
    journal.append(entries(1, 1, 1))

    with pytest.raises(ValueError, match="does not follow"):
        journal.append(wrong)

    assert everything(journal)[3] == entries(1, 1, 1)


@pytest.mark.parametrize("index", [2, 7])
def test_cutting_where_nothing_is_is_a_mistake(journal: Journal, index: int) -> None:
    journal.append(entries(1, 6, 1))
    journal.compact_to(3)

    with pytest.raises(ValueError, match=f"no entry {index} to drop"):
        journal.truncate_from(index)
    with pytest.raises(ValueError, match=f"no entry {index} to cut at"):
        journal.compact_to(index)


def test_a_journal_is_opened_once(log: Log, journal: Journal) -> None:
    with pytest.raises(ValueError, match="already open"):
        log.node_log.journal(SHARD)
    with pytest.raises(ValueError, match="zero byte"):
        log.node_log.journal("a\x00b")


def test_a_flipped_bit_in_an_entry_is_named(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 5, 1))
    key = Records(SHARD).entry_key(3)
    value = bytearray(log.engine.get(FAMILY, key) or b"")
    value[-1] ^= 1
    log.break_row(key, bytes(value))

    assert len(journal.read(1, 2, 1 << 20)) == 2
    with pytest.raises(JournalDamagedError, match=f"shard {SHARD} fails the checksum of entry 3"):
        journal.read(1, 5, 1 << 20)
    with pytest.raises(JournalDamagedError, match=r"entry 3.*quorate member replace"):
        log.again()


def test_an_entry_in_anothers_place_is_named(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 5, 1))
    records = Records(SHARD)
    log.break_row(records.entry_key(3), log.engine.get(FAMILY, records.entry_key(4)) or b"")

    with pytest.raises(JournalDamagedError, match="checksum of entry 3"):
        journal.read(3, 3, 1 << 20)


@pytest.mark.parametrize("gone", [1, 3, 5])
def test_a_missing_entry_is_named(log: Log, journal: Journal, gone: int) -> None:
    journal.append(entries(1, 5, 1))
    batch = Batch()
    batch.delete(FAMILY, Records(SHARD).entry_key(gone))
    log.engine.write(batch)

    with pytest.raises(JournalDamagedError, match=f"lacks entry {gone}"):
        journal.read(1, 5, 1 << 20)
    if gone < 5:
        with pytest.raises(JournalDamagedError, match=f"lacks entry {gone}"):
            log.again()


def test_a_term_that_goes_back_is_named(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 5, 4))
    records = Records(SHARD)
    key = records.entry_key(3)
    log.break_row(key, records.encode_entry(key, Entry(3, 2, EntryKind.COMMAND, b"")))

    with pytest.raises(JournalDamagedError, match="goes back to term 2 at entry 3"):
        log.again()


def test_a_record_of_a_later_version_is_named(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 1, 1))
    log.break_row(Records(SHARD).start + b"\x09", b"?")

    with pytest.raises(JournalDamagedError, match="unknown to this version"):
        log.again()


def test_what_was_synced_is_witnessed(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 3, 1))
    sequence = log.node_log.begin_sync()
    journal.append(entries(4, 5, 1))
    journal.save_hard_state(HardState(1, None))
    log.node_log.sync()

    assert log.witnesses.read(SHARD) is None
    log.node_log.synced(sequence)
    assert log.witnesses.read(SHARD) == Durable(3, 0)
    log.sync()
    assert log.witnesses.read(SHARD) == Durable(5, 1)


def test_a_truncation_lowers_the_witness_before_it_is_written(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 5, 1))
    log.sync()
    journal.append(entries(6, 8, 1))
    sequence = log.node_log.begin_sync()
    journal.truncate_from(3)

    for seed in range(9):
        log.witnesses.lose_power(Random(seed))
        assert log.witnesses.read(SHARD) == Durable(2, 0)
    journal.append(entries(3, 3, 2))
    log.node_log.sync()
    log.node_log.synced(sequence)
    # The end of the log that this sync covered is gone since.
    assert log.witnesses.read(SHARD) == Durable(2, 0)
    log.sync()
    assert log.witnesses.read(SHARD) == Durable(3, 0)


@pytest.mark.parametrize(("index", "between"), [(2, 2), (9, 5)])
def test_a_reset_never_raises_the_witness_before_its_sync(
    log: Log, journal: Journal, index: int, between: int
) -> None:
    journal.append(entries(1, 5, 1))
    log.sync()
    journal.reset(Position(index, 3))

    assert log.witnesses.read(SHARD) == Durable(between, 0)
    log.sync()
    assert log.witnesses.read(SHARD) == Durable(index, 0)


def test_a_log_that_ends_below_what_was_applied_is_refused(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 5, 1))
    log.again()
    log.node_log.close()
    log.open()

    with pytest.raises(
        JournalDamagedError, match=r"metadata/0 ends at index 5 .* up to index 6.*member replace"
    ):
        log.node_log.journal(SHARD, applied=6)


def test_a_log_that_lost_its_vote_is_refused(log: Log, journal: Journal) -> None:
    journal.append(entries(1, 5, 1))
    journal.save_hard_state(HardState(1, None))
    log.sync()
    log.witnesses.write(SHARD, Durable(5, 2))

    with pytest.raises(JournalDamagedError, match=r"number 1 .*index is 5.* number 2 was durable"):
        log.again()


def test_the_tail_within_both_bounds_is_known_however_it_came_to_be(log: Log) -> None:
    each = 100 + ENTRY_OVERHEAD
    journal = log.node_log.journal(SHARD)
    journal.append(entries(1, 20, 1, size=100))
    journal.truncate_from(15)
    journal.append(entries(15, 20, 2, size=100))
    journal.compact_to(5)
    log.sync()

    again = None
    for held in (journal, log.again()):
        assert isinstance(held, ShardJournal)
        assert held.weight == 15 * each
        assert held.tail_from(100, 1 << 20) == 5
        assert held.tail_from(4, 1 << 20) == 16
        assert held.tail_from(100, 3 * each) == 17
        assert held.tail_from(100, 3 * each - 1) == 18
        again = held
    assert again is not None
    again.reset(Position(30, 2))
    assert (again.weight, again.tail_from(4, 1 << 20)) == (0, 30)

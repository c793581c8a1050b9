"""RocksDB's files damaged on purpose, and a process killed in the middle of writing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from quorate.consensus.journal import HardState, JournalDamagedError
from quorate.consensus.messages import Entry, EntryKind
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.shard_journal import ShardJournal
from quorate.storage.log.witness import FileWitnesses

SHARD = "metadata/0"

WRITE = f"""
import os, sys
from pathlib import Path
from quorate.consensus.journal import HardState
from quorate.consensus.messages import Entry, EntryKind
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.witness import FileWitnesses

home, synced, unsynced = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
log = NodeLog(RocksEngine(home / "log", [FAMILY]), FileWitnesses(home / "witness"))
journal = log.journal({SHARD!r})

def write(term):
    index = journal.last.index + 1
    journal.append([Entry(index, term, EntryKind.COMMAND, b"%d " % index * 20)])
    journal.save_hard_state(HardState(term, None))

def sync():
    sequence = log.begin_sync()
    log.sync()
    log.synced(sequence)
    print(journal.last.index, flush=True)

term = journal.last.term + 1
while synced < 0 or term <= synced:
    write(term)
    sync()
    term += 1
for _ in range(unsynced):
    write(term)
    term += 1
os.kill(os.getpid(), 9)
"""


def killed(home: Path, synced: int, unsynced: int) -> int:
    """Let a process write, sync, write more, and die of SIGKILL; return what it saw synced."""
    process = subprocess.run(
        [sys.executable, "-c", WRITE, str(home), str(synced), str(unsynced)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert process.returncode == -9, process.stderr
    return int(process.stdout.split()[-1])


def opened(home: Path, applied: int = 0) -> tuple[NodeLog, ShardJournal]:
    log = NodeLog(RocksEngine(home / "log", [FAMILY]), FileWitnesses(home / "witness"))
    try:
        return log, log.journal(SHARD, applied)
    except JournalDamagedError:
        log.close()
        raise


def wal(home: Path) -> Path:
    """Return the write-ahead log that a killed process left."""
    [found] = [path for path in (home / "log").glob("*.log") if path.stat().st_size]
    return found


def damage(home: Path, place: float) -> None:
    content = bytearray(wal(home).read_bytes())
    content[int(len(content) * place)] ^= 1
    wal(home).write_bytes(content)


@pytest.mark.parametrize("place", [0.05, 0.5, 0.95])
def test_a_flipped_bit_in_the_synced_log_is_refused(tmp_path: Path, place: float) -> None:
    assert killed(tmp_path, 100, 0) == 100
    damage(tmp_path, place)

    with pytest.raises(JournalDamagedError, match=r"100") as refusal:
        opened(tmp_path)
    assert SHARD in str(refusal.value)
    assert "ends at index" in str(refusal.value)
    assert "quorate member replace" in str(refusal.value)


def test_a_damaged_vote_at_the_very_end_is_refused(tmp_path: Path) -> None:
    killed(tmp_path, 20, 0)
    content = bytearray(wal(tmp_path).read_bytes())
    content[-1] ^= 1
    wal(tmp_path).write_bytes(content)

    with pytest.raises(JournalDamagedError, match=r"number 19 .* number 20 was durable"):
        opened(tmp_path)


def test_the_applied_index_stands_in_for_a_witness_that_is_gone(tmp_path: Path) -> None:
    killed(tmp_path, 50, 0)
    damage(tmp_path, 0.5)
    for file in (tmp_path / "witness").iterdir():
        file.write_bytes(file.read_bytes()[:7])

    with pytest.raises(JournalDamagedError, match="up to index 40"):
        opened(tmp_path, applied=40)


@pytest.mark.parametrize("tail", [b"\xa5" * 4096, bytes(4096)])
def test_garbage_behind_what_was_synced_is_dropped(tmp_path: Path, tail: bytes) -> None:
    """As after a power loss: the file has grown, what was written into it is lost."""
    assert killed(tmp_path, 30, 0) == 30
    with wal(tmp_path).open("ab") as file:
        file.write(tail)

    log, journal = opened(tmp_path)
    assert journal.last.index == 30
    assert len(journal.read(1, 30, 1 << 20)) == 30
    log.close()


def test_a_torn_unsynced_tail_is_dropped(tmp_path: Path) -> None:
    assert killed(tmp_path, 30, 20) == 30
    content = wal(tmp_path).read_bytes()
    wal(tmp_path).write_bytes(content[: int(len(content) * 0.9)])

    log, journal = opened(tmp_path)
    assert 30 <= journal.last.index < 50
    log.close()


def test_what_recovery_found_is_not_in_the_log_alone(tmp_path: Path) -> None:
    """What a replica finds at its start counts as durable, synced by the dead process or not."""
    killed(tmp_path, 1, 9)
    log, journal = opened(tmp_path)
    # Whatever a power loss might now take out of the new write-ahead log, the ten entries stay.
    assert list((tmp_path / "log").glob("*.sst"))
    assert not wal_bytes(tmp_path)
    assert journal.last.index == 10
    log.close()


def wal_bytes(home: Path) -> int:
    return sum(path.stat().st_size for path in (home / "log").glob("*.log"))


def test_a_killed_process_loses_nothing_that_it_saw_synced(tmp_path: Path) -> None:
    """Killed from outside while it writes and syncs, over and over on one log."""
    seen = 0
    for round_ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITE, str(tmp_path), "-1", "0"],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            for _ in range(15 + round_ * 7):
                seen = int(process.stdout.readline())
            process.kill()
            seen = max([seen, *map(int, process.stdout.read().split())])
        log, journal = opened(tmp_path)
        assert journal.last.index >= seen
        found = journal.read(1, journal.last.index, 1 << 30)
        assert found == [
            Entry(index, entry.term, EntryKind.COMMAND, b"%d " % index * 20)
            for index, entry in enumerate(found, 1)
        ]
        assert journal.hard_state in (
            HardState(found[-1].term, None),
            HardState(found[-2].term, None),
        )
        log.close()

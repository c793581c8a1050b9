from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.messages import Entry, EntryKind
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.shard_journal import ShardJournal
from quorate.storage.log.witness import Durable, FileWitnesses, MemoryWitnesses, Witnesses

if TYPE_CHECKING:
    from core.tests.storage.conftest import Databases


@pytest.fixture(params=["files", "memory"])
def witnesses(request: pytest.FixtureRequest, tmp_path: Path) -> Witnesses:
    return FileWitnesses(tmp_path / "witness") if request.param == "files" else MemoryWitnesses()


def append(journal: ShardJournal, *indexes: int) -> None:
    journal.append([Entry(index, 1, EntryKind.COMMAND, b"x") for index in indexes])


def sync(log: NodeLog) -> None:
    sequence = log.begin_sync()
    log.sync()
    log.synced(sequence)


def test_a_removed_journal_is_empty_when_it_is_opened_again(
    databases: Databases, witnesses: Witnesses
) -> None:
    engine = databases.open()
    log = NodeLog(engine, witnesses)
    gone, stays = log.journal("a/1"), log.journal("a/10")
    append(gone, 1, 2)
    append(stays, 1)
    sync(log)
    append(gone, 3)

    log.remove("a/1")
    sync(log)

    assert witnesses.read("a/1") is None
    assert witnesses.read("a/10") == Durable(1, 0)
    fresh = log.journal("a/1")
    assert fresh.last.index == 0
    append(fresh, 1)
    log.close()
    again = NodeLog(databases.open(), witnesses)
    assert again.journal("a/1").last.index == 1
    assert again.journal("a/10").last.index == 1


def test_a_journal_that_was_never_opened_is_removed_too(
    databases: Databases, witnesses: Witnesses
) -> None:
    log = NodeLog(databases.open(), witnesses)
    append(log.journal("a/1"), 1)
    sync(log)
    log.close()

    again = NodeLog(databases.open(), witnesses)
    again.remove("a/1")
    again.remove("never/0")

    assert again.journal("a/1").last.index == 0


def test_whoever_still_holds_a_removed_journal_cannot_write(databases: Databases) -> None:
    engine = databases.open()
    log = NodeLog(engine, MemoryWitnesses())
    journal = log.journal("a/1")
    append(journal, 1)
    log.remove("a/1")

    with pytest.raises(ValueError, match="a/1 was removed"):
        append(journal, 2)

    assert not list(engine.iterate(FAMILY, b"", None))

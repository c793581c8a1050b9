from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from quorate.storage.engine.memory import Files, MemoryDisk, MemoryEngine
from quorate.storage.engine.port import (
    Batch,
    DamagedError,
    EngineError,
    FullError,
    StalledError,
)


def write(engine: MemoryEngine, *numbers: int) -> None:
    for number in numbers:
        batch = Batch()
        batch.put("log", b"%d" % number, b"v")
        engine.write(batch)


def found(disk: MemoryDisk) -> list[int]:
    engine = MemoryEngine(disk, [])
    return [int(key) for key, _ in engine.iterate("log", b"", b"\xff")]


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk(of_log=True)


@pytest.fixture
def engine(disk: MemoryDisk) -> MemoryEngine:
    return MemoryEngine(disk, ["log"])


@pytest.mark.parametrize(("of_log", "left"), [(True, [1, 2, 3]), (False, [1])])
def test_a_killed_process_loses_nothing_of_a_log(of_log: bool, left: list[int]) -> None:
    disk = MemoryDisk(of_log=of_log)
    engine = MemoryEngine(disk, ["log"])
    write(engine, 1)
    engine.sync()
    write(engine, 2, 3)
    disk.kill()

    assert found(disk) == left


def test_a_closed_database_loses_nothing() -> None:
    disk = MemoryDisk()
    engine = MemoryEngine(disk, ["log"])
    write(engine, 1, 2)
    engine.close()

    assert found(disk) == [1, 2]


def test_a_power_loss_keeps_any_beginning_that_holds_what_was_synced(disk: MemoryDisk) -> None:
    outcomes = set()
    for seed in range(40):
        disk = MemoryDisk(of_log=True)
        engine = MemoryEngine(disk, ["log"])
        write(engine, 1, 2)
        engine.sync()
        write(engine, 3, 4)
        disk.lose_power(Random(seed))
        outcomes.add(tuple(found(disk)))

    assert outcomes == {(1, 2), (1, 2, 3), (1, 2, 3, 4)}


def test_what_is_taken_back_is_as_it_was_before(disk: MemoryDisk, engine: MemoryEngine) -> None:
    write(engine, 1, 2, 3)
    engine.sync()
    batch = Batch()
    batch.put("log", b"1", b"new")
    batch.delete_range("log", b"1", b"3")
    batch.put("log", b"2", b"newer")
    batch.delete("log", b"3")
    batch.delete("log", b"none")
    engine.write(batch)
    disk.keep(0)

    assert list(MemoryEngine(disk, []).iterate("log", b"", b"\xff")) == [
        (b"1", b"v"),
        (b"2", b"v"),
        (b"3", b"v"),
    ]


def test_a_sync_covers_what_was_written_before_it_began(
    disk: MemoryDisk, engine: MemoryEngine
) -> None:
    write(engine, 1)
    began = disk.position
    write(engine, 2)
    disk.sync(began)
    disk.keep(0)

    assert found(disk) == [1]


def test_what_recovery_found_is_durable(disk: MemoryDisk, engine: MemoryEngine) -> None:
    write(engine, 1)
    disk.kill()
    MemoryEngine(disk, [])
    disk.keep(0)

    assert found(disk) == [1]


def test_a_damaged_row_is_told(disk: MemoryDisk, engine: MemoryEngine) -> None:
    write(engine, 1, 2)
    disk.damage_row("log", b"2")
    rows = engine.iterate("log", b"", b"\xff")

    assert next(rows) == (b"1", b"v")
    with pytest.raises(DamagedError):
        next(rows)
    with pytest.raises(DamagedError):
        engine.get("log", b"2")
    with pytest.raises(DamagedError):
        engine.get_many("log", [b"1", b"2"])


def test_a_dead_process_writes_no_more(disk: MemoryDisk, engine: MemoryEngine) -> None:
    disk.kill()

    with pytest.raises(EngineError, match="closed"):
        write(engine, 1)
    with pytest.raises(EngineError, match="closed"):
        engine.sync()


def test_a_failing_disk_fails_writes_and_syncs(disk: MemoryDisk, engine: MemoryEngine) -> None:
    disk.failure = FullError("no space")

    with pytest.raises(FullError):
        write(engine, 1)
    with pytest.raises(FullError):
        engine.sync()


def test_stopped_writes_hold_up_only_the_impatient(disk: MemoryDisk, engine: MemoryEngine) -> None:
    disk.stalled = True
    batch = Batch()
    batch.put("log", b"1", b"v")

    assert engine.stalled
    with pytest.raises(StalledError):
        engine.write(batch)
    engine.write(batch, patient=True)
    assert engine.get("log", b"1") == b"v"


def test_a_torn_copy_is_told(disk: MemoryDisk, engine: MemoryEngine) -> None:
    folders: dict[Path, Files] = {}
    disk = MemoryDisk(folders)
    engine = MemoryEngine(disk, ["log", "core.x"])
    write(engine, *range(20))
    engine.checkpoint(Path("copy"))
    files = folders[Path("copy")]
    assert found(MemoryDisk.restore(files)) == sorted(range(20), key=str)

    for place in range(len(files["log"])):
        with pytest.raises(DamagedError, match="log is damaged"):
            MemoryDisk.restore({"log": files["log"][:place]})


def test_a_damaged_row_is_not_copied(disk: MemoryDisk, engine: MemoryEngine) -> None:
    write(engine, 1)
    disk.damage_row("log", b"1")

    with pytest.raises(DamagedError):
        engine.checkpoint(Path("copy"))

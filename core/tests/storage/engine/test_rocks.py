from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from quorate.storage.engine import rocks
from quorate.storage.engine.options import Budget
from quorate.storage.engine.port import (
    Batch,
    DamagedError,
    EngineError,
    FullError,
    StalledError,
)
from quorate.storage.engine.rocks import RocksEngine
from quorate.testing.waiting import until


def written(path: Path, rows: int) -> None:
    engine = RocksEngine(path, ["log"])
    for number in range(rows):
        batch = Batch()
        batch.put("log", b"%06d" % number, bytes(200))
        engine.write(batch)
    engine.close()


def flip_in_tables(path: Path) -> None:
    """Flip a bit in the middle of every table file: in a block of rows."""
    for file in path.glob("*.sst"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)


def test_a_damaged_block_is_told_and_not_taken_for_the_end(tmp_path: Path) -> None:
    written(tmp_path / "db", 2000)
    RocksEngine(tmp_path / "db", []).close()
    flip_in_tables(tmp_path / "db")
    engine = RocksEngine(tmp_path / "db", [])

    seen: list[tuple[bytes, bytes]] = []
    with pytest.raises(DamagedError, match="quorate member replace"):
        seen.extend(engine.iterate("log", b"", b"\xff"))
    with pytest.raises(DamagedError, match="quorate member replace"):
        engine.get_many("log", [b"%06d" % number for number in range(2000)])
    engine.close()

    assert len(seen) < 2000


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(EngineError, match=r"Cannot open the database .*/file/db"):
        RocksEngine(tmp_path / "file" / "db", ["log"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Corruption: block checksum mismatch: stored = 1, computed = 2", DamagedError),
        ("IO error: No space left on device: While appending to file", FullError),
        ("Result incomplete: Write stall", StalledError),
        ("IO error: something else", EngineError),
    ],
)
def test_errors_are_told_apart_and_name_the_database(
    text: str, expected: type[EngineError]
) -> None:
    error = rocks._translated(Exception(text), "write to", Path("there"))

    assert type(error) is expected
    assert text in str(error)
    assert "Cannot write to the database there" in str(error)


def test_databases_share_one_budget(tmp_path: Path) -> None:
    budget = Budget(block_cache_bytes=2 << 20, write_buffer_bytes=4 << 20)
    engines = [RocksEngine(tmp_path / name, ["rows"], budget) for name in ("one", "two")]
    for number in range(400):
        batch = Batch()
        batch.put("rows", b"%06d" % number, number.to_bytes(4, "big") * 10_000)
        for engine in engines:
            engine.write(batch, patient=True)
        assert budget.write_buffers_used > 0
    for engine in engines:
        engine.flush()
        for _ in engine.iterate("rows", b"", None):
            pass
        # Sixteen megabytes went through each.
        assert engine.memory().write_buffers < 4 << 20
        assert 0 < budget.block_cache_used < 4 << 20
    assert budget.write_buffers_used < 8 << 20
    for engine in engines:
        engine.close()


def test_the_log_keeps_its_rows_in_memory_while_shards_fill_theirs(tmp_path: Path) -> None:
    budget = Budget(write_buffer_bytes=4 << 20)
    shard = RocksEngine(tmp_path / "shard", ["rows"], budget)
    log = RocksEngine(tmp_path / "log", ["log"], budget)
    for number in range(100):
        # Ten megabytes in all: the shard always holds about as much as it may.
        put(shard, "rows", number, bytes(100_000))
        put(log, "log", number, bytes(1_000))
    files = len(list((tmp_path / "log").glob("*.sst")))
    for engine in (shard, log):
        engine.close()

    assert files == 0


def put(engine: RocksEngine, family: str, number: int, value: bytes) -> None:
    batch = Batch()
    batch.put(family, b"%06d" % number, value)
    engine.write(batch, patient=True)


def test_other_threads_run_while_a_family_is_flushed(tmp_path: Path) -> None:
    engine = RocksEngine(tmp_path, ["rows"])
    for number in range(20):
        batch = Batch()
        batch.put("rows", b"%06d" % number, number.to_bytes(4, "big") * 250_000)
        engine.write(batch)
    ticks, done = 0, threading.Event()

    def flush() -> None:
        engine.flush()
        done.set()

    thread = threading.Thread(target=flush)
    thread.start()
    while not done.is_set():
        ticks += 1
    thread.join()
    engine.close()

    assert ticks > 1_000


def test_a_read_that_finds_nothing_in_memory_reads_little_from_disk(tmp_path: Path) -> None:
    engine = RocksEngine(tmp_path, ["rows"], Budget(block_cache_bytes=64 << 10))
    for first in range(4):
        batch = Batch()
        for number in range(first, 200_000, 4):
            batch.put("rows", b"%d" % number, bytes(8))
        engine.write(batch, patient=True)
        engine.flush()
    # Four files are made one, whose filter is not kept in memory as theirs are.
    until(lambda: engine._property("rows", "rocksdb.num-files-at-level0") == 0 or None)
    absent = [b"%d+" % number for number in range(0, 200_000, 1_000)]
    for key in absent:
        engine.get("rows", key)

    before = read_bytes()
    assert not any(engine.get("rows", key) for key in absent)
    read = read_bytes() - before
    engine.close()

    # The filter of all keys has 250 KiB, many times what the cache holds.
    assert read / len(absent) < 16 << 10


def read_bytes() -> int:
    """Return how many bytes this process has read from files, cached by the system or not."""
    counted = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counted["rchar"])


def test_a_database_whose_files_are_gone_lets_go_of_its_folder(tmp_path: Path) -> None:
    engine = RocksEngine(tmp_path / "gone", ["a", "b"])
    batch = Batch()
    batch.put("a", b"k", b"v")
    batch.put("b", b"k", b"v")
    engine.write(batch)
    shutil.rmtree(tmp_path / "gone")
    with pytest.raises(DamagedError, match="flush"):
        engine.close()
    another = RocksEngine(tmp_path / "gone", ["a", "b"])
    assert another.get("a", b"k") is None
    another.close()

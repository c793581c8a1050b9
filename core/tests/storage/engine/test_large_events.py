"""Large events stand in files of their own, which compactions leave as they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from quorate.storage.engine.port import Batch, DamagedError
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.families import EVENTS
from quorate.testing.waiting import until

SIZE = 10_000


def key(number: int) -> bytes:
    return number.to_bytes(8, "big")


def blobs(path: Path) -> set[str]:
    return {each.name for each in path.glob("*.blob")}


def flush(engine: RocksEngine, numbers: Iterable[int], trimmed: int = 0) -> None:
    """Write events, trim those before a number, and flush."""
    batch = Batch()
    batch.delete_range(EVENTS, key(0), key(trimmed))
    for number in numbers:
        batch.put(EVENTS, key(number), b"%d" % number * SIZE)
    engine.write(batch)
    engine.flush()


def test_files_of_trimmed_events_are_deleted_and_no_others(tmp_path: Path) -> None:
    engine = RocksEngine(tmp_path, [EVENTS])
    flush(engine, range(20))
    first = blobs(tmp_path)
    flush(engine, range(20, 40), trimmed=10)
    second = blobs(tmp_path) - first
    flush(engine, range(40, 60), trimmed=20)
    assert first
    numbers = iter(range(60, 1_000_000))

    def gone() -> bool | None:
        flush(engine, [next(numbers)])
        return not first & blobs(tmp_path) or None

    until(gone)
    assert second <= blobs(tmp_path)
    assert engine.get(EVENTS, key(19)) is None
    assert engine.get(EVENTS, key(20)) == b"20" * SIZE
    engine.close()


def test_they_count_towards_the_size_and_small_ones_stand_in_tables(tmp_path: Path) -> None:
    engine = RocksEngine(tmp_path, [EVENTS])
    batch = Batch()
    batch.put(EVENTS, key(1), bytes(500))
    engine.write(batch)
    engine.flush()
    assert not blobs(tmp_path)
    flush(engine, [2])
    assert len(blobs(tmp_path)) == 1
    assert engine.files().tables > SIZE
    engine.close()


def test_a_file_that_is_gone_or_changed_is_told(tmp_path: Path) -> None:
    engine = RocksEngine(tmp_path, [EVENTS])
    flush(engine, [1])
    assert all(path.exists() for path in engine.tables())
    [name] = blobs(tmp_path)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    assert not all(path.exists() for path in engine.tables())
    engine.close()

    for left in b"", content[: SIZE // 2], content[:SIZE] + b"?" + content[SIZE + 1 :]:
        (tmp_path / name).write_bytes(left)
        engine = RocksEngine(tmp_path, [EVENTS])
        with pytest.raises(DamagedError, match="quorate member replace"):
            engine.get(EVENTS, key(1))
        engine.close()

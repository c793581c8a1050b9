from __future__ import annotations

from pathlib import Path

import pytest
from quorate.storage.engine import rocks
from quorate.storage.engine.port import (
    Batch,
    DamagedError,
    EngineError,
    FullError,
    StalledError,
)
from quorate.storage.engine.rocks import RocksEngine


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

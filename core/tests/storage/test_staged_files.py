from __future__ import annotations

from pathlib import Path

import pytest
from quorate.storage.engine.port import DamagedError
from quorate.storage.engine.rocks import RocksEngine, write_file
from quorate.storage.staged_files import StagedFiles, digest_of
from quorate.v1.files_pb2 import SortedFile

SHARD, NAME, FAMILY = "mqtt/0", "spark/2026-11-23", "mqtt.sessions"
ROWS = [(b"%03d" % number, b"v") for number in range(100)]


def staged(folder: Path) -> StagedFiles:
    return StagedFiles(folder, lambda path, names: RocksEngine(path, names, compacts=False))


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    write_file(tmp_path / "made", FAMILY, ROWS)
    return (tmp_path / "made").read_bytes()


def described(content: bytes, rows: int = len(ROWS)) -> SortedFile:
    digest = digest_of(content).digest()
    return SortedFile(family=FAMILY, digest=digest, size=len(content), rows=rows)


def test_a_file_comes_in_parts_also_over_a_restart(tmp_path: Path, content: bytes) -> None:
    file, files = described(content), staged(tmp_path / "files")
    assert files.write(SHARD, NAME, file, 0, content[:500]) == 500
    # What does not go on where it ended is passed over.
    assert files.write(SHARD, NAME, file, 0, content[:500]) == 500
    assert files.write(SHARD, NAME, file, 600, content[600:]) == 500
    files.close()
    files = staged(tmp_path / "files")
    assert files.received(SHARD, NAME, file) == 500
    assert files.paths(SHARD, NAME, [file]) is None
    assert files.write(SHARD, NAME, file, 500, content[500:]) == len(content)
    assert files.received(SHARD, NAME, file) == len(content)
    found = files.paths(SHARD, NAME, [file])
    assert found is not None
    [path] = found[FAMILY]
    assert path.read_bytes() == content
    assert list(files.sets()) == [(SHARD, NAME)]
    files.close()


def test_a_file_whose_process_died_before_it_was_named_is_sent_again(
    tmp_path: Path, content: bytes
) -> None:
    file, files = described(content), staged(tmp_path / "files")
    files.write(SHARD, NAME, file, 0, content)
    files.close()
    [path] = (tmp_path / "files").glob("*/*/*.sst")
    path.rename(path.with_suffix(".part"))
    files = staged(tmp_path / "files")
    # Who was told that all of it is here would never send what makes it whole.
    assert files.received(SHARD, NAME, file) == 0
    assert files.paths(SHARD, NAME, [file]) is None
    assert files.write(SHARD, NAME, file, 0, content) == len(content)
    assert files.paths(SHARD, NAME, [file]) == {FAMILY: [path]}
    files.close()


def test_rows_are_found_in_files_also_after_a_restart(tmp_path: Path, content: bytes) -> None:
    file, files = described(content), staged(tmp_path / "files")
    files.write(SHARD, NAME, file, 0, content)
    assert files.find(SHARD, NAME, FAMILY, [b"a", b"007"]) == b"007"
    files.close()
    files = staged(tmp_path / "files")
    with pytest.raises(LookupError):
        files.find(SHARD, NAME, FAMILY, [b"007"])
    files.look_into(SHARD, NAME, [file])
    assert files.find(SHARD, NAME, FAMILY, [b"a", b"b"]) is None
    assert files.find(SHARD, NAME, "other.rows", [b"007"]) is None
    files.close()


@pytest.mark.parametrize("damage", ["bytes", "rows", "format"])
def test_what_is_not_as_announced_is_not_kept(tmp_path: Path, content: bytes, damage: str) -> None:
    files = staged(tmp_path / "files")
    file = described(content, rows=7) if damage == "rows" else described(content)
    if damage == "bytes":
        content = content[:-1] + b"\x00"
    elif damage == "format":
        content = bytes(len(content))
        file.digest = digest_of(content).digest()
    with pytest.raises(DamagedError):
        files.write(SHARD, NAME, file, 0, content)
    assert files.received(SHARD, NAME, file) == 0
    assert files.paths(SHARD, NAME, [file]) is None
    files.close()


def test_a_set_is_removed_whole(tmp_path: Path, content: bytes) -> None:
    file, files = described(content), staged(tmp_path / "files")
    files.write(SHARD, NAME, file, 0, content)
    files.write(SHARD, NAME, described(content + b"more"), 0, content[:9])
    assert files.received(SHARD, NAME, file) == len(content)
    files.remove(SHARD, NAME)
    assert not [*tmp_path.rglob("*.sst"), *tmp_path.rglob("*.part")]
    assert list(files.sets()) == []
    assert files.received(SHARD, NAME, file) == 0
    files.remove(SHARD, NAME)

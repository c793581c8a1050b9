from __future__ import annotations

from pathlib import Path

import pytest
from quorate.shards.snapshots.parts import (
    MANIFEST,
    PART_BYTES,
    BackupError,
    BackupTarget,
    slices,
)
from quorate.storage import durably
from quorate.v1.admin_pb2 import BackupPart


def part(path: str, offset: int = 0, content: bytes = b"", size: int | None = None) -> BackupPart:
    whole = len(content) if size is None else size
    return BackupPart(path=path, offset=offset, content=content, size=whole)


@pytest.mark.parametrize("size", [0, 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES])
def test_slices_are_a_file_in_order(size: int) -> None:
    found = list(slices(size))

    assert sum(length for _, length in found) == size
    assert [offset for offset, _ in found] == [n * PART_BYTES for n in range(len(found))]
    assert len(found) == max(1, -(-size // PART_BYTES))


def test_a_directory_holds_what_came(tmp_path: Path) -> None:
    target = BackupTarget(tmp_path / "b")
    for each in [
        part("kv-0/1.sst", 0, b"12", 3),
        part("kv-0/1.sst", 2, b"3", 3),
        part("kv-0/empty"),
        part("metadata-0/1.sst", 0, b"m"),
    ]:
        target.take(each)
    target.take(part(MANIFEST, 0, b"{", 2))
    assert not (tmp_path / "b" / MANIFEST).exists()
    target.take(part(MANIFEST, 1, b"}", 2))

    assert target.finished
    files = {
        str(path.relative_to(tmp_path / "b")): path.read_bytes()
        for path in (tmp_path / "b").rglob("*")
        if path.is_file()
    }
    assert files == {
        "kv-0/1.sst": b"123",
        "kv-0/empty": b"",
        "metadata-0/1.sst": b"m",
        MANIFEST: b"{}",
    }


def test_the_manifest_comes_after_all_names_are_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    before: list[Path] = []
    sync, replace = durably.sync_directory, durably.replace

    def syncing(path: Path) -> None:
        synced.append(path)
        sync(path)

    def replaced(path: Path, content: bytes) -> None:
        before.extend(synced)
        replace(path, content)

    monkeypatch.setattr(durably, "sync_directory", syncing)
    monkeypatch.setattr(durably, "replace", replaced)
    target = BackupTarget(tmp_path / "b")
    target.take(part("kv-0/1.sst", 0, b"1"))
    target.take(part("metadata-0/1.sst", 0, b"m"))
    synced.clear()
    target.take(part(MANIFEST, 0, b"{}"))

    directory = tmp_path / "b"
    assert {*before} == {directory, directory / "kv-0", directory / "metadata-0"}


@pytest.mark.parametrize(
    "wrong",
    [
        part("kv-0/1.sst", 3, b"4", 5),
        part("kv-0/1.sst", 0, b"1", 5),
        part("kv-0/2.sst", 0, b"1"),
        part("kv-0/1.sst", 2, b"345", 3),
    ],
    ids=["a gap", "again", "another file", "too long"],
)
def test_a_part_that_does_not_follow_is_refused(tmp_path: Path, wrong: BackupPart) -> None:
    target = BackupTarget(tmp_path)
    target.take(part("kv-0/1.sst", 0, b"12", 5))

    with pytest.raises(BackupError, match="came after byte"):
        target.take(wrong)
    target.close()


@pytest.mark.parametrize(
    "path", ["", "/etc/x", "../x", "kv-0/../../x", "a/b/c", "kv-0/", "kv-0/..", "other.json"]
)
def test_nothing_is_written_elsewhere(tmp_path: Path, path: str) -> None:
    target = BackupTarget(tmp_path / "b")

    with pytest.raises(BackupError, match="came after byte"):
        target.take(part(path, 0, b"x"))
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def test_nothing_follows_the_manifest(tmp_path: Path) -> None:
    target = BackupTarget(tmp_path)
    target.take(part(MANIFEST, 0, b"{}"))

    with pytest.raises(BackupError, match="came after byte"):
        target.take(part("kv-0/1.sst", 0, b"12"))

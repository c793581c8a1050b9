from __future__ import annotations

from pathlib import Path

import pytest
from quorate.consensus.messages import Entry, EntryKind
from quorate.storage.archive import Archive, ArchiveError

CLUSTER = b"\x01" * 32


def entries(first: int, last: int) -> list[Entry]:
    return [Entry(index, 3, EntryKind.COMMAND, bytes([index])) for index in range(first, last + 1)]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def archive(directory: Path) -> Archive:
    return Archive.begin(directory, CLUSTER)


def test_what_was_appended_is_read_from_any_index(archive: Archive) -> None:
    archive.append("metadata-0", entries(5, 9))
    archive.append("metadata-0", entries(10, 10))
    archive.append("metadata-1", entries(1, 2))

    assert list(archive.entries("metadata-0", 6)) == entries(7, 10)
    assert archive.reached("metadata-0", 4) == 10
    assert archive.reached("metadata-0", 10) == 10
    assert list(archive.entries("metadata-0", 10)) == []


def test_files_that_overlap_are_read_once_and_gaps_end_it(archive: Archive) -> None:
    archive.append("s", entries(1, 4))
    archive.append("s", entries(3, 6))
    archive.append("s", entries(8, 9))

    assert list(archive.entries("s", 0)) == entries(1, 6)
    assert archive.reached("s", 0) == 6
    assert list(archive.entries("s", 7)) == entries(8, 9)


def test_older_files_are_forgotten(archive: Archive) -> None:
    archive.append("s", entries(1, 4))
    archive.append("s", entries(5, 6))
    archive.forget("s", 5)

    assert list(archive.entries("s", 0)) == []
    assert list(archive.entries("s", 4)) == entries(5, 6)


def test_how_far_it_is_complete(archive: Archive, directory: Path) -> None:
    assert archive.complete("s").until_ms == 0
    archive.set_complete("s", 7, 3)
    archive.set_complete("s", 9, 4)

    assert archive.complete("s") == (9, 4)
    # One that was written before the index was added.
    (archive_file := directory / "until" / "s").write_text("11")
    assert archive.complete("s") == (11, 0)
    archive_file.write_text("when?")
    with pytest.raises(ArchiveError, match="is damaged: remove it"):
        archive.complete("s")


@pytest.mark.parametrize("at", [0, 5, -1])
def test_damage_is_found(archive: Archive, directory: Path, at: int) -> None:
    archive.append("s", entries(1, 4))
    [file] = (directory / "entries" / "s").iterdir()
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(bytes(content))

    with pytest.raises(ArchiveError, match="is damaged: restore to a moment before it"):
        list(archive.entries("s", 0))


def test_only_finished_backups_count(archive: Archive, directory: Path) -> None:
    for name, finished in (("20261122T000000Z", True), ("20261121T000000Z", True), ("x", False)):
        folder = directory / "backups" / name
        folder.mkdir(parents=True)
        if finished:
            (folder / "backup.json").write_text("{}")

    assert [each.name for each in archive.backups()] == ["20261121T000000Z", "20261122T000000Z"]


def test_a_new_backup_has_a_folder_of_its_own(archive: Archive, directory: Path) -> None:
    first = directory / "backups" / archive.new_backup().name
    first.mkdir()
    (first / "torn.sst").touch()
    assert archive.new_backup() == first.parent / archive.new_backup().name
    assert not first.exists()
    for _ in range(3):
        path = first.parent / archive.new_backup().name
        path.mkdir()
        (path / "backup.json").write_text("{}")

    assert len(archive.backups()) == 3


def test_it_goes_on_as_the_archive_of_its_cluster_alone(
    archive: Archive, directory: Path, tmp_path: Path
) -> None:
    assert Archive.begin(archive.directory, CLUSTER).cluster == CLUSTER
    with pytest.raises(ArchiveError, match="of another cluster"):
        Archive.begin(archive.directory, b"\x02")
    with pytest.raises(ArchiveError, match="is no archive"):
        Archive(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ArchiveError, match="is not empty"):
        Archive.begin(tmp_path / "other", CLUSTER)
    (directory / "archive.json").write_text('{"format": 2, "cluster": ""}')
    with pytest.raises(ArchiveError, match="newer version"):
        Archive(archive.directory)

"""Directories and object stores keep backups alike; a server of S3 is used where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from quorate.consensus.messages import Entry, EntryKind
from quorate.storage import backup_stores
from quorate.storage.archive import Archive, ArchiveError
from quorate.storage.backup_stores import ObjectFolder, Place, PlaceError, place_of

from tests.support import object_store


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of a bucket of a server on this machine."""
    with object_store.bucket("kept") as url:
        yield url


@pytest.fixture(params=["directory", "file", "memory", pytest.param("s3", marks=pytest.mark.ci)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    kind, name = request.param, uuid4().hex
    if kind == "directory":
        return place_of(str(tmp_path / name))
    if kind == "file":
        return place_of(f"file://{tmp_path / name}")
    if kind == "memory":
        pytest.importorskip("fsspec")
        return place_of(f"memory://kept/{name}")
    return place_of(f"{request.getfixturevalue('bucket')}/{name}/")


def test_what_was_written_is_read(place: Place) -> None:
    assert backup_stores.names(place) == []
    backup_stores.make(place)
    backup_stores.write(place / "whole", b"abc")
    backup_stores.write(place / "whole", b"abcdef")
    with backup_stores.writing(place / "folder/parts") as write:
        for part in (b"one", b"two"):
            write(part)
    with backup_stores.writing(place / "folder/empty"):
        pass

    assert backup_stores.names(place) == ["folder", "whole"]
    assert backup_stores.names(place / "folder") == ["empty", "parts"]
    assert (place / "whole").read_bytes() == b"abcdef"
    assert (place / "folder" / "empty").read_bytes() == b""
    assert backup_stores.read_part(place / "folder/parts", 2, 3) == b"etw"
    assert backup_stores.read_part(place / "folder/empty", 0, 0) == b""
    assert (place / "whole").exists()
    assert not (place / "other").exists()
    assert (place / "whole").name == "whole"
    (place / "whole").unlink()
    assert not (place / "whole").exists()
    with pytest.raises(FileNotFoundError):
        (place / "whole").read_bytes()
    backup_stores.remove_all(place / "folder")
    assert backup_stores.names(place) == []


@pytest.mark.ci
def test_a_file_of_an_object_store_is_there_when_it_is_whole(bucket: str) -> None:
    place = place_of(f"{bucket}/{uuid4().hex}")

    def interrupted() -> None:
        with backup_stores.writing(place / "file") as write:
            for _ in range(3):
                write(bytes(6 << 20))
                assert not (place / "file").exists()
            raise InterruptedError

    with pytest.raises(InterruptedError):
        interrupted()
    assert not (place / "file").exists()


@pytest.mark.ci
def test_what_a_store_refuses_is_an_error_of_its_url(bucket: str) -> None:
    nowhere = place_of("s3://not-there/prefix")
    with pytest.raises(OSError, match="bucket") as refused:
        backup_stores.write(nowhere / "file", b"")
    assert refused.value.filename == "s3://not-there/prefix/file"
    assert bucket not in str(refused.value)


def test_an_archive_is_kept_anywhere(place: Place) -> None:
    archive = Archive.begin(place, b"c")
    entries = [Entry(index, 3, EntryKind.COMMAND, bytes([index])) for index in range(1, 9)]
    archive.append("kv/0", entries[:5])
    archive.append("kv/0", entries[5:])
    archive.set_complete("kv/0", 7, 8)
    unfinished = archive.new_backup()
    with backup_stores.writing(unfinished / "kv-0/torn.sst") as write:
        write(b"torn")
    assert archive.backups() == []
    finished = archive.new_backup()
    assert not (unfinished / "kv-0/torn.sst").exists()
    backup_stores.make(finished)
    backup_stores.write(finished / "backup.json", b"{}")

    again = Archive.begin(place, b"c")
    assert list(again.entries("kv/0", 3)) == entries[3:]
    assert again.complete("kv/0")[0] == 7
    assert [each.name for each in again.backups()] == [finished.name]
    assert again.begun_at_s() > 1_700_000_000
    again.forget("kv/0", 5)
    assert again.reached("kv/0", 5) == 8
    assert list(again.entries("kv/0", 0)) == []
    with pytest.raises(ArchiveError, match="of another cluster"):
        Archive.begin(place, b"d")


def test_what_is_missing_for_a_url_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(PlaceError, match=r"s3://b needs fsspec.core: pip install 'quorate\[s3\]'"):
        place_of("s3://b")


def test_a_scheme_that_nobody_knows_is_refused() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(PlaceError, match="nowhere://x cannot be used"):
        place_of("nowhere://x")
    assert not isinstance(place_of("here"), ObjectFolder)


def test_a_folder_is_made_by_several_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tmp_path / "entries" / "metadata-0"
    make = Path.mkdir

    def made_meanwhile(path: Path, **options: bool) -> None:
        make(path)
        make(path, **options)

    monkeypatch.setattr(Path, "mkdir", made_meanwhile)
    backup_stores.make(wanted)

    assert wanted.is_dir()

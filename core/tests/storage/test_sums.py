"""Sums of files find what changed on the disk since they were read."""

from pathlib import Path

import pytest
from quorate.storage.engine.port import DamagedError
from quorate.storage.sums import FileSums


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "CURRENT").write_bytes(b"MANIFEST-000001\n")
    (tmp_path / "MANIFEST-000001").write_bytes(b"first")
    (tmp_path / "000002.sst").write_bytes(bytes(3_000_000))
    (tmp_path / "000003.log").write_bytes(b"one")
    (tmp_path / "000004.blob").write_bytes(b"large")
    list(FileSums(tmp_path).read())
    return tmp_path


def test_what_grows_and_what_goes_is_no_damage(database: Path) -> None:
    sums = FileSums(database)
    assert sum(sums.read()) == 3_000_013
    (database / "MANIFEST-000001").write_bytes(b"first and more")
    (database / "000003.log").unlink()
    (database / "000005.sst").write_bytes(b"new")
    assert sum(sums.read()) == 3_000_022
    assert sum(sums.read()) == 3_000_022


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("MANIFEST-000001", b"fixst"),
        ("MANIFEST-000001", b"fir"),
        ("000002.sst", bytes(2_000_000) + b"\1" + bytes(999_999)),
        ("000002.sst", b""),
        ("000003.log", b"two"),
        ("000004.blob", b"lorge"),
        ("CURRENT", b"MANIFEST-000001"),
        ("CURRENT", b"MANIFEST-000009\n"),
        ("CURRENT", b"\xff\n"),
    ],
)
def test_other_bytes_are_damage(database: Path, name: str, content: bytes) -> None:
    sums = FileSums(database)
    list(sums.read())
    (database / name).write_bytes(content)
    with pytest.raises(DamagedError, match=name):
        list(sums.read())


def test_sums_of_tables_outlast_a_restart(database: Path) -> None:
    for name, content in ("000002.sst", bytes(2_999_999) + b"\1"), ("000004.blob", b"lorge"):
        before = (database / name).read_bytes()
        (database / name).write_bytes(content)
        with pytest.raises(DamagedError, match=name):
            list(FileSums(database).read())
        (database / name).write_bytes(before)


def test_sums_that_cannot_be_read_are_passed_over(database: Path) -> None:
    (database / "tables.sums").write_bytes(b"[torn")
    assert sum(FileSums(database).read()) == 3_000_013

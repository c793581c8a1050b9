"""`quorate spark load check`: what it tells of files, without a cluster and without Java."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quorate.cli.main import main

pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')

Check = Callable[..., Any]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Check:
    """Check a file; return the exit code with what is told of it, or what it fails with."""
    monkeypatch.setenv("QUORATE_ENDPOINTS", "127.0.0.1:1")

    def checked(path: Path, *options: str, table: str = "kv.pairs") -> tuple[int, Any]:
        given = ["--table", table, "--path", str(path), *options, "--output", "json"]
        capfd.readouterr()
        code = main(["spark", "load", "check", *given])
        said = capfd.readouterr()
        return code, json.loads(said.out)[0] if said.out else said.err

    return checked


def parquet(path: Path, columns: dict[str, list[Any]]) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path)
    return path


def test_rows_that_can_be_loaded(check: Check, tmp_path: Path) -> None:
    keys = [f"k{number}".encode() for number in range(1_000)]
    for name in ("1.parquet", "2.parquet"):
        parquet(tmp_path / name, {"key": keys, "value": [b"v" * 100] * 1_000})
    (tmp_path / "_SUCCESS").touch()

    code, told = check(tmp_path, "--rate", "1000")

    assert code == 0
    assert (told["rows"], told["bad_rows"], told["seconds"], told["first_bad"]) == (2_000, 0, 2, "")
    # The second file has the keys of the first one.
    assert told["repeated_keys"] == 1_000
    assert 2_000 * 104 < told["bytes"] < 2_000 * 150


def test_the_first_bad_rows_are_told_with_their_reasons(check: Check, tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "key": [b"a", b"", b"b", b"k" * 9_000],
        "value": [b"1", b"1", None, b"1"],
    }

    code, told = check(parquet(tmp_path / "rows.parquet", columns))

    assert (code, told["rows"], told["bad_rows"], told["repeated_keys"]) == (1, 4, 3, 0)
    first, second, third = told["first_bad"].split("; ")
    assert first.startswith("row 2, column key: ")
    assert second == "row 3, column value: is null"
    assert third.startswith("row 4, column key: ")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_text_that_is_no_value_of_its_column(check: Check, tmp_path: Path, form: str) -> None:
    file = tmp_path / f"rows.{form}"
    rows = [("t", "a", "60"), ("t", "b", "an hour"), ("t", "c", "60")]
    names = ("tenant", "client_id", "expiry_interval_s")
    if form == "csv":
        file.write_text("\n".join(",".join(row) for row in (names, *rows)))
    else:
        file.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows))

    code, told = check(file, table="mqtt.sessions")

    assert (code, told["rows"], told["bad_rows"]) == (1, 3, 1)
    assert told["first_bad"] == "row 2, column expiry_interval_s: 'an hour' is no long"


def test_columns_that_do_not_fit(check: Check, tmp_path: Path) -> None:
    code, told = check(parquet(tmp_path / "a.parquet", {"key": [1], "val": [b"1"]}))
    assert code != 0
    for problem in ("key is bigint and must be binary", "value is missing", "val is no column"):
        assert problem in told

    file = tmp_path / "rows.csv"
    file.write_text("key,val\na,b")
    code, told = check(file)
    assert code != 0
    assert "value is missing; val is no column of it" in told


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.csv", None, "there is no file or directory"),
        ("rows.txt", b"", "cannot be inferred"),
        ("rows.parquet", b"no parquet", "cannot be read as parquet"),
    ],
)
def test_files_that_cannot_be_read(
    check: Check, tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)

    code, told = check(tmp_path / name)

    assert code != 0
    assert says in told

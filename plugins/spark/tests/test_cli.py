"""`quorate spark load run`, `export` and `loads`, on a real cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from quorate.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from quorate.client import Client
    from quorate.testing.cluster import Cluster

Run = Callable[..., Any]


@pytest.fixture
def run(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Run a command; return what it prints, or with `fails` what it tells as its failure."""
    monkeypatch.setenv("QUORATE_ENDPOINTS", cluster.endpoints)

    def ran(*args: str, fails: bool = False) -> Any:
        capfd.readouterr()
        code = main([*args, "--output", "json"])
        said = capfd.readouterr()
        assert bool(code) == fails, said.err
        return said.err if fails else json.loads(said.out)

    return ran


@pytest.mark.ci
def test_files_are_loaded_and_exported_again(
    spark: SparkSession, run: Run, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "rows.csv"
    lines = [f"cli/{number},v{number},3600000" for number in range(50)]
    file.write_text("\n".join(["key,value,ttl_ms", *lines, ",nothing,"]))
    letters = tmp_path / "letters"
    [told] = run(
        *("spark", "load", "run"),
        str(file),
        "--table",
        "kv.pairs",
        "--load-id",
        "cli",
        "--dead-letters",
        str(letters),
    )

    assert (told["rows"], told["bad_rows"], told["state"]) == (50, 1, "finished")
    pair = client.kv.get("cli/7")
    assert pair is not None
    assert (pair.value, pair.ttl_ms) == (b"v7", 3_600_000)
    assert len(list(letters.rglob("*.jsonl"))) == 1
    out = tmp_path / "out"
    condition = "key >= cast('cli/1' as binary) and key < cast('cli/2' as binary)"
    [told] = run(
        *("spark", "export"),
        str(out),
        "--table",
        "kv.pairs",
        "--format",
        "json",
        "--where",
        condition,
    )
    lines = [line for part in out.glob("*.json") for line in part.read_text().splitlines()]
    rows = [json.loads(line) for line in lines]
    assert told["rows"] == len(rows) == 11
    assert {"key": "cli/12", "value": "v12", "ttl_ms": 3_600_000} in rows
    # What was exported is loaded again.
    columns = tmp_path / "columns"
    export = ("spark", "export", str(columns), "--table", "kv.pairs", "--format", "parquet")
    [told] = run(*export, "--where", condition)
    assert told["rows"] == 11
    for exported in (out, columns):
        load = (
            "spark",
            "load",
            "run",
            str(exported),
            "--table",
            "kv.pairs",
            "--load-id",
            exported.name,
        )
        [told] = run(*load)
        assert told["rows"] == 11
    assert "exists already" in run("spark", "export", str(out), "--table", "kv.pairs", fails=True)


@pytest.mark.ci
def test_loads_are_listed_taken_back_and_forgotten(
    spark: SparkSession, run: Run, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "rows.json"
    file.write_text("\n".join(json.dumps({"key": f"taken/{n}", "value": "v"}) for n in range(20)))
    load = ("spark", "load", "run", str(file), "--table", "kv.pairs", "--load-id", "taken")
    run(*load, "--conflict", "insert_only")

    [listed] = [each for each in run("spark", "load", "list") if each["load_id"] == "taken"]
    assert (listed["rows"], listed["state"], listed["partitions"]) == (20, "finished", "1/1")
    assert [each["rows"] for each in run("spark", "load", "get", "taken", "--follow")] == [20]
    assert "confirm with --yes" in run("spark", "load", "abort", "taken", fails=True)
    assert [each["rows"] for each in run("spark", "load", "abort", "taken", "--dry-run")] == [20]
    [aborted] = run("spark", "load", "abort", "taken", "--yes")
    assert aborted["removed"] == 20
    assert client.kv.get("taken/3") is None
    assert "was aborted" in run(*load, "--conflict", "insert_only", fails=True)
    run("spark", "load", "forget", "taken")
    assert "there is no load taken" in run("spark", "load", "get", "taken", fails=True)
    assert "there is no load taken" in run("spark", "load", "abort", "taken", fails=True)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "content", "table", "told"),
    [
        ("rows.txt", "", "kv.pairs", "cannot be inferred from its name"),
        ("rows.csv", "key,value\na,b", "kv.none", "there is no table 'kv.none'"),
        ("rows.csv", "key,val\na,b", "kv.pairs", "value is missing; val is no column of it"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_a_sentence(
    spark: SparkSession, run: Run, tmp_path: Path, name: str, content: str, table: str, told: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    said = run("spark", "load", "run", str(file), "--table", table, fails=True)

    assert told in said
    assert "Traceback" not in said

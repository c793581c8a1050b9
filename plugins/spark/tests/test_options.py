from collections.abc import Callable
from pathlib import Path

import pytest
from quorate.client import Tls
from quorate_spark.source.errors import SourceError, sentence_of
from quorate_spark.source.java import missing_java
from quorate_spark.source.options import feed_options, read_options, sink_options, write_options
from quorate_spark.source.reading import schema_of


def test_what_nobody_says_has_a_default() -> None:
    options = write_options({"table": "kv.pairs"})

    assert (options.conflict, options.bad_rows, options.load_id) == ("upsert", "fail", "")
    assert (options.batch_rows, options.max_in_flight, options.endpoints) == (1_000, 4, None)
    assert read_options({"Table": "kv.pairs"}).view_ttl_s == 600.0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "the option table is not set"),
        ({"table": " "}, "the option table is not set"),
        ({"table": "t", "path": "/x"}, "takes no path ('/x')"),
        ({"table": "t", "tables": "x"}, "no option tables here; there are bad.rows, bad_rows"),
        ({"table": "t", "conflict": "merge"}, "conflict is 'merge', and must be upsert or insert"),
        ({"table": "t", "batch_rows": "0"}, "batch_rows is 0, and must be 1 to 10000"),
        ({"table": "t", "batch_rows": "1.5"}, "batch_rows is '1.5', and must be 1 to 10000"),
        ({"table": "t", "timeout_s": "nan"}, "timeout_s is nan, and must be 1.0 or more"),
        ({"table": "t", "max_bad_rows": "-1"}, "max_bad_rows is -1, and must be 0 or more"),
        ({"table": "t", "bad_rows": "dead_letter"}, "dead_letter_path is not set"),
        ({"table": "t", "tls_cert": "c", "tls_key": "k"}, "tls_cert and tls_key need the option"),
        ({"table": "t", "tls_ca": "ca", "tls_key": "k"}, "cert and key go together"),
    ],
)
def test_what_cannot_be_is_told(given: dict[str, str], told: str) -> None:
    with pytest.raises(SourceError) as refused:
        write_options(given)

    assert told in str(refused.value)


def test_the_files_of_tls_are_those_of_a_client() -> None:
    given = {"table": "t", "tls_ca": "/ca.pem", "tls_cert": "/c.pem", "tls_key": "/k.pem"}
    for read in (write_options, read_options):
        assert read(given).tls == Tls(ca="/ca.pem", cert="/c.pem", key="/k.pem")
        assert read({"table": "t"}).tls is None


def test_what_is_for_writes_is_refused_of_reads() -> None:
    with pytest.raises(SourceError, match="no option load_id here"):
        read_options({"table": "t", "load_id": "x"})


@pytest.mark.parametrize(
    ("read", "given", "told"),
    [
        (write_options, {"tables": "kv.pairs"}, "Did you mean 'table'?"),
        (write_options, {"table": "t", "batchRows": "9"}, "Did you mean 'batch_rows'?"),
        (write_options, {"table": "t", "conflict": "upserts"}, "Did you mean 'upsert'?"),
        (write_options, {"table": "t", "columns": "key"}, "'columns' is one of reads."),
        (read_options, {"table": "t", "endpoint": "h:1"}, "Did you mean 'endpoints'?"),
        (read_options, {"table": "t", "load_id": "x"}, "'load_id' is one of writes."),
        (read_options, {"table": "t", "starting": "now"}, "'starting' is one of streams of"),
        (feed_options, {"changes": "t", "lost.history": "x"}, "Did you mean 'lost_history'?"),
    ],
)
def test_a_wrong_option_is_refused_with_what_was_meant(
    read: Callable[[dict[str, str]], object], given: dict[str, str], told: str
) -> None:
    with pytest.raises(SourceError) as refused:
        read(given)

    assert told in str(refused.value)


def test_a_wrong_table_or_column_is_refused_with_what_was_meant() -> None:
    for given, told in (
        ({"table": "kv.pair"}, "Did you mean 'kv.pairs'?"),
        ({"table": "kv.pairs", "columns": "keys"}, "Did you mean 'key'?"),
    ):
        with pytest.raises(SourceError) as refused:
            schema_of(read_options(given))
        assert told in str(refused.value)


def test_what_resembles_nothing_is_told_with_all_there_are() -> None:
    with pytest.raises(SourceError) as refused:
        read_options({"table": "t", "zzzz": "1"})

    assert "there are columns, endpoints" in str(refused.value)
    assert "mean" not in str(refused.value)


def test_the_sentence_is_found_in_what_spark_makes_of_it() -> None:
    error = RuntimeError(
        "[PYTHON_DATA_SOURCE_ERROR] Failed: Traceback (most recent call last):\n"
        '  File "writing.py", line 78, in begun\n'
        "quorate_spark.source.errors.SourceError: there is no table 'x'\n SQLSTATE: 38000"
    )

    assert sentence_of(error) == "there is no table 'x'"
    assert sentence_of(RuntimeError("another")) is None


def _java(directory: Path, says: str) -> dict[str, str]:
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{says}\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(directory)}


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("echo 'openjdk version \"17.0.1\" 2021' >&2", ""),
        ("echo 'openjdk version \"25\" 2025' >&2", ""),
        ("echo 'java version \"1.8.0_1\"' >&2", "needs Java 17 or later, and"),
        ("echo hello >&2", "needs Java 17 or later, and"),
        ("exit 3", "does not run"),
    ],
)
def test_java_is_looked_at_before_spark_starts(tmp_path: Path, says: str, told: str) -> None:
    why = missing_java(_java(tmp_path, says))

    assert told in why
    assert bool(why) == bool(told)


def test_without_java_it_is_said_what_to_install(tmp_path: Path) -> None:
    why = missing_java({"JAVA_HOME": str(tmp_path)})

    assert "openjdk-17-jre-headless" in why


def test_the_side_table_of_bad_rows() -> None:
    written = write_options({"table": "t", "Bad.Rows": "/bad"})

    assert (written.bad_rows, written.dead_letter_path) == ("dead_letter", "/bad")
    with pytest.raises(SourceError, match=r"no option bad\.rows"):
        read_options({"table": "t", "bad.rows": "/bad"})


def test_a_feed_takes_no_table_and_a_sink_no_load() -> None:
    feed = feed_options({"changes": "kv.pairs"})

    assert (feed.starting, feed.lost_history, feed.max_rows_per_trigger) == ("snapshot", "fail", 0)
    with pytest.raises(SourceError, match="no option table"):
        feed_options({"changes": "kv.pairs", "table": "kv.pairs"})
    with pytest.raises(SourceError, match="starting is 'then', and must be snapshot or now"):
        feed_options({"changes": "kv.pairs", "starting": "then"})
    with pytest.raises(SourceError, match="no option conflict"):
        sink_options({"table": "t", "conflict": "upsert"})
    assert sink_options({"table": "t", "queryName": "q"}).operation == ""


def test_columns_are_names_between_commas() -> None:
    assert read_options({"table": "t", "columns": " a, b,"}).columns == ("a", "b")

"""Tables, names, times and charts of the console, in process."""

from __future__ import annotations

import csv
from collections.abc import Mapping

import pytest
from quorate.cli.console.charts import Chart, chart
from quorate.cli.console.html import Bad, Link, Page, Share, moment
from quorate.cli.console.layout import Frame, document
from quorate.cli.console.tables import arranged, csv_of, shown
from quorate.cli.console.words import ago, size_text, titled

ROWS: list[Mapping[str, object]] = [
    {"name": "b", "bytes": 2, "state": Bad("failed"), "gone": ""},
    {"name": "a", "bytes": 10, "state": "ready", "gone": None},
    {"name": Link("c", "rows/c"), "bytes": 1, "state": "ready", "gone": ""},
]


def names(query: Mapping[str, str]) -> list[object]:
    [(_, rows)] = arranged([("", ROWS)], query)
    return [getattr(row["name"], "text", row["name"]) for row in rows]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "bac"),
        ({"sort": "name"}, "abc"),
        ({"sort": "-name"}, "cba"),
        ({"sort": "bytes"}, "cba"),
        ({"sort": "none"}, "bac"),
        ({"find": "FAILED"}, "b"),
        ({"find": "nowhere"}, ""),
    ],
)
def test_rows_are_found_and_sorted(query: Mapping[str, str], expected: str) -> None:
    assert names(query) == list(expected)


def test_empty_columns_are_not_shown_and_sums_are() -> None:
    rows = [*ROWS, *ROWS]
    text = shown([("", rows)], {}, "rows")

    assert "Gone" not in text
    assert ">Total</th><td class=number>26</td>" in text
    assert 'href="/console/rows?sort=name"' in text


def test_a_table_is_taken_away_as_csv_and_no_cell_is_a_formula() -> None:
    rows = [*ROWS, {"name": "=cmd()", "bytes": -1, "state": Share(1, 2)}]
    [head, *lines] = csv.reader(csv_of([("", rows)]).decode().splitlines())

    assert head == ["name", "bytes", "state"]
    assert lines[0] == ["b", "2", "failed"]
    assert lines[-1] == ["'=cmd()", "-1", "1"]


def test_a_million_rows_are_no_page() -> None:
    text = shown([("", [{"name": str(number)} for number in range(2_000)])], {}, "")

    assert text.count("<tr>") == 251
    assert "1,750 more rows" in text


def test_whatever_a_name_is_it_is_text() -> None:
    bad = '"><script>alert(1)</script>'
    frame = Frame(bad, {"q": bad, "find": bad, "sort": bad}, bad, bad, [])
    page = Page(title=bad, tables=[(bad, [{bad: bad, "link": Link(bad, bad, {bad: bad})}] * 9)])

    assert "<script>alert" not in document(page, frame)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("acl_rules", "ACL rules"),
        ("client_id", "Client ID"),
        ("created_at_ms", "Created"),
        ("p99_ms", "p99 (ms)"),
        ("", ""),
    ],
)
def test_titles_are_as_people_write_them(name: str, title: str) -> None:
    assert titled(name) == title


def test_times_are_told_from_now() -> None:
    assert [ago(0, each) for each in (500, 1_000, 180_000, 7_200_000, -60_000)] == [
        *("now", "1 second ago", "3 minutes ago", "2 hours ago", "in 1 minute")
    ]
    assert 'datetime="1970-01-01T00:00:01.000+00:00"' in moment(1_000)
    assert size_text(198e9) == "198 GB"


def test_a_chart_says_in_words_what_it_shows() -> None:
    drawn = chart(Chart("Reads <b>", "15m ago", [None, 1.0, 3.0, None, 2.0], str))

    assert 'aria-label="Reads &lt;b&gt;: now 2.0, at most 3.0, since 15m ago"' in drawn
    assert drawn.count("<polyline") == 2
    assert "No samples yet" in chart(Chart("Reads", "15m ago", [None], str))

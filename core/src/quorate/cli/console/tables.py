"""Tables of pages: found, sorted, totalled, and as CSV; all by the address, without scripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from quorate.cli.console.html import (
    Bad,
    Link,
    Links,
    Moment,
    Share,
    Strong,
    Trend,
    anchor,
    cell,
    text_of,
)
from quorate.cli.console.words import titled

Row = Mapping[str, object]
Tables = Sequence[tuple[str, Sequence[Row]]]

#: The fields of a query that say how tables are shown.
SORT: Final = "sort"
FIND: Final = "find"
CSV: Final = "csv"
#: A table of fewer rows is seen at a glance.
_FEW: Final = 5
#: Maximum number of rows that are shown of a table; people find and sort more than they read.
_MOST: Final = 250
#: The ends of columns whose sum says something.
_SUMMED: Final = ("_per_s", "bytes", "queued", "rows", "hosts", "leads", "replicas", "open")
#: The head of a column without a name, for readers of screens.
_LINKS: Final = '<span class="hidden">Links</span>'
#: Programs that open CSV compute what begins so.
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


def arranged(tables: Tables, query: Mapping[str, str]) -> Tables:
    """Return the rows that a query finds, in the order that it asks for."""
    find, sort = query.get(FIND, "").lower(), query.get(SORT, "")
    name, backwards = sort.removeprefix("-"), sort.startswith("-")
    found = []
    for title, rows in tables:
        kept = [row for row in rows if not find or find in _text_of(row)]
        if sort and any(name in row for row in kept):
            kept.sort(key=lambda row: _order(row.get(name)), reverse=backwards)
        found.append((title, kept))
    return found


def csv_of(tables: Tables) -> bytes:
    """Return the rows of tables, each below its names of columns."""
    out = io.StringIO()
    writer = csv.writer(out)
    for title, rows in tables:
        if not rows:
            continue
        columns = _columns(rows)
        writer.writerow([title, *columns] if title else columns)
        for row in rows:
            cells = [_safe(plain(row.get(each))) for each in columns]
            writer.writerow(["", *cells] if title else cells)
    return out.getvalue().encode()


def shown(tables: Tables, query: Mapping[str, str], path: str) -> str:
    """Return the tables of a page, and above them how to find rows."""
    drawn = "".join(_table(title, rows, query, path) for title, rows in tables if rows)
    total = sum(len(rows) for _, rows in tables)
    find = query.get(FIND, "")
    if total < _FEW and not find:
        return drawn
    kept = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in query.items()
        if name not in (FIND, CSV)
    )
    as_csv = anchor(Link("CSV", path, {**query, CSV: "1"}))
    return (
        f'<form class="find" method="get">{kept}<label>Only rows with '
        f'<input type="search" name="{FIND}" value="{escape(find)}"></label> '
        f"<button>Find</button> <span>{total:,} rows</span> {as_csv}</form>{drawn}"
        + ("" if total else f"<p>No row here has “{escape(find)}”.</p>")
    )


def plain(value: object) -> str:
    """Return a cell as text."""
    match value:
        case Bad(inner) | Strong(inner):
            return plain(inner)
        case Link():
            return value.text
        case Links():
            return ""
        case Moment(ms):
            return f"{ms:.0f}"
        case Share(used, _):
            return f"{used:.10g}"
        case Trend(values):
            return f"{values[-1]:.10g}" if values else ""
        case bool():
            return text_of(value)
        case int() | float():
            return f"{value:.10g}" if isinstance(value, float) else str(value)
    return text_of(value)


def _table(title: str, rows: Sequence[Row], query: Mapping[str, str], path: str) -> str:
    columns = _columns(rows)
    head = "".join(_head(name, query, path, sorts=len(rows) > 1) for name in columns)
    body = "".join(
        f"<tr>{''.join(cell(name, row.get(name)) for name in columns)}</tr>" for row in rows[:_MOST]
    )
    caption = f"<caption>{escape(titled(title))}</caption>" if title else ""
    left = len(rows) - _MOST
    more = f"<p>{left:,} more rows are in the CSV, and found by what they have.</p>"
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title or "Rows")}">'
        f"<table>{caption}<thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody>{_totals(rows, columns)}</table></div>{more if left > 0 else ''}"
    )


def _columns(rows: Iterable[Row]) -> Sequence[str]:
    """Return the columns in which any row has something, and the first."""
    names = dict.fromkeys(name for row in rows for name in row)
    empty: tuple[object, ...] = (None, "", [], (), {})
    return [
        name
        for place, name in enumerate(names)
        if not place or any(row.get(name) not in empty for row in rows)
    ]


def _head(name: str, query: Mapping[str, str], path: str, *, sorts: bool) -> str:
    text = titled(name)
    if not text or not sorts:
        return f'<th scope="col">{escape(text) or _LINKS}</th>'
    sort = query.get(SORT, "")
    turned = f"-{name}" if sort == name else name
    order = {name: "ascending", f"-{name}": "descending"}.get(sort)
    sign = {"ascending": " ▲", "descending": " ▼", None: ""}[order]
    said = f' aria-sort="{order}"' if order else ""
    link = anchor(Link(text + sign, path, {**query, SORT: turned}))
    return f'<th scope="col"{said}>{link}</th>'


def _totals(rows: Sequence[Row], columns: Sequence[str]) -> str:
    summed: dict[str, float] = {}
    for name in columns:
        values: list[Any] = [_order(row.get(name))[1] for row in rows]
        if name.endswith(_SUMMED) and all(isinstance(each, (int, float)) for each in values):
            summed[name] = sum(values)
    if len(rows) < _FEW or not summed:
        return ""
    cells = "".join(cell(each, summed.get(each, "")) for each in columns[1:])
    return f'<tfoot><tr><th scope="row">Total</th>{cells}</tr></tfoot>'


def _order(value: object) -> tuple[int, Any]:
    """Return what a cell is sorted by: numbers before text, and nothing last."""
    match value:
        case Bad(inner) | Strong(inner):
            return _order(inner)
        case Moment(ms):
            return 0, ms
        case Share(used, _):
            return 0, used
        case Trend(values):
            return (0, values[-1]) if values else (2, "")
        case bool():
            return 1, text_of(value)
        case int() | float():
            return 0, value
    text = plain(value)
    return (1, text.lower()) if text else (2, "")


def _text_of(row: Row) -> str:
    return "\0".join(map(plain, row.values())).lower()


def _safe(text: str) -> str:
    number = text.replace(",", "").lstrip("-").replace(".", "", 1).isdecimal()
    return f"'{text}" if text.startswith(_FORMULAS) and not number else text

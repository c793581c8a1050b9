"""Rows for people: as tables on a terminal, as plain columns in a pipe, or as names alone."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from quorate.cli.encoding import plain, text_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

Row = Mapping[str, object]

#: How many columns stand beside the key where not all fit.
_BESIDE: Final = 4
#: How wide a pipe is: no line of it is broken.
_ENDLESS: Final = 100_000
#: What stands between two columns of a table, with its spaces.
_BETWEEN: Final = 3
_NOTHING: Final[tuple[object, ...]] = (None, "", [], {}, ())


class Keyed(list[Row]):
    """Rows of a resource: which columns are their key, and what they are called."""

    def __init__(self, rows: Iterable[Row], *, key: Sequence[str], noun: str) -> None:
        super().__init__(rows)
        self.key: Final = tuple(key)
        self.noun: Final = noun


def name_of(row: Row, key: Sequence[str]) -> str:
    """Return the key of a row as the arguments that name it; the first column of one without."""
    columns = [each for each in key if each in row] or list(row)[:1]
    return " ".join(_cell(row[each]) for each in columns)


def is_terminal() -> bool:
    """Return whether a person reads the output."""
    return sys.stdout.isatty()


def shown(rows: Sequence[Row], key: Sequence[str], width: int, *, wide: bool) -> Table:
    """Return the table of rows in the form that its reader wants.

    On a terminal columns without a value are left out, and those beyond the key and four if not
    all fit; `wide` shows all. In a pipe all columns stand, whatever they hold and however wide.
    """
    columns = _columns(rows)
    if wide or not is_terminal():
        return table_of(rows, columns, width=width if is_terminal() else None)
    filled = [each for each in columns if any(row.get(each) not in _NOTHING for row in rows)]
    if filled and _width(rows, filled) > width:
        named = [each for each in key if each in filled] or filled[:1]
        others = [each for each in filled if each not in named]
        filled = [*named, *others[:_BESIDE]]
    return table_of(rows, filled or columns, width=width)


def table_of(
    rows: Sequence[Row],
    columns: Sequence[str] = (),
    *,
    title: str | None = None,
    width: int | None = None,
) -> Table:
    """Return rows as a table; without `columns` they are the keys in order of their appearance.

    Where not even their names fit into `width`, each row is a block with a line for each key.
    """
    from rich.table import Table
    from rich.text import Text

    columns = columns or _columns(rows)
    table = Table(title=title, title_justify="left")
    between = "\n"
    if not is_terminal():
        table.box, table.pad_edge, table.padding = None, False, (0, 2, 0, 0)
        between = ","
    if width is not None and sum(len(each) + _BETWEEN for each in columns) >= width:
        table.show_header = False
        for row in rows:
            for column in columns:
                table.add_row(column, Text(_cell(row.get(column), between)))
            table.add_section()
        return table
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(column), between)) for column in columns))
    return table


def show(renderable: RenderableType) -> None:
    """Write a table as wide as the terminal; in a pipe no line is broken, nor ends in spaces."""
    from rich.console import Console

    if is_terminal():
        Console().print(renderable)
        return
    console = Console(width=_ENDLESS, no_color=True, highlight=False)
    with console.capture() as written:
        console.print(renderable)
    for line in written.get().splitlines():
        sys.stdout.write(f"{line.rstrip()}\n")


def width_of_terminal() -> int:
    """Return how many columns the terminal has."""
    from rich.console import Console

    return Console().width


def line_of(value: bytes) -> str:
    """Return bytes as one line for people: text, or base64 if they are not UTF-8."""
    text = text_of(value)
    return base64.b64encode(value).decode() if text is None else visible(text)


def visible(text: str) -> str:
    """Return a text as one line that is safe on a terminal: unprintable characters are escaped."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def _columns(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _width(rows: Sequence[Row], columns: Sequence[str]) -> int:
    """Return how wide a table is if no cell of it is broken."""
    return 1 + sum(
        _BETWEEN
        + max(
            len(column),
            *(len(line) for row in rows for line in _cell(row.get(column)).split("\n")),
        )
        for column in columns
    )


def _cell(value: object, between: str = "\n") -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return line_of(value)
    if isinstance(value, list | tuple):
        return between.join(_cell(item) for item in value)
    if isinstance(value, bool | Mapping):
        return json.dumps(plain(value), ensure_ascii=False)
    return visible(str(value))

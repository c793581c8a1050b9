"""Looks at files before they are loaded: whether their columns fit, and which rows are bad."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import csv, json as json_lines, parquet
from pyspark.sql.pandas.types import from_arrow_schema
from quorate.plugin import Invalid
from quorate.plugin.advanced import Column

from quorate_spark.source import columns
from quorate_spark.source.dead_letters import BadRow, values_of
from quorate_spark.source.errors import SourceError
from quorate_spark.source.files import Format, format_of
from quorate_spark.source.tables import FoundTable, find

#: Bytes of a row beside its key and its value: a revision, and the overhead of RocksDB.
_ROW_BYTES: Final = 24
#: Bad rows of which the reasons are kept.
MOST_KEPT: Final = 10


@dataclass(slots=True)
class Checked:
    """The result of a check of files."""

    rows: int = 0
    bad_rows: int = 0
    #: Estimated bytes of the rows on each node.
    size: int = 0
    first_bad: list[BadRow] = field(default_factory=list)
    #: Rows whose key an earlier row has.
    repeated: int = 0
    #: Of the rows that are not bad.
    keys: set[bytes] = field(default_factory=set)


def check(table: str, path: Path, form: Format | None = None) -> Checked:
    """Check every row of a file, or of all files of a directory; raises `SourceError`."""
    found = find(table)
    if not path.exists():
        raise SourceError(f"there is no file or directory {path}")
    chosen = form or format_of(path)
    files = [path] if path.is_file() else sorted(filter(_is_content, path.iterdir()))
    checked = Checked()
    for file in files:
        try:
            for batch in _batches(file, chosen, found):
                _check_rows(found, batch, checked)
        except pa.ArrowException as error:
            raise SourceError(f"{file} cannot be read as {chosen}: {error}") from error
    return checked


def _is_content(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(("_", "."))


def _batches(file: Path, form: Format, found: FoundTable) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file; text is still text where the table has other types."""
    if form == "parquet":
        opened = parquet.ParquetFile(file, coerce_int96_timestamp_unit="us")
        columns.check(found.name, found.table, from_arrow_schema(_schema_of(opened)))
        yield from opened.iter_batches()
        return
    if form == "csv":
        # As Spark writes and reads them.
        parse = csv.ParseOptions(escape_char="\\")
        names = csv.open_csv(file, parse_options=parse).schema.names
        as_text = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True
        )
        batches: Iterator[pa.RecordBatch] = iter(
            csv.open_csv(file, parse_options=parse, convert_options=as_text)
        )
    else:
        batches = iter(json_lines.read_json(file).to_batches())
    for batch in batches:
        missing = [
            each.name
            for each in found.table.columns
            if not each.nullable and each.name not in batch.schema.names
        ]
        known = {each.name for each in found.table.columns}
        unknown = [name for name in batch.schema.names if name not in known]
        if missing or unknown:
            problems = [f"{each} is missing" for each in missing]
            problems += [f"{each} is no column of it" for each in unknown]
            raise SourceError(f"{file} does not fit the table {found.name}: {'; '.join(problems)}")
        yield batch


def _schema_of(opened: parquet.ParquetFile) -> pa.Schema:
    """Return the columns of a file; INT96, which has no zone, is how Spark writes moments."""
    parts = [opened.schema.column(at) for at in range(len(opened.schema))]
    int96 = {each.path for each in parts if each.physical_type == "INT96"}
    return pa.schema(
        [
            each.with_type(columns.MOMENT) if each.name in int96 else each
            for each in opened.schema_arrow
        ]
    )


def _check_rows(found: FoundTable, batch: pa.RecordBatch, checked: Checked) -> None:
    table = found.table
    names = batch.schema.names
    values = [
        _values(each, batch.column(each.name)) if each.name in names else [None] * batch.num_rows
        for each in table.columns
    ]
    places = [[each.name for each in table.columns].index(name) for name in table.key]
    for at, row in enumerate(zip(*values, strict=True)):
        checked.rows += 1
        column, reason = "", ""
        try:
            for declared, value in zip(table.columns, row, strict=True):
                if isinstance(value, _Wrong):
                    raise Invalid(declared.name, f"{value.text!r} is no {columns.told(declared)}")
                if value is None and not declared.nullable:
                    raise Invalid(declared.name, "is null")
            item = table.to_item(*row)
            checked.size += item.ByteSize() + _ROW_BYTES
            key = table.to_key(*(row[place] for place in places))
            checked.repeated += key in checked.keys
            checked.keys.add(key)
            continue
        except Invalid as error:
            column, reason = error.field, error.reason
        except (ValueError, TypeError) as error:
            reason = str(error)
        checked.bad_rows += 1
        if len(checked.first_bad) < MOST_KEPT:
            values_there = values_of(batch, at)
            checked.first_bad.append(
                BadRow(row=checked.rows, column=column, reason=reason, values=values_there)
            )


@dataclass(frozen=True, slots=True)
class _Wrong:
    """Text that is no value of its column."""

    text: str


def _values(declared: Column, column: pa.Array) -> Sequence[Any]:
    """Return values as the table takes them, where they can be that."""
    try:
        if declared.map_key and not pa.types.is_map(column.type):
            column = _maps(column)
        elif declared.moment and pa.types.is_string(column.type):
            column = _moments(column)
        return columns.values(declared, columns.cast(column, declared))
    except (pa.ArrowException, ValueError, AttributeError):
        if len(column) == 1:
            return [_Wrong(str(column[0].as_py()))]
        return [_values(declared, column.slice(at, 1))[0] for at in range(len(column))]


def _moments(column: pa.Array) -> pa.Array:
    """Return text as numbers, or as moments, which are of UTC where they name no zone."""
    for kind in (pa.int64(), columns.MOMENT):
        with suppress(pa.ArrowException):
            return column.cast(kind)
    return column.cast(pa.timestamp("us"))


def _maps(column: pa.Array) -> pa.Array:
    """Return the maps of files that have no type for them: objects, or these as text."""
    found = [json.loads(each) if isinstance(each, str) else each for each in column.to_pylist()]
    # An object lacks what others have.
    maps = [
        each and [(key, _text(value)) for key, value in each.items() if value is not None]
        for each in found
    ]
    return pa.array(maps, pa.map_(pa.string(), pa.string()))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)

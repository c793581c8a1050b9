"""Reads files as rows of a table, and writes rows to files."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, get_args

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions
from pyspark.sql.types import BinaryType, DataType, MapType, StringType, StructField, StructType
from quorate.plugin.advanced import Column as TableColumn, Table
from quorate.plugin.moments import MICROSECONDS

from quorate_spark.source.columns import spark_type
from quorate_spark.source.errors import SourceError
from quorate_spark.source.tables import FoundTable

#: All that a timestamp has.
_MOMENT: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
_TEXTS: Final = MapType(StringType(), StringType())

Format = Literal["csv", "json", "parquet"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)


def format_of(path: Path) -> Format:
    """Return the format by the names of files; raises `SourceError`."""
    names = [path] if not path.is_dir() else sorted(each for each in path.iterdir())
    endings = {each.suffix.removeprefix(".").lower() for each in names if each.suffix}
    endings = {"json" if each == "jsonl" else each for each in endings}
    for known in get_args(Format):
        if known in endings and len(endings & set(FORMATS)) == 1:
            found: Format = known
            return found
    raise SourceError(
        f"the format of {path} cannot be inferred from its name: say --format {', '.join(FORMATS)}"
    )


def read(session: SparkSession, path: Path, form: Format, found: FoundTable) -> DataFrame:
    """Return the rows of files, as far as they are text with the types of the table's columns."""
    if not path.exists():
        raise SourceError(f"there is no file or directory {path}")
    if form == "parquet":
        return session.read.parquet(str(path))
    if form == "csv":
        return _typed(session.read.option("header", True).csv(str(path)), found.table)
    return _typed(_objects(session, path, found.table), found.table)


def write(rows: DataFrame, path: Path, form: Format) -> int:
    """Write rows into a new directory, and return how many they are.

    Bytes become text where the format has no bytes.
    """
    if path.exists():
        raise SourceError(f"{path} exists already: name a new directory")
    counted = Observation()
    rows = rows.observe(counted, functions.count(functions.lit(1)).alias("rows"))
    if form == "parquet":
        rows.write.parquet(str(path))
    else:
        shown = rows.select(*(_shown(field, form) for field in rows.schema.fields))
        writer = shown.write.option("timestampFormat", _MOMENT)
        if form == "csv":
            writer.option("header", True).csv(str(path))
        else:
            writer.json(str(path))
    return int(counted.get["rows"])


def _shown(field: StructField, form: Format) -> Column:
    column, kind = functions.col(field.name), field.dataType
    if isinstance(kind, BinaryType):
        return column.cast("string").alias(field.name)
    if not isinstance(kind, MapType):
        return column
    if isinstance(kind.valueType, BinaryType):
        column = column.cast(_TEXTS)
    return (functions.to_json(column) if form == "csv" else column).alias(field.name)


def _objects(session: SparkSession, path: Path, table: Table) -> DataFrame:
    """Return the rows of files with JSON, with maps where the table has some."""
    rows = session.read.json(str(path), primitivesAsString=True)
    maps = {each.name for each in table.columns if each.map_key}
    if maps.isdisjoint(rows.columns):
        return rows
    kinds = [
        StructField(each.name, _TEXTS) if each.name in maps else each for each in rows.schema.fields
    ]
    return session.read.schema(StructType(kinds)).json(str(path), primitivesAsString=True)


def _typed(rows: DataFrame, table: Table) -> DataFrame:
    """Cast text to the types of the table's columns; other columns stay unchanged."""
    columns = {each.name: each for each in table.columns}
    found = zip(rows.columns, (each.dataType for each in rows.schema.fields), strict=True)
    return rows.select(
        *(
            _cast(functions.col(f"`{name}`"), kind, columns[name]).alias(name)
            if name in columns
            else functions.col(f"`{name}`")
            for name, kind in found
        )
    )


def _cast(column: Column, kind: DataType, wanted: TableColumn) -> Column:
    if wanted.map_key and isinstance(kind, StringType):
        column = functions.from_json(column, _TEXTS.simpleString(), {"mode": "FAILFAST"})
    if wanted.moment:
        # Numbers are those of the table.
        number, (times, parts) = column.try_cast("long"), MICROSECONDS[wanted.moment]
        us = number * times if parts == 1 else functions.floor(number / parts)
        return functions.coalesce(functions.timestamp_micros(us), column.cast("timestamp"))
    return column.cast(spark_type(wanted))

"""Reads files as rows of a table, and writes rows to files."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, get_args

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions
from pyspark.sql.types import BinaryType, StructField, StructType

from quorate_spark.source.columns import spark_schema
from quorate_spark.source.errors import SourceError
from quorate_spark.source.tables import FoundTable

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
    wanted = spark_schema(found.table)
    if form == "parquet":
        return session.read.parquet(str(path))
    if form == "csv":
        rows = session.read.option("header", True).csv(str(path))
        return _typed(rows, wanted)
    return _typed(session.read.json(str(path), primitivesAsString=True), wanted)


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
        shown = rows.select(*(_shown(field) for field in rows.schema.fields))
        if form == "csv":
            shown.write.option("header", True).csv(str(path))
        else:
            shown.write.json(str(path))
    return int(counted.get["rows"])


def _shown(field: StructField) -> Column:
    column = functions.col(field.name)
    binary = isinstance(field.dataType, BinaryType)
    return column.cast("string").alias(field.name) if binary else column


def _typed(rows: DataFrame, wanted: StructType) -> DataFrame:
    """Cast text to the types of the table's columns; other columns stay unchanged."""
    types = {field.name: field.dataType for field in wanted.fields}
    return rows.select(
        *(
            functions.col(f"`{name}`").cast(types[name]).alias(name)
            if name in types
            else functions.col(f"`{name}`")
            for name in rows.columns
        )
    )

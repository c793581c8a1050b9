"""The columns of a table as Spark and Arrow have them, and whether given ones fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import types as spark
from quorate.plugin.advanced import Column, Table

from quorate_spark.source.errors import SourceError, meant

SPARK: Final[Mapping[str, spark.DataType]] = {
    "string": spark.StringType(),
    "binary": spark.BinaryType(),
    "int": spark.IntegerType(),
    "long": spark.LongType(),
    "double": spark.DoubleType(),
    "boolean": spark.BooleanType(),
}
ARROW: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}
#: Types that are accepted beside the type itself: their values convert without loss.
_FITTING: Final[Mapping[str, tuple[type[spark.DataType], ...]]] = {
    "string": (spark.VarcharType, spark.CharType),
    "binary": (spark.StringType,),
    "int": (spark.ByteType, spark.ShortType),
    "long": (spark.ByteType, spark.ShortType, spark.IntegerType),
    "double": (spark.FloatType, spark.ByteType, spark.ShortType, spark.IntegerType),
    "boolean": (),
}


def spark_schema(table: Table) -> spark.StructType:
    """Return the columns of a table for Spark."""
    return spark.StructType(
        [spark.StructField(each.name, SPARK[each.type], each.nullable) for each in table.columns]
    )


def arrow_schema(table: Table) -> pa.Schema:
    """Return the columns of a table for Arrow."""
    return pa.schema(
        [pa.field(each.name, ARROW[each.type], each.nullable) for each in table.columns]
    )


def check(name: str, table: Table, given: spark.StructType) -> None:
    """Refuse columns that are missing, unknown or of another type; raises `SourceError`."""
    fields = {field.name: field for field in given.fields}
    names = [column.name for column in table.columns]
    problems = [
        *(_problem(column, fields.get(column.name)) for column in table.columns),
        *(
            f"{field} is no column of it.{meant(field, names)}"
            for field in fields
            if field not in names
        ),
    ]
    found = [problem for problem in problems if problem]
    if found:
        columns = ", ".join(
            f"{each.name} {each.type}{'' if each.nullable else ' not null'}"
            for each in table.columns
        )
        raise SourceError(
            f"these columns do not fit the table {name}: {'; '.join(found)}. Its columns are "
            f"{columns}: select, rename and cast accordingly. No row was loaded"
        )


def normalized(table: Table, batch: pa.RecordBatch) -> list[pa.Array]:
    """Return the columns of a batch in the order and with the types of the table."""
    names = batch.schema.names
    return [
        _cast(batch.column(each.name), ARROW[each.type])
        if each.name in names
        else pa.nulls(batch.num_rows, ARROW[each.type])
        for each in table.columns
    ]


def lacks_values(table: Table, columns: Sequence[pa.Array]) -> bool:
    """Return whether a column of a batch has a null that may not be there."""
    return any(
        column.null_count and not declared.nullable
        for declared, column in zip(table.columns, columns, strict=True)
    )


def _problem(column: Column, field: spark.StructField | None) -> str:
    if field is None:
        return "" if column.nullable else f"{column.name} is missing"
    given = field.dataType
    fits = isinstance(given, (type(SPARK[column.type]), *_FITTING[column.type]))
    return "" if fits else f"{column.name} is {given.simpleString()} and must be {column.type}"


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    return column if column.type == wanted else column.cast(wanted)

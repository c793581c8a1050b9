"""The columns of a table as Spark and Arrow have them, and whether given ones fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type
from quorate.plugin.advanced import Column, Table
from quorate.plugin.moments import MICROSECONDS, from_us

from quorate_spark.source.errors import SourceError, meant

T = TypeVar("T")

ARROW: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}
SPARK: Final[Mapping[str, spark.DataType]] = {
    name: from_arrow_type(kind) for name, kind in ARROW.items()
}
#: The type of a moment.
MOMENT: Final = pa.timestamp("us", "UTC")
#: The first and the last microsecond that a timestamp holds are as far from 1970.
_LARGEST: Final = (1 << 63) - 1
#: Types that are accepted beside the type itself: their values convert without loss.
_FITTING: Final[Mapping[str, tuple[type[spark.DataType], ...]]] = {
    "string": (spark.VarcharType, spark.CharType),
    "binary": (spark.StringType,),
    "int": (spark.ByteType, spark.ShortType),
    "long": (spark.ByteType, spark.ShortType, spark.IntegerType),
    "double": (spark.FloatType, spark.ByteType, spark.ShortType, spark.IntegerType),
    "boolean": (),
}


def spark_type(column: Column) -> spark.DataType:
    """Return the type of a column in Spark; raises `SourceError` for one that is unknown here."""
    # As Spark's catalog keeps it, where every value of a map may be null.
    return from_arrow_type(arrow_type(column))


def arrow_type(column: Column) -> pa.DataType:
    """Return the same for Arrow."""
    if column.moment:
        return MOMENT
    kind = _known(ARROW, column, column.type)
    if column.map_key is None:
        return kind
    return pa.map_(_known(ARROW, column, column.map_key), kind)


def spark_schema(table: Table) -> spark.StructType:
    """Return the columns of a table for Spark."""
    return from_arrow_schema(arrow_schema(table))


def arrow_schema(table: Table) -> pa.Schema:
    """Return the columns of a table for Arrow."""
    return pa.schema(
        [pa.field(each.name, arrow_type(each), each.nullable) for each in table.columns]
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
            f"{each.name} {told(each)}{'' if each.nullable else ' not null'}"
            for each in table.columns
        )
        raise SourceError(
            f"these columns do not fit the table {name}: {'; '.join(found)}. Its columns are "
            f"{columns}: select, rename and cast accordingly. No row was loaded"
        )


def told(column: Column) -> str:
    """Return the type of a column for people."""
    if column.moment:
        return "timestamp"
    return f"map<{column.map_key},{column.type}>" if column.map_key else column.type


def normalized(table: Table, batch: pa.RecordBatch) -> list[pa.Array]:
    """Return the columns of a batch in the order and with the types of the table.

    Numbers in the place of moments stay: they are in the unit of the column.
    """
    names = batch.schema.names
    return [
        cast(batch.column(each.name), each)
        if each.name in names
        else pa.nulls(batch.num_rows, arrow_type(each))
        for each in table.columns
    ]


def lacks_values(table: Table, columns: Sequence[pa.Array]) -> bool:
    """Return whether a column of a batch has a null that may not be there."""
    return any(
        column.null_count and not declared.nullable
        for declared, column in zip(table.columns, columns, strict=True)
    )


def lists(table: Table, columns: Sequence[pa.Array]) -> list[list[Any]]:
    """Return the values of normalized columns as the functions of the table take them."""
    return [values(*each) for each in zip(table.columns, columns, strict=True)]


def values(declared: Column, column: pa.Array) -> list[Any]:
    """Return the values of a column as the functions of its table take them."""
    if declared.map_key:
        return [None if each is None else dict(each) for each in column.to_pylist()]
    if declared.moment is None or not pa.types.is_timestamp(column.type):
        plain: list[Any] = column.to_pylist()
        return plain
    found = column.cast(pa.int64()).to_pylist()
    return [None if each is None else from_us(each, declared.moment) for each in found]


def for_arrow(columns: Sequence[Column], row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row of a table with values that Arrow takes."""
    return tuple(
        _for_arrow(column, value) if column.moment or column.map_key else value
        for column, value in zip(columns, row, strict=True)
    )


def moments(numbers: NDArray[np.int64], declared: Column) -> pa.Array:
    """Return numbers of the unit of a column as its moments; the last one for what is later."""
    assert declared.moment is not None
    times, parts = MICROSECONDS[declared.moment]
    most = min(_LARGEST * parts // times, _LARGEST)
    return pa.array(np.clip(numbers, -most, most) * times // parts).cast(MOMENT)


def cast(column: pa.Array, declared: Column) -> pa.Array:
    """Return a column with the type of the table's."""
    wanted = arrow_type(declared)
    if column.type == wanted:
        return column
    if wanted is not MOMENT:
        return column.cast(wanted)
    # Files may have nanoseconds.
    return column.cast(pa.int64() if pa.types.is_integer(column.type) else wanted, safe=False)


def _for_arrow(column: Column, value: Any) -> Any:
    if value is None:
        return None
    if column.moment is None:
        return list(value.items())
    times, parts = MICROSECONDS[column.moment]
    most = _LARGEST * parts // times
    return max(-most, min(value, most)) * times // parts


def _problem(column: Column, field: spark.StructField | None) -> str:
    if field is None:
        return "" if column.nullable else f"{column.name} is missing"
    given = field.dataType
    return (
        ""
        if _fits(column, given)
        else f"{column.name} is {given.simpleString()} and must be {told(column)}"
    )


def _fits(column: Column, given: spark.DataType) -> bool:
    def fits(kind: str, given: spark.DataType) -> bool:
        return isinstance(given, (type(_known(SPARK, column, kind)), *_FITTING[kind]))

    if column.moment and isinstance(given, spark.TimestampType):
        return True
    if column.map_key is None:
        return fits(column.type, given)
    return (
        isinstance(given, spark.MapType)
        and fits(column.map_key, given.keyType)
        and fits(column.type, given.valueType)
    )


def _known(types: Mapping[str, T], column: Column, kind: str) -> T:
    """Return one of the types; the plugin may be made for a later release, which has others."""
    found = types.get(kind)
    if found is None:
        raise SourceError(
            f"the column {column.name} is of the type {kind}, which this release of quorate-spark "
            "does not know: install that of the plugin"
        )
    return found

"""Tables of Spark's catalog: `CREATE TABLE … USING quorate OPTIONS (…)`.

Spark gives the options of such a table to the source when the table is made, and never again. It
keeps the columns, and hands them back with every query: the options are kept in their metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql.types import StructField, StructType

#: What Spark puts before the names of OPTIONS, beside the properties of the table.
_OPTION: Final = "option."
#: A property of every table of the catalog; no option has that name.
_PROVIDER: Final = "provider"
#: The key of the metadata of the first column.
_KEPT: Final = "quorate.options"


def created(given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the OPTIONS of a table that is being created; None if none is."""
    if _PROVIDER not in given:
        return None
    return {
        name.removeprefix(_OPTION): value
        for name, value in given.items()
        if name.startswith(_OPTION)
    }


def keeping(columns: StructType, options: Mapping[str, str]) -> StructType:
    """Return columns that keep the options."""
    first, *others = columns.fields
    kept = StructField(first.name, first.dataType, first.nullable, {_KEPT: dict(options)})
    return StructType([kept, *others])


def kept(columns: StructType, known: frozenset[str]) -> dict[str, str]:
    """Return the options that columns keep, but for those that are not known here."""
    found: Mapping[str, str] = {}
    for field in columns.fields[:1]:
        found = (field.metadata or {}).get(_KEPT, {})
    return {name: value for name, value in found.items() if name in known}

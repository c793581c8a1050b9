"""The rows of a feed of changes: the columns of the table, and the operation."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Final

import pyarrow as pa
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from quorate.client import ChangeKind, WatchedChange
from quorate.plugin import ColumnFamily, keys
from quorate.plugin.advanced import Column
from quorate.plugin.declared import declare
from quorate.plugin.discovery import installed
from quorate.v1.view_pb2 import PackedRows

from quorate_spark.source.columns import MOMENT, arrow_type, for_arrow
from quorate_spark.source.decoding import Decoder, revisions, rows_of
from quorate_spark.source.errors import SourceError
from quorate_spark.source.tables import FoundTable, installed_tables

OPERATION: Final = "_operation"
REVISION: Final = "_revision"
SHARD: Final = "_shard"
TIME: Final = "_time"
BEFORE: Final = "_before"

Values = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class Feed:
    """A public family, and how its rows look."""

    name: str
    family: ColumnFamily
    columns: tuple[Column, ...]
    #: Takes the key and the value of a row.
    from_row: Callable[[bytes, bytes], Values]
    #: Takes a key alone; all other columns are None.
    from_key: Callable[[bytes], Values]
    #: None: rows come as JSON.
    table: FoundTable | None = None

    def schema(self) -> StructType:
        """Return the columns of the feed; only the operation and the shard are never null."""
        return from_arrow_schema(self.arrow_schema())

    def arrow_schema(self) -> pa.Schema:
        """Return the same for Arrow."""
        row = [pa.field(each.name, arrow_type(each)) for each in self.columns]
        before = [pa.field(BEFORE, pa.struct(row))] if self.family.previous else []
        return pa.schema(
            [
                pa.field(OPERATION, pa.string(), False),
                *row,
                *before,
                pa.field(REVISION, pa.int64()),
                pa.field(SHARD, pa.int32(), False),
                pa.field(TIME, MOMENT),
            ]
        )

    def batch(self, changes: Sequence[WatchedChange]) -> pa.RecordBatch:
        """Return changes as rows."""
        schema = self.arrow_schema()
        columns = list(zip(*map(self._row, changes), strict=True)) or [()] * len(schema)
        return pa.RecordBatch.from_arrays(
            [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)],
            schema=schema,
        )

    def snapshot(self, page: PackedRows, shard: int, revision: int) -> pa.RecordBatch:
        """Return the rows of a page, without rows written after a revision."""
        if self.table is None:
            return self.batch(
                [
                    WatchedChange(
                        kind=ChangeKind.ROW, key=key, value=value, revision=at, shard=shard
                    )
                    for key, value, at in rows_of(page)
                    if at <= revision
                ]
            )
        written = revisions(page)
        schema, rows = self.arrow_schema(), len(written)
        known = dict(zip(self._names(), Decoder(self.table).batch(page).columns, strict=True))
        known[OPERATION] = pa.array([str(ChangeKind.ROW)] * rows)
        known[REVISION], known[SHARD] = pa.array(written), pa.array([shard] * rows, pa.int32())
        columns = [
            known[each.name] if each.name in known else pa.nulls(rows, each.type) for each in schema
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        return batch.filter(pa.array(written <= revision))

    def _names(self) -> list[str]:
        return [each.name for each in self.columns]

    def _row(self, change: WatchedChange) -> Values:
        if change.kind is ChangeKind.RESYNC:
            row: Values = (None,) * len(self.columns)
        elif change.kind is ChangeKind.DELETED:
            row = self.from_key(change.key)
        else:
            row = self.from_row(change.key, change.value)
        before: tuple[object, ...] = ()
        if self.family.previous:
            before = (self._before(change),)
        time = datetime.fromtimestamp(change.at_ms / 1_000, UTC) if change.at_ms else None
        shown = for_arrow(self.columns, row)
        return (str(change.kind), *shown, *before, change.revision, change.shard, time)

    def _before(self, change: WatchedChange) -> dict[str, object] | None:
        if not change.previous:
            return None
        values = for_arrow(self.columns, self.from_row(change.key, change.previous))
        return dict(zip(self._names(), values, strict=True))


@cache
def feed_of(name: str) -> Feed:
    """Return the feed of a table or a public family; raises `SourceError` without one."""
    families = {each.name: each for plugin in installed() for each in declare(plugin).families}
    found = installed_tables().get(name)
    family = families.get(name if found is None else found.table.family)
    if family is None or family.row is None:
        known = ", ".join(sorted(each.name for each in families.values() if each.row is not None))
        raise SourceError(
            f"there are no changes of {name!r}: the plugins that are installed here have {known}"
        )
    shown = next(
        (each for each in installed_tables().values() if each.table.family == family.name), None
    )
    if shown is None:
        return _plain(name, family, family.row)
    return Feed(
        name=name,
        family=family,
        columns=shown.table.columns,
        from_row=shown.table.from_row,
        from_key=_key_reader(shown),
        table=shown,
    )


def _plain(name: str, family: ColumnFamily, row: type[Message]) -> Feed:
    """Return the feed of a family without a table: keys as text, and rows as JSON."""

    def key_of(key: bytes) -> str:
        shown = keys.readable(key)
        return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)

    def from_row(key: bytes, value: bytes) -> Values:
        fields = MessageToDict(row.FromString(value), preserving_proto_field_name=True)
        return key_of(key), json.dumps(fields, ensure_ascii=False)

    return Feed(
        name=name,
        family=family,
        columns=(Column(name="key", type="string"), Column(name="row", type="string")),
        from_row=from_row,
        from_key=lambda key: (key_of(key), None),
    )


def _key_reader(found: FoundTable) -> Callable[[bytes], Values]:
    places = {name: at for at, name in enumerate(found.table.key)}
    names = [column.name for column in found.table.columns]
    bare = found.bare_key

    def from_key(key: bytes) -> Values:
        parts: Sequence[object] = (key,) if bare else keys.unpack(key)
        return tuple(parts[places[name]] if name in places else None for name in names)

    return from_key

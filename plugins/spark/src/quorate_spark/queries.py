"""The reads: they run where the loads are."""

from collections.abc import Iterator

from quorate.plugin import Reader, Row, keys, read_range

from quorate_spark.families import LOADS, PARTITIONS, load_key
from quorate_spark.v1.queries_pb2 import GetLoadQuery, ListLoadsQuery, LoadView
from quorate_spark.v1.rows_pb2 import Load, LoadPartition

#: Rows that are read at a time.
CHUNK = 1_000


def get_load(reader: Reader, query: GetLoadQuery) -> Iterator[LoadView]:
    """Yield a load with its parts, if there is one."""
    row = reader.get_row(LOADS, load_key(query.load_id))
    if row is not None:
        yield _view(reader, row, with_parts=True)


def list_loads(reader: Reader, query: ListLoadsQuery) -> Iterator[LoadView]:
    """Yield loads in the order of their ids."""
    start, end = keys.prefix()
    if query.after:
        start = keys.successor(load_key(query.after))
    for row in reader.scan(LOADS, start, end, limit=min(query.limit or CHUNK, CHUNK)):
        yield _view(reader, row, with_parts=False)


def _view(reader: Reader, row: Row, *, with_parts: bool) -> LoadView:
    view = LoadView(load=Load.FromString(row.value))
    for part in _parts(reader, view.load.load_id):
        view.rows += part.rows
        view.bad_rows += part.bad_rows
        view.batches += part.batches
        view.partitions += 1
        view.partitions_finished += part.finished
        if with_parts:
            view.parts.append(part)
    return view


def _parts(reader: Reader, load_id: str) -> Iterator[LoadPartition]:
    for row in read_range(reader, PARTITIONS, *keys.prefix(load_id)):
        yield LoadPartition.FromString(row.value)

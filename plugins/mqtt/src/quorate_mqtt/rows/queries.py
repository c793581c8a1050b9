"""The reads: they run where the rows are."""

from collections.abc import Iterator, Sequence
from typing import Final

from quorate.plugin import Reader, Row, read_each, read_range

from quorate_mqtt.v1.rows_pb2 import (
    GetRowQuery,
    GetRowsQuery,
    ListAllRowsQuery,
    ListRowsQuery,
    StoredRow,
)

#: The most rows of a page.
LARGEST_PAGE: Final = 1_000
#: A page ends behind the row that fills it.
PAGE_BYTES: Final = 1 << 20


def get_row(reader: Reader, query: GetRowQuery) -> Iterator[StoredRow]:
    """Yield the row, if there is one."""
    row = reader.get_row(query.family, query.key)
    if row is not None:
        yield _stored(row)


def get_rows(reader: Reader, query: GetRowsQuery) -> Iterator[StoredRow]:
    """Yield the rows that this shard has, in the order of their keys."""
    for row in read_each(reader, query.family, sorted(set(query.keys))):
        if row is not None:
            yield _stored(row)


def list_rows(reader: Reader, query: ListRowsQuery | ListAllRowsQuery) -> Sequence[StoredRow]:
    """Return a page of this shard's rows; its last one says whether there are more."""
    limit = min(query.limit or LARGEST_PAGE, LARGEST_PAGE)
    page: list[StoredRow] = []
    room = PAGE_BYTES
    for row in read_range(reader, query.family, query.start, query.end):
        if len(page) == limit or room <= 0:
            page[-1].more = True
            break
        page.append(_stored(row, keys_only=query.keys_only))
        room -= page[-1].ByteSize()
    return page


def order(row: StoredRow) -> bytes:
    """Return the key by which the rows of several shards are merged."""
    return row.key


def _stored(row: Row, *, keys_only: bool = False) -> StoredRow:
    value = b"" if keys_only else row.value
    return StoredRow(key=row.key, value=value, revision=row.revision)

"""Stored rows as columns: many rows are decoded at once, and no object is made for any of them.

A row is the wire form of a message, so its fields are found step by step: the first field of all
rows, then the second one of all rows that have one. A key is packed parts, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import FieldDescriptor
from numpy.typing import NDArray
from quorate.plugin.advanced import Column
from quorate.plugin.resource.tables import words_of
from quorate.v1.view_pb2 import PackedRows

from quorate_spark.source.columns import arrow_schema, arrow_type, for_arrow, moments
from quorate_spark.source.tables import FoundTable

Numbers = NDArray[np.int64]
Bytes = NDArray[np.uint8]

#: In front of each stored value.
_REVISION_BYTES: Final = 8
_VARINT, _FIXED64, _SIZED, _FIXED32 = 0, 1, 2, 5
_MORE: Final = 0x80
#: Bytes of a varint.
_LONGEST: Final = 10
_TEXT_TAGS: Final = (1, 2)
_ZERO: Final = 0x14
_INT_BYTES: Final = 8
_ZIGZAG: Final = frozenset({FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SINT64})


class _UnusualError(Exception):
    """Unusual rows, which must be decoded one by one."""


@dataclass(slots=True)
class Slices:
    """A slice of the data for each row, in the order of the rows; empty where it has none."""

    starts: Numbers
    ends: Numbers


@dataclass(frozen=True, slots=True)
class Source:
    """Where the values of a column come from: a part of the key, or a field of the row."""

    column: Column
    #: Its place in the key; None: it is of the row.
    part: int | None = None
    #: The numbers of the fields that lead to it, and the last one.
    path: tuple[int, ...] = ()
    field: FieldDescriptor | None = None
    #: An unset field is null, not the default of its type.
    empty_is_null: bool = False


class Decoder:
    """Turns pages of packed rows into record batches of some columns of a table."""

    def __init__(self, found: FoundTable, names: Sequence[str] = ()) -> None:
        table = found.table
        self._found: Final = found
        chosen = [each for each in table.columns if not names or each.name in names]
        self.schema: Final = pa.schema([arrow_schema(table).field(each.name) for each in chosen])
        self._at: Final = [table.columns.index(each) for each in chosen]
        sources = sources_of(found) if table.plain else None
        self._sources: Final = None if sources is None else [sources[at] for at in self._at]

    @property
    def keys_only(self) -> bool:
        """Whether all columns are parts of the key."""
        return all(self._found.table.columns[at].name in self._found.table.key for at in self._at)

    def batch(self, page: PackedRows) -> pa.RecordBatch:
        """Return the rows of a page."""
        if self._sources is not None:
            try:
                return self._decoded(page, self._sources)
            except _UnusualError:
                pass
        return self._one_by_one(page)

    def _decoded(self, page: PackedRows, sources: Sequence[Source]) -> pa.RecordBatch:
        key_data, keys_at = _data(page.keys), _slices(page.key_ends)
        parts = [each.part for each in sources if each.part is not None]
        found_parts: list[Part] = []
        if parts and not self._found.bare_key:
            found_parts = _key_parts(key_data, keys_at, max(parts) + 1)
        fields: Mapping[tuple[int, ...], Field] = {}
        wanted = {each.path for each in sources if each.part is None}
        if wanted:
            values = _slices(page.row_ends)
            values.starts += _REVISION_BYTES
            fields = _fields(_data(page.rows), values, wanted)
        rows = len(keys_at.starts)
        columns = []
        for each in sources:
            if each.part is None:
                columns.append(_field_column(each, fields.get(each.path), page.rows, rows))
            elif self._found.bare_key:
                columns.append(_sliced(page.keys, keys_at, arrow_type(each.column)))
            else:
                columns.append(_part_column(each, found_parts[each.part], page.keys))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _one_by_one(self, page: PackedRows) -> pa.RecordBatch:
        """Return the rows of a table that says itself how they look."""
        table = self._found.table
        values = _each(page.rows, page.row_ends) or [bytes(_REVISION_BYTES)] * (
            len(page.key_ends) // 4
        )
        rows = [
            for_arrow(table.columns, table.from_row(key, value[_REVISION_BYTES:]))
            for key, value in zip(_each(page.keys, page.key_ends), values, strict=True)
        ]
        columns = list(zip(*rows, strict=True))
        return pa.RecordBatch.from_arrays(
            [
                pa.array(columns[at], field.type)
                for at, field in zip(self._at, self.schema, strict=True)
            ],
            schema=self.schema,
        )


def revisions(page: PackedRows) -> Numbers:
    """Return the revision of each row of a page."""
    return _fixed(_data(page.rows), _slices(page.row_ends).starts, ">i8").astype(np.int64)


def rows_of(page: PackedRows) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield key, value and revision of each row of a page."""
    for key, row in zip(
        _each(page.keys, page.key_ends), _each(page.rows, page.row_ends), strict=True
    ):
        yield key, row[_REVISION_BYTES:], int.from_bytes(row[:_REVISION_BYTES])


def sources_of(found: FoundTable) -> tuple[Source, ...]:
    """Return where the columns of a plain table come from; raises `ValueError`."""
    table, kind = found.table, found.row.DESCRIPTOR
    # An empty row shows which columns are null when they are unset.
    example = table.to_key(*(_example(each) for each in _key_columns(found)))
    empty = table.from_row(example, b"")
    sources = []
    for column, value in zip(table.columns, empty, strict=True):
        if column.name in table.key:
            sources.append(Source(column, part=table.key.index(column.name)))
            continue
        path = _path(kind, column.name)
        sources.append(
            Source(
                column,
                path=tuple(each.number for each in path),
                field=path[-1],
                empty_is_null=value is None,
            )
        )
    return tuple(sources)


def _key_columns(found: FoundTable) -> list[Column]:
    by_name = {each.name: each for each in found.table.columns}
    return [by_name[name] for name in found.table.key]


def _example(column: Column) -> object:
    return {"string": "a", "binary": b"a", "boolean": False}.get(column.type, 0)


def _path(kind: Any, name: str) -> tuple[FieldDescriptor, ...]:
    """Return the fields that lead to the one of a name, in the message or in one within it."""
    fields: Mapping[str, FieldDescriptor] = kind.fields_by_name
    if name in fields:
        return (fields[name],)
    for each in kind.fields:
        inner = each.message_type
        if inner is not None and name in inner.fields_by_name:
            return (each, inner.fields_by_name[name])
    raise ValueError(f"{kind.full_name} has no field {name}")


# Fields.


@dataclass(slots=True)
class Field:
    """The values of a field: numbers, or slices, and which rows have it."""

    present: NDArray[np.bool_]
    numbers: NDArray[np.uint64]
    slices: Slices


def _fields(
    data: Bytes, values: Slices, wanted: set[tuple[int, ...]], before: tuple[int, ...] = ()
) -> dict[tuple[int, ...], Field]:
    """Return the fields at these paths that any row has."""
    rows = len(values.starts)
    found: dict[tuple[int, ...], Field] = {}
    at = values.starts.copy()
    # Rows that are not at their end.
    active = np.flatnonzero(at < values.ends)
    while len(active):
        tags, at_value = _varints(data, at[active])
        for tag in _distinct(tags):
            same = tags == tag
            whole = bool(same.all())
            these = active if whole else active[same]
            begin = at_value if whole else at_value[same]
            path = (*before, tag >> 3)
            starts, ends = _bounds(data, begin, tag & 7)
            at[these] = ends
            if any(each[: len(path)] == path for each in wanted):
                field = found.get(path)
                if field is None:
                    field = found[path] = Field(
                        np.zeros(rows, np.bool_),
                        np.zeros(rows, np.uint64),
                        Slices(values.ends.copy(), values.ends.copy()),
                    )
                elif field.present[these].any():
                    # Later values replace earlier ones, or are merged.
                    raise _UnusualError
                field.present[these] = True
                if tag & 7 != _SIZED:
                    field.numbers[these] = _numbers(data, starts, tag & 7)
                field.slices.starts[these] = starts
                field.slices.ends[these] = ends
        if (at > values.ends).any():
            raise _UnusualError
        active = active[at[active] < values.ends[active]]
    for path, field in list(found.items()):
        within = {each for each in wanted if len(each) > len(path) and each[: len(path)] == path}
        if within:
            found |= _fields(data, field.slices, within, path)
    return found


def _distinct(tags: NDArray[np.uint64]) -> list[int]:
    """Return the distinct tags: in most tables each row has the same fields."""
    first = int(tags[0])
    return [first] if (tags == first).all() else list(map(int, np.unique(tags)))


def _bounds(data: Bytes, at: Numbers, kind: int) -> tuple[Numbers, Numbers]:
    """Return where the values behind tags begin and end."""
    if kind == _VARINT:
        return at, _varints(data, at)[1]
    if kind == _SIZED:
        sizes, starts = _varints(data, at)
        return starts, starts + sizes.astype(np.int64)
    if kind in (_FIXED32, _FIXED64):
        return at, at + (4 if kind == _FIXED32 else 8)
    raise _UnusualError


def _numbers(data: Bytes, at: Numbers, kind: int) -> NDArray[np.uint64]:
    """Return numbers at places."""
    if kind == _VARINT:
        return _varints(data, at)[0]
    return _fixed(data, at, "<u4" if kind == _FIXED32 else "<u8").astype(np.uint64)


def _fixed(data: Bytes, at: Numbers, kind: str) -> NDArray[Any]:
    """Return numbers of a fixed size at places."""
    dtype = np.dtype(kind)
    last = len(data) - dtype.itemsize
    # Nothing is read beyond the data: a truncated row is no row.
    if len(at) and int(at.max()) > last:
        raise _UnusualError
    # A number begins at every byte.
    return np.ndarray(max(last + 1, 0), dtype, data, strides=(1,))[at]


def _varints(data: Bytes, at: Numbers) -> tuple[NDArray[np.uint64], Numbers]:
    """Return the varints at places, and where each ends."""
    if len(at) and int(at.max()) >= len(data):
        raise _UnusualError
    read = data[at]
    numbers = (read & 0x7F).astype(np.uint64)
    ends = at + 1
    more = np.flatnonzero(read & _MORE)
    for size in range(1, _LONGEST):
        if not len(more):
            return numbers, ends
        if int(ends[more].max()) >= len(data):
            break
        read = data[ends[more]]
        numbers[more] |= (read & 0x7F).astype(np.uint64) << np.uint64(7 * size)
        ends[more] += 1
        more = more[(read & _MORE) != 0]
    if len(more):
        raise _UnusualError
    return numbers, ends


def _field_column(source: Source, found: Field | None, data: bytes, rows: int) -> pa.Array:
    kind, field = arrow_type(source.column), source.field
    if field is None:
        raise ValueError(source.column.name)
    if found is None:
        present = np.zeros(rows, np.bool_)
        found = Field(present, np.zeros(rows, np.uint64), Slices(*np.zeros((2, rows), np.int64)))
    if field.enum_type is not None:
        return _words(field, found)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        column = _sliced(data, found.slices, kind)
        empty = found.slices.starts == found.slices.ends
    else:
        numbers = _typed(field, found.numbers)
        empty = numbers == 0
        if source.column.moment:
            column = moments(_signed(field, numbers), source.column)
            if field.has_presence:
                empty = ~found.present
        else:
            column = pa.array(numbers).cast(kind)
    if not source.empty_is_null or not empty.any():
        return column
    return pc.if_else(pa.array(~empty), column, pa.scalar(None, kind))


def _typed(field: FieldDescriptor, numbers: NDArray[np.uint64]) -> NDArray[Any]:
    """Return numbers of the wire in the type of their field."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return np.not_equal(numbers, 0)
        case FieldDescriptor.CPPTYPE_DOUBLE:
            return numbers.view(np.float64)
        case FieldDescriptor.CPPTYPE_FLOAT:
            return numbers.astype(np.uint32).view(np.float32)
    if field.type in _ZIGZAG:
        signs = -(numbers & np.uint64(1)).astype(np.int64)
        return (numbers >> np.uint64(1)).astype(np.int64) ^ signs
    signed: Numbers = numbers.view(np.int64)
    if field.cpp_type == FieldDescriptor.CPPTYPE_INT32:
        return signed.astype(np.int32)
    return signed


def _signed(field: FieldDescriptor, numbers: NDArray[Any]) -> Numbers:
    """Return moments as they are, but for those that only a number without a sign can hold."""
    signed: Numbers = numbers.astype(np.int64)
    if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64:
        signed[signed < 0] = np.iinfo(np.int64).max
    return signed


def _words(field: FieldDescriptor, found: Field) -> pa.Array:
    words = {number: word for word, number in words_of(field.enum_type).items()}
    numbers = found.numbers.astype(np.int64)
    places = {number: at for at, number in enumerate(words)}
    known = np.array([places.get(number, -1) for number in np.unique(numbers).tolist()])
    at = known[np.searchsorted(np.unique(numbers), numbers)]
    indices = pa.array(at, mask=at < 0)
    return pa.array(list(words.values()), pa.string()).take(indices)


# Keys.


@dataclass(slots=True)
class Part:
    """A part of each key: text or bytes as slices, or numbers."""

    slices: Slices | None
    numbers: Numbers | None


def _key_parts(data: Bytes, found: Slices, count: int) -> list[Part]:
    """Return the first parts of packed keys; all keys must be packed alike."""
    parts = []
    at = found.starts
    zeros: Numbers | None = None
    for _ in range(count):
        if (at >= found.ends).any():
            raise _UnusualError
        tags = data[at]
        if np.isin(tags, _TEXT_TAGS).all():
            if zeros is None:
                zeros = np.append(np.flatnonzero(data == 0), len(data))
            ends = zeros[np.searchsorted(zeros, at)]
            after = ends + 1
            # A zero within a part is followed by 0xff.
            if (ends >= found.ends).any() or (data[np.minimum(after, len(data) - 1)] == 0xFF).any():
                raise _UnusualError
            parts.append(Part(Slices(at + 1, ends), None))
            at = after
        else:
            sizes = tags.astype(np.int64) - _ZERO
            if (sizes < 0).any() or (sizes > _INT_BYTES).any() or (at + sizes >= found.ends).any():
                raise _UnusualError
            numbers = np.zeros(len(at), np.uint64)
            for byte in range(int(sizes.max(initial=0))):
                longer = np.flatnonzero(sizes > byte)
                numbers[longer] = numbers[longer] << np.uint64(8) | data[at[longer] + 1 + byte]
            parts.append(Part(None, numbers.view(np.int64)))
            at = at + 1 + sizes
    return parts


def _part_column(source: Source, part: Part, data: bytes) -> pa.Array:
    kind = arrow_type(source.column)
    if part.slices is not None:
        return _sliced(data, part.slices, kind)
    if source.column.moment and part.numbers is not None:
        return moments(part.numbers, source.column)
    return pa.array(part.numbers).cast(kind)


# Bytes.


def _data(data: bytes) -> Bytes:
    return np.frombuffer(data, np.uint8)


def _slices(packed_ends: bytes) -> Slices:
    ends = np.frombuffer(packed_ends, "<u4").astype(np.int64)
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1]
    return Slices(starts, ends)


def _each(data: bytes, packed_ends: bytes) -> list[bytes]:
    found = _slices(packed_ends)
    return [
        data[start:end]
        for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    ]


def _sliced(data: bytes, found: Slices, kind: pa.DataType) -> pa.Array:
    """Return slices as an array: those between them are in its way, and left out."""
    rows = len(found.starts)
    edges = np.empty(2 * rows + 1, np.int32)
    edges[0:-1:2] = found.starts
    edges[1::2] = found.ends
    edges[-1] = found.ends[-1] if rows else 0
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(data)]
    both = pa.Array.from_buffers(kind, 2 * rows, buffers)
    return both.take(pa.array(np.arange(0, 2 * rows, 2)))

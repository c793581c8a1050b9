"""The table of a resource's rows, for Spark: a column a field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import repeat
from typing import Any, Final, Literal, TypeVar, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from quorate.plugin import keys
from quorate.plugin.declarations import Column, MapKey, Removal, Table
from quorate.plugin.moments import unit_of
from quorate.plugin.outcomes import Invalid
from quorate.plugin.resource.binding import CREATED, EXPECTED, UPDATED, Binding
from quorate.plugin.resource.serving import check_item_of
from quorate.plugin.singles import is_repeated

M = TypeVar("M", bound=Message)
ColumnType = Literal["string", "binary", "int", "long", "double", "boolean"]

_TYPES: Final[dict[int, ColumnType]] = {
    FieldDescriptor.CPPTYPE_STRING: "string",
    FieldDescriptor.CPPTYPE_ENUM: "string",
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_INT32: "int",
    FieldDescriptor.CPPTYPE_UINT32: "long",
    FieldDescriptor.CPPTYPE_INT64: "long",
    FieldDescriptor.CPPTYPE_UINT64: "long",
    FieldDescriptor.CPPTYPE_DOUBLE: "double",
    FieldDescriptor.CPPTYPE_FLOAT: "double",
}
_INTEGERS: Final = frozenset({"int", "long"})
_LARGEST: Final = (1 << 63) - 1
_TIMESTAMP: Final = "google.protobuf.Timestamp"
#: Seconds of the first and the last one.
_SECONDS: Final = (-62_135_596_800, 253_402_300_799)
_NANOSECONDS: Final = 1_000_000_000
_RANGES: Final[dict[int, tuple[int, int]]] = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, _LARGEST),
}


def table_of(binding: Binding) -> Table | None:
    """Return the table of a resource; None when its rows are not all columns, or are not put."""
    resource = binding.resource
    if isinstance(resource.view.table, Table):
        return resource.view.table
    put = binding.writes.get("Put")
    if not resource.view.table or put is None or put.item is not resource.row:
        return None
    fields = list(_settable(binding))
    found = [_column(each, nullable=each.name not in resource.key) for each in fields]
    columns = tuple(each for each in found if each is not None)
    if len(columns) < len(fields):
        return None
    check = check_item_of(binding, put)(put.command())
    create, delete = binding.writes.get("Create"), binding.writes.get("Delete")

    def to_item(*values: Any) -> Any:
        pairs = zip(fields, values, strict=True)
        row = resource.row(**{each.name: _value(each, value) for each, value in pairs})
        check(row, "")
        return row

    def from_row(_: bytes, value: bytes) -> tuple[object, ...]:
        row = resource.row.FromString(value)
        return tuple(map(_of_row, columns, fields, repeat(row)))

    removal = None
    if delete is not None and delete.item is not None and delete.has(EXPECTED):
        removal = Removal(delete=delete.command, to_item=_removal(binding, delete.item))
    return Table(
        family=resource.family,
        columns=columns,
        key=resource.key,
        write=put.command,
        to_item=to_item,
        from_row=from_row,
        to_key=keys.pack,
        to_insert=to_item if create is not None and create.item is resource.row else None,
        removal=removal,
        plain=all(each.message_type is None for each in fields),
    )


def from_columns(kind: type[M], columns: Mapping[str, Any]) -> M:
    """Return a message filled from the columns named like its fields; null leaves a field empty.

    Raises `Invalid` for a value that a field cannot hold.
    """
    fields: Mapping[str, Any] = kind.DESCRIPTOR.fields_by_name
    if not _has_words(kind.DESCRIPTOR):
        # Nearly all rows are valid: the fault is looked for only in the others.
        try:
            return kind(**columns)
        except (TypeError, ValueError):
            pass
    return kind(**{name: _value(fields[name], value) for name, value in columns.items()})


def column_of(message: Message, name: str) -> object:
    """Return the column value of a field: for an enumeration its word, null if it has no word."""
    field: Any = message.DESCRIPTOR.fields_by_name[name]
    return _shown(field, getattr(message, name))


@cache
def _has_words(kind: Descriptor) -> bool:
    return any(each.enum_type is not None for each in kind.fields)


@cache
def words_of(enum: EnumDescriptor) -> dict[str, int]:
    """Return the values of an enumeration by their names without the common prefix."""
    begin = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return {
        each.name.removeprefix(begin): number
        for number, each in enum.values_by_number.items()
        if number
    }


def _settable(binding: Binding) -> Iterator[FieldDescriptor]:
    resource = binding.resource
    hidden = {CREATED, UPDATED, *resource.serving.internal}
    by_name = resource.row.DESCRIPTOR.fields_by_name
    yield from (by_name[name] for name in resource.key)
    for each in resource.row.DESCRIPTOR.fields:
        if each.name not in hidden and each.name not in resource.key:
            yield each


def _column(field: FieldDescriptor, *, nullable: bool) -> Column | None:
    """Return the column of a field; None: no column holds it."""
    if entry := _entry(field):
        key, value = entry
        if value.message_type is not None:
            return None
        of_key = cast("MapKey", _type(key))
        return Column(name=field.name, type=_type(value), nullable=nullable, map_key=of_key)
    if is_repeated(field):
        return None
    if field.message_type is not None:
        if field.message_type.full_name != _TIMESTAMP:
            return None
        return Column(name=field.name, type="long", nullable=nullable, moment="ns")
    kind = _type(field)
    moment = unit_of(field.name) if kind in _INTEGERS else None
    return Column(name=field.name, type=kind, nullable=nullable, moment=moment)


@cache
def _entry(field: FieldDescriptor) -> tuple[FieldDescriptor, FieldDescriptor] | None:
    """Return the fields of the keys and values of a map; None for any other field."""
    kind = field.message_type
    if kind is None or not kind.GetOptions().map_entry:
        return None
    return kind.fields_by_name["key"], kind.fields_by_name["value"]


def _type(field: FieldDescriptor) -> ColumnType:
    return "binary" if field.type == FieldDescriptor.TYPE_BYTES else _TYPES[field.cpp_type]


def _of_row(column: Column, field: FieldDescriptor, row: Any) -> object:
    """Return the value of a column: a moment that is never is null."""
    value = getattr(row, field.name)
    if column.moment and column.nullable:
        if not (row.HasField(field.name) if field.has_presence else value):
            return None
        if field.message_type is not None:
            return value.seconds * _NANOSECONDS + value.nanos
    if entry := _entry(field):
        return {key: _shown(entry[1], each) for key, each in sorted(value.items())}
    return _shown(field, value)


def _value(field: FieldDescriptor, value: Any) -> Any:
    if value is None:
        return None
    if entry := _entry(field):
        return {_part(field, entry[0], each): _part(field, entry[1], value[each]) for each in value}
    if field.message_type is not None:
        if field.message_type.full_name != _TIMESTAMP or not isinstance(value, int):
            return value
        seconds, nanos = divmod(value, _NANOSECONDS)
        if not _SECONDS[0] <= seconds <= _SECONDS[1]:
            raise Invalid(field.name, "must be of the years 1 to 9999")
        return {"seconds": seconds, "nanos": nanos}
    if field.enum_type is not None:
        words = words_of(field.enum_type)
        if value not in words:
            reason = f"must be null or one of {', '.join(words)}, not {value!r}"
            raise Invalid(field.name, reason)
        return words[value]
    low, high = _RANGES.get(field.cpp_type, (0, 0))
    if high and not low <= value <= high:
        raise Invalid(field.name, f"must be from {low} to {high}, not {value}")
    return value


def _part(field: FieldDescriptor, part: FieldDescriptor, value: Any) -> Any:
    """Return a key or a value of a map as the message takes it."""
    if value is None:
        raise Invalid(field.name, f"has a {part.name} that is null")
    try:
        return _value(part, value)
    except Invalid as error:
        raise Invalid(field.name, f"has a {part.name} that {error.reason}") from None


def _shown(field: FieldDescriptor, value: Any) -> object:
    if field.enum_type is not None:
        found = {number: word for word, number in words_of(field.enum_type).items()}
        return found.get(value)
    return value


def _removal(binding: Binding, item: type[Message]) -> Callable[[bytes, int], Message]:
    names = binding.resource.key

    def to_item(key: bytes, revision: int) -> Message:
        parts: dict[str, Any] = dict(zip(names, keys.unpack(key), strict=True))
        return item(**parts, expected_revision=revision)

    return to_item

"""The table of a resource's rows, for Spark: a column a field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeVar

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from quorate.plugin import keys
from quorate.plugin.declarations import Column, Removal, Table
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
_LARGEST: Final = (1 << 63) - 1
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
    if any(each.message_type is not None or is_repeated(each) for each in fields):
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
        return tuple(_shown(each, getattr(row, each.name)) for each in fields)

    removal = None
    if delete is not None and delete.item is not None and delete.has(EXPECTED):
        removal = Removal(delete=delete.command, to_item=_removal(binding, delete.item))
    return Table(
        family=resource.family,
        columns=tuple(
            Column(
                name=each.name,
                type="binary" if each.type == FieldDescriptor.TYPE_BYTES else _TYPES[each.cpp_type],
                nullable=each.name not in resource.key,
            )
            for each in fields
        ),
        key=resource.key,
        write=put.command,
        to_item=to_item,
        from_row=from_row,
        to_key=keys.pack,
        to_insert=to_item if create is not None and create.item is resource.row else None,
        removal=removal,
        plain=True,
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


def _value(field: FieldDescriptor, value: Any) -> Any:
    if value is None:
        return None
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

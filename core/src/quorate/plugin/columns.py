"""Reads the items of a batch field by field, each field of all items in one pass.

Each access to an item of a repeated field makes an object, which takes longer than to read what is
in it. So the bytes of a batch are parsed as another message, in which all items are one, and each
field is repeated: a message that comes several times where there is one is merged, and what repeats
in it is appended.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

if TYPE_CHECKING:
    from google.protobuf.message import Message


class BatchColumns:
    """The fields of the items of a kind of batch, to be declared once."""

    def __init__(self, batch: type[Message], field: str) -> None:
        """Read the items in a repeated field; those of their fields that repeat are no columns."""
        self._field: Final = field
        items: Any = batch.DESCRIPTOR.fields_by_name[field]
        self._items: Final = items
        #: What an item has that does not have a field.
        self._defaults: Final[dict[str, Any]] = {
            each.name: each.default_value for each in items.message_type.fields
        }

    def read(self, batch: Message) -> ReadColumns:
        """Return the columns of a batch."""
        # What was parsed and is serialized again has each field of an item once at most. A list of
        # numbers where an item has one is unknown to the item, and may be taken for its number.
        merged = self._merged.FromString(batch.SerializeToString()).items
        return ReadColumns(merged, getattr(batch, self._field), self._defaults)

    @cached_property
    def _merged(self) -> Any:
        """The message of which a batch is parsed."""
        # Clients declare batches too, and read none.
        from google.protobuf.descriptor_pb2 import (
            DescriptorProto,
            FieldDescriptorProto as Field,
            FileDescriptorProto,
        )

        # What has another message or enum as its type is read as another type of the same form.
        alike = {Field.TYPE_MESSAGE: Field.TYPE_BYTES, Field.TYPE_ENUM: Field.TYPE_INT32}
        declared = DescriptorProto()
        self._items.message_type.CopyToProto(declared)
        file = FileDescriptorProto(name="columns.proto", syntax="proto3")
        items, whole = file.message_type.add(name="Items"), file.message_type.add(name="Batch")
        for each in declared.field:
            if each.label != Field.LABEL_REPEATED:
                kind = alike.get(each.type, each.type)
                items.field.add(
                    name=each.name, number=each.number, type=kind, label=Field.LABEL_REPEATED
                )
        whole.field.add(
            name="items",
            number=self._items.number,
            type=Field.TYPE_MESSAGE,
            type_name=".Items",
            label=Field.LABEL_OPTIONAL,
        )
        pool = DescriptorPool()
        pool.AddSerializedFile(file.SerializeToString())
        return GetMessageClass(pool.FindMessageTypeByName("Batch"))


class ReadColumns:
    """The items of a batch, field by field."""

    __slots__ = ("_defaults", "_items", "_merged")

    def __init__(self, merged: Any, items: Sequence[Any], defaults: dict[str, Any]) -> None:
        self._merged: Final = merged
        self._items: Final = items
        self._defaults: Final = defaults

    def values(self, field: str) -> list[Any]:
        """Return a field of each item, in their order."""
        found = getattr(self._merged, field)
        if len(found) == len(self._items):
            return list(found)
        if not found:
            return [self._defaults[field]] * len(self._items)
        return [getattr(item, field) for item in self._items]

    def have(self, field: str) -> list[bool]:
        """Return for each item whether it has a field: a message, or an optional one."""
        if not self.any_has(field):
            return [False] * len(self._items)
        return [item.HasField(field) for item in self._items]

    def all_have(self, *fields: str) -> bool:
        """Whether each item has all of these fields: one that is not optional has no default."""
        count = len(self._items)
        return all(len(getattr(self._merged, each)) == count for each in fields)

    def any_has(self, *fields: str) -> bool:
        """Whether an item has one of these fields: one that is not optional has no default."""
        return any(getattr(self._merged, each) for each in fields)

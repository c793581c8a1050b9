"""Services that are written down in the test, as a `.proto` file would declare them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp
from quorate.v1 import batch_pb2, rows_pb2

_packages = count(1)
_SCALARS = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "bool": FieldDescriptorProto.TYPE_BOOL,
}
_KNOWN = {
    "BatchReply": batch_pb2.BatchReply.DESCRIPTOR.full_name,
    "RowCount": rows_pb2.RowCount.DESCRIPTOR.full_name,
    "FieldMask": FieldMask.DESCRIPTOR.full_name,
    "Timestamp": Timestamp.DESCRIPTOR.full_name,
}


class Proto:
    """The messages of a package of its own, by name, and its service."""

    def __init__(self, text: str) -> None:
        package = f"acme{next(_packages)}.v1"
        file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
        file.dependency.extend(
            each.DESCRIPTOR.file.name
            for each in (batch_pb2.BatchReply, rows_pb2.RowCount, FieldMask, Timestamp)
        )
        names = re.findall(r"^(\w+):", text, re.MULTILINE)

        def full(name: str) -> str:
            return f".{_KNOWN.get(name) or f'{package}.{name}'}"

        for name, fields in re.findall(r"^(\w+): *(.*)$", text, re.MULTILINE):
            message = file.message_type.add(name=name)
            for number, each in enumerate(filter(None, fields.split(", ")), start=1):
                *label, kind, field_name = each.split()
                field = message.field.add(name=field_name, number=number)
                field.label = (
                    FieldDescriptorProto.LABEL_REPEATED
                    if label
                    else FieldDescriptorProto.LABEL_OPTIONAL
                )
                if label[:1] == ["map"]:
                    entry = message.nested_type.add(name=f"{field_name.capitalize()}Entry")
                    entry.options.map_entry = True
                    entry.field.add(name="key", number=1, type=_SCALARS[label[1]])
                    entry.field.add(name="value", number=2, type=_SCALARS[kind])
                    kind = f"{name}.{entry.name}"
                if kind in _SCALARS:
                    field.type = _SCALARS[kind]
                else:
                    field.type = FieldDescriptorProto.TYPE_MESSAGE
                    field.type_name = full(kind)
        service = file.service.add(name="ThingService")
        for name, takes, stream, gives in re.findall(
            r"^rpc (\w+)\((\w+)\) (stream )?(\w+)$", text, re.MULTILINE
        ):
            service.method.add(
                name=name,
                input_type=full(takes),
                output_type=full(gives),
                server_streaming=bool(stream),
            )
        pool = descriptor_pool.Default()
        pool.AddSerializedFile(file.SerializeToString())
        self.service = pool.FindServiceByName(f"{package}.ThingService")
        self._messages = {
            name: GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in names
        }

    def __getattr__(self, name: str) -> Any:
        return self._messages[name]


@pytest.fixture(scope="session")
def proto() -> Callable[[str], Proto]:
    return Proto

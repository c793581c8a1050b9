"""A plugin for tests: machines, whose rows have every kind of map and moment.

It becomes an installed distribution in a folder of the test, where nodes and Spark find it. Its
`.proto` file is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp
from quorate.plugin import Declaration, RaftGroup, Resource, hookimpl
from quorate.v1 import batch_pb2

_PACKAGE: Final = "fleet.v1"
_STATES: Final = ("STATE_UNSPECIFIED", "STATE_UP", "STATE_DOWN")
_MACHINE: Final = {
    "rack": "string",
    "seen_at_ms": "int64",
    "labels": "string string",
    "counts": "int32 uint64",
    "states": "string State",
    "parts": "string bytes",
    "began_at_us": "int64",
    "due_at_ms": "uint64",
    "ended_at_ms": "optional int64",
    "retired_at_s": "int32",
    "ticked_at_ns": "int64",
    "checked": "Timestamp",
    "blob": "bytes",
}
_SEEN: Final = {"rack": "string", "seen_at_ms": "int64"}
_MESSAGES: Final = {
    "Machine": _MACHINE,
    "PutMachines": {"machines": "repeated Machine"},
    "MachineKey": _SEEN | {"expected_revision": "optional uint64"},
    "DeleteMachines": {"keys": "repeated MachineKey"},
    "ListMachines": {"rack": "string", "page_size": "uint32", "page_token": "bytes"},
    "MachinePage": {"machines": "repeated Machine", "next_page_token": "bytes"},
}
_METHODS: Final = {
    "PutBatch": ("PutMachines", "BatchReply"),
    "DeleteBatch": ("DeleteMachines", "BatchReply"),
    "List": ("ListMachines", "MachinePage"),
}
_KNOWN: Final[dict[str, Any]] = {"BatchReply": batch_pb2.BatchReply, "Timestamp": Timestamp}


def _type(field: FieldDescriptorProto, kind: str) -> None:
    if kind[0].islower():
        field.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
        return
    field.type = FieldDescriptorProto.TYPE_ENUM if kind == "State" else field.TYPE_MESSAGE
    field.type_name = _full(kind)


def _full(name: str) -> str:
    return f".{_KNOWN[name].DESCRIPTOR.full_name if name in _KNOWN else f'{_PACKAGE}.{name}'}"


def _add(message: DescriptorProto, fields: dict[str, str]) -> None:
    for number, (name, kind) in enumerate(fields.items(), start=1):
        field = message.field.add(name=name, number=number, label="LABEL_OPTIONAL")
        label, _, rest = kind.partition(" ")
        if label == "repeated":
            field.label = FieldDescriptorProto.LABEL_REPEATED
        elif label == "optional":
            field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")
        elif rest:
            entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
            entry.options.map_entry = True
            _add(entry, {"key": label, "value": rest})
            field.label = FieldDescriptorProto.LABEL_REPEATED
            kind = f"{message.name}.{entry.name}"
        _type(field, kind.split()[-1])


def _file() -> FileDescriptorProto:
    file = FileDescriptorProto(name="fleet.proto", package=_PACKAGE, syntax="proto3")
    file.dependency.extend(each.DESCRIPTOR.file.name for each in _KNOWN.values())
    states = file.enum_type.add(name="State")
    for number, state in enumerate(_STATES):
        states.value.add(name=state, number=number)
    for name, fields in _MESSAGES.items():
        _add(file.message_type.add(name=name), fields)
    service = file.service.add(name="MachineService")
    for name, (takes, gives) in _METHODS.items():
        service.method.add(name=name, input_type=_full(takes), output_type=_full(gives))
    return file


_POOL: Final = descriptor_pool.Default()
_POOL.AddSerializedFile(_file().SerializeToString())
Machine: Final[Any] = GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.Machine"))
PutMachines: Final[Any] = GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.PutMachines"))
MACHINES: Final = Resource(
    family="fleet.machines",
    group="fleet",
    row=Machine,
    service=_POOL.FindServiceByName(f"{_PACKAGE}.MachineService"),
    key=("rack", "seen_at_ms"),
    shard_by=("rack",),
    examples=(Machine(rack="a", seen_at_ms=1, labels={"zone": "north"}),),
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [RaftGroup(name="fleet", shards=2), MACHINES]

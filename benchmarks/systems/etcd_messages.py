"""The few messages of etcd's API v3 that a load needs, made from their documented field numbers."""

from __future__ import annotations

from typing import Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

_BYTES: Final = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
_BOOL: Final = descriptor_pb2.FieldDescriptorProto.TYPE_BOOL
#: On the wire an enumeration is the same.
_INT64: Final = descriptor_pb2.FieldDescriptorProto.TYPE_INT64
_UINT64: Final = descriptor_pb2.FieldDescriptorProto.TYPE_UINT64
_STRING: Final = descriptor_pb2.FieldDescriptorProto.TYPE_STRING

#: By message and field: the number, and the type; a message by its name, many with a star.
_FIELDS: Final[dict[str, dict[str, tuple[int, int | str]]]] = {
    "ResponseHeader": {"member_id": (2, _UINT64)},
    "KeyValue": {"key": (1, _BYTES), "create_revision": (2, _INT64), "value": (5, _BYTES)},
    "PutRequest": {"key": (1, _BYTES), "value": (2, _BYTES)},
    "PutResponse": {"header": (1, "ResponseHeader")},
    "RangeRequest": {"key": (1, _BYTES)},
    "RangeResponse": {"header": (1, "ResponseHeader"), "kvs": (2, "*KeyValue")},
    "RequestOp": {"request_range": (1, "RangeRequest"), "request_put": (2, "PutRequest")},
    "ResponseOp": {"response_range": (1, "RangeResponse"), "response_put": (2, "PutResponse")},
    "Compare": {
        "result": (1, _INT64),
        "target": (2, _INT64),
        "key": (3, _BYTES),
        "create_revision": (5, _INT64),
    },
    "TxnRequest": {"compare": (1, "*Compare"), "success": (2, "*RequestOp")},
    "TxnResponse": {
        "header": (1, "ResponseHeader"),
        "succeeded": (2, _BOOL),
        "responses": (3, "*ResponseOp"),
    },
    "StatusRequest": {},
    "StatusResponse": {
        "header": (1, "ResponseHeader"),
        "version": (2, _STRING),
        "leader": (4, _UINT64),
    },
}

KV: Final = "/etcdserverpb.KV/"
MAINTENANCE: Final = "/etcdserverpb.Maintenance/"


def _made() -> dict[str, type[Message]]:
    file = descriptor_pb2.FileDescriptorProto(
        name="benchmarks/etcd.proto", package="etcdserverpb", syntax="proto3"
    )
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            made = message.field.add(name=field, number=number)
            made.label = made.LABEL_OPTIONAL
            if isinstance(kind, int):
                made.type = descriptor_pb2.FieldDescriptorProto.Type.ValueType(kind)
                continue
            made.type = made.TYPE_MESSAGE
            made.type_name = f".etcdserverpb.{kind.lstrip('*')}"
            if kind.startswith("*"):
                made.label = made.LABEL_REPEATED
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"etcdserverpb.{name}"))
        for name in _FIELDS
    }


#: By name.
MESSAGES: Final = _made()

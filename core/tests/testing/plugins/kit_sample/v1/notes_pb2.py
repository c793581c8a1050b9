"""Stands in for generated code: the same descriptors, built at import."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_F = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "kit_sample.v1"
_MESSAGES = {
    "WriteNote": [("owner", _F.TYPE_STRING), ("text", _F.TYPE_STRING), ("ttl_ms", _F.TYPE_INT64)],
    "WriteNotes": [("notes", "WriteNote")],
    "EraseNote": [("owner", _F.TYPE_STRING)],
    "ExpireNotes": [("keys", [_F.TYPE_BYTES])],
    "Note": [("owner", _F.TYPE_STRING), ("text", _F.TYPE_STRING), ("id", _F.TYPE_UINT64)],
    "ListNotes": [("limit", _F.TYPE_UINT32)],
    "Score": [("value", _F.TYPE_DOUBLE)],
}


def _file():
    file = descriptor_pb2.FileDescriptorProto(
        name="kit_sample/v1/notes.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field_name, kind) in enumerate(fields, start=1):
            field = message.field.add(name=field_name, number=number, label=_F.LABEL_OPTIONAL)
            if isinstance(kind, str):
                field.type, field.type_name = _F.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
                field.label = _F.LABEL_REPEATED
            elif isinstance(kind, list):
                [field.type] = kind
                field.label = _F.LABEL_REPEATED
            else:
                field.type = kind
    return file


DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(_file().SerializeToString())
for _name in _MESSAGES:
    globals()[_name] = message_factory.GetMessageClass(DESCRIPTOR.message_types_by_name[_name])

"""Protobuf: whether messages that are written with some descriptors are read with others."""

from collections.abc import Iterator
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto as Field,
    FileDescriptorSet,
)
from google.protobuf.message import DecodeError

#: Types with the same encoding on the wire; any other type matches only itself.
_ALIKE: Final = (
    {Field.TYPE_INT32, Field.TYPE_INT64, Field.TYPE_UINT32, Field.TYPE_UINT64, Field.TYPE_BOOL}
    | {Field.TYPE_ENUM},
    {Field.TYPE_SINT32, Field.TYPE_SINT64},
    {Field.TYPE_FIXED32, Field.TYPE_SFIXED32},
    {Field.TYPE_FIXED64, Field.TYPE_SFIXED64},
    {Field.TYPE_STRING, Field.TYPE_BYTES},
)
_NAMED: Final = (Field.TYPE_MESSAGE, Field.TYPE_GROUP)


def obstacles(reader: bytes, writer: bytes) -> Iterator[str]:
    """Yield why a reader cannot read the messages of a writer; raises `DecodeError`."""
    read, written = (dict(_messages(each)) for each in (reader, writer))
    for name, message in written.items():
        if name not in read:
            yield f"message {name} is missing"
            continue
        known = {each.number: each for each in read[name].field}
        given = {each.number: each for each in message.field}
        for number, field in given.items():
            if number in known:
                yield from _of_field(f"{name}.{field.name}", known[number], field)
            elif field.label == Field.LABEL_REQUIRED:
                yield f"required field {name}.{field.name} is missing"
        for number, field in known.items():
            if number not in given and field.label == Field.LABEL_REQUIRED:
                yield f"required field {name}.{field.name} is not written"


def _messages(definition: bytes) -> Iterator[tuple[str, DescriptorProto]]:
    files = FileDescriptorSet.FromString(definition).file
    if not any(each.message_type or each.enum_type for each in files):
        raise DecodeError("no messages")
    for file in files:
        for message in file.message_type:
            yield from _nested(file.package, message)


def _nested(around: str, message: DescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
    name = f"{around}.{message.name}".removeprefix(".")
    yield name, message
    for each in message.nested_type:
        yield from _nested(name, each)


def _of_field(name: str, read: Field, written: Field) -> Iterator[str]:
    if _wire(read) != _wire(written):
        yield f"field {name} has another type"
    elif read.type in _NAMED and read.type_name != written.type_name:
        yield f"field {name} is another message"
    repeated = Field.LABEL_REPEATED
    # A single text or message is the last of several; numbers are packed.
    packed = written.label == repeated and read.label != repeated
    if packed and read.type not in (*_NAMED, Field.TYPE_STRING, Field.TYPE_BYTES):
        yield f"field {name} is read as one number, and written as several"


def _wire(field: Field) -> int:
    return next((place for place, each in enumerate(_ALIKE) if field.type in each), -field.type)

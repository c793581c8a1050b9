"""Compares a new version of a schema with the one before, by the rules of each kind.

BACKWARD: the new version reads data written with the one before. FORWARD: the one before reads
data written with the new one. FULL: both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from google.protobuf.message import DecodeError

from quorate.builtin.schema import json_reading, protobuf_reading
from quorate.v1 import schema_pb2 as pb

#: The modes without a check.
UNCHECKED: Final = frozenset({pb.SCHEMA_COMPATIBILITY_UNSPECIFIED, pb.SCHEMA_COMPATIBILITY_NONE})
#: Number of differences that a refusal names.
_NAMED: Final = 5
#: Yields why a reader's definition cannot read data written with a writer's.
Reading = Callable[[bytes, bytes], Iterator[str]]


class UnreadableDefinitionError(ValueError):
    """A definition is invalid for its kind, or cannot be compared on this node."""


def difference(
    kind: pb.SchemaKind, mode: pb.SchemaCompatibility, before: bytes | None, after: bytes
) -> str:
    """Return why a definition must not follow another one, in words; "": it may.

    Without one before, it only has to be valid. Raises `UnreadableDefinitionError`.
    """
    reading = _READINGS[kind]
    found: list[str] = []
    if before is None:
        list(reading(after, after))
    else:
        if mode in (pb.SCHEMA_COMPATIBILITY_BACKWARD, pb.SCHEMA_COMPATIBILITY_FULL):
            found += (f"it cannot read existing data: {each}" for each in reading(after, before))
        if mode in (pb.SCHEMA_COMPATIBILITY_FORWARD, pb.SCHEMA_COMPATIBILITY_FULL):
            found += (f"its data cannot be read: {each}" for each in reading(before, after))
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return "; ".join(found[:_NAMED]) + more


def _avro(reader: bytes, writer: bytes) -> Iterator[str]:
    try:
        from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
        from avro.errors import AvroException
        from avro.schema import parse
    except ImportError:
        raise UnreadableDefinitionError(
            "this node cannot compare Avro schemas: install quorate[schemas] on every node"
        ) from None
    try:
        read, written = parse(reader.decode()), parse(writer.decode())
        result = ReaderWriterCompatibilityChecker().get_compatibility(read, written)
    except (AvroException, ValueError, RecursionError) as error:
        raise UnreadableDefinitionError(f"it is not an Avro schema: {error}") from None
    if result.compatibility is not SchemaCompatibilityType.compatible:
        places = ", ".join(sorted(result.locations))
        yield f"{', '.join(sorted(result.messages))} at {places}"


def _json(reader: bytes, writer: bytes) -> Iterator[str]:
    try:
        yield from json_reading.obstacles(json.loads(reader), json.loads(writer))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableDefinitionError(f"it is not a JSON Schema: {error}") from None


def _protobuf(reader: bytes, writer: bytes) -> Iterator[str]:
    try:
        yield from protobuf_reading.obstacles(reader, writer)
    except DecodeError:
        raise UnreadableDefinitionError(
            "it is not a FileDescriptorSet, as `protoc --include_imports --descriptor_set_out`"
            " writes it: text of a .proto file is not compared"
        ) from None


_READINGS: Final[Mapping[pb.SchemaKind, Reading]] = {
    pb.SCHEMA_KIND_JSON: _json,
    pb.SCHEMA_KIND_AVRO: _avro,
    pb.SCHEMA_KIND_PROTOBUF: _protobuf,
}

"""Whether a definition may follow another one, as Confluent's registry judges it."""

from __future__ import annotations

import json
from asyncio import run
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field, FileDescriptorSet
from quorate.builtin.schema import apply
from quorate.builtin.schema.compatibility import UnreadableDefinitionError, difference
from quorate.plugin import Rejected
from quorate.testing import MemoryNode
from quorate.v1 import schema_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, Tenant

JSON, AVRO, PROTOBUF = pb.SCHEMA_KIND_JSON, pb.SCHEMA_KIND_AVRO, pb.SCHEMA_KIND_PROTOBUF
BACKWARD, FORWARD, FULL = (
    pb.SCHEMA_COMPATIBILITY_BACKWARD,
    pb.SCHEMA_COMPATIBILITY_FORWARD,
    pb.SCHEMA_COMPATIBILITY_FULL,
)


def record(*fields: dict[str, Any]) -> bytes:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields)}).encode()


def closed(required: tuple[str, ...] = (), **properties: Any) -> bytes:
    given = {"type": "object", "additionalProperties": False, "properties": properties}
    return json.dumps({**given, "required": list(required)}).encode()


def message(*fields: tuple[int, str, int], name: str = "M") -> bytes:
    files = FileDescriptorSet()
    made = files.file.add(package="p").message_type.add(name=name)
    for number, field, kind in fields:
        made.field.add(number=number, name=field, type=kind, label=Field.LABEL_OPTIONAL)
    return files.SerializeToString()


INT = {"name": "a", "type": "int"}
ONE_OF = b'{"oneOf": [{"type": "null"}%s]}'
TEXTS = b'{"type": "array", "items": {"type": "string"}}'
TEXT, NUMBER = {"type": "string"}, {"type": "number"}


@pytest.mark.parametrize(
    ("kind", "before", "after", "backward", "forward"),
    [
        (AVRO, record(INT), record(INT, {"name": "b", "type": "string"}), False, True),
        (AVRO, record(INT), record(INT, {"name": "b", "type": "int", "default": 1}), True, True),
        (AVRO, record(INT), record(), True, False),
        (AVRO, record(INT), record({"name": "a", "type": "long"}), True, False),
        (AVRO, b'"string"', b'"int"', False, False),
        (JSON, closed(a=TEXT), closed(a=TEXT, b=NUMBER), True, False),
        (JSON, closed(a=TEXT), closed(("a",), a=TEXT), False, True),
        (JSON, closed(a={"type": "integer"}), closed(a=NUMBER), True, False),
        (JSON, closed(a=TEXT), closed(a={"type": ["string", "null"]}), True, False),
        (JSON, closed(a={"enum": ["x"]}), closed(a={"enum": ["x", "y"]}), True, False),
        (JSON, closed(a={"maxLength": 5}), closed(a={"maxLength": 4}), False, True),
        (
            JSON,
            b'{"type": "array", "items": {"type": "string"}}',
            b'{"type": "array"}',
            True,
            False,
        ),
        (JSON, b'{"properties": {}}', b'{"properties": {"a": {"type": "string"}}}', False, True),
        (JSON, b'{"pattern": "a"}', b'{"pattern": "b"}', False, False),
        (JSON, b'{"title": "a"}', b'{"title": "b"}', True, True),
        (JSON, ONE_OF % b"", ONE_OF % b', {"type": "string"}', True, False),
        (PROTOBUF, message((1, "a", 5)), message((1, "a", 5), (2, "b", 9)), True, True),
        (PROTOBUF, message((1, "a", 5)), message((1, "a", 3)), True, True),
        (PROTOBUF, message((1, "a", 5)), message((1, "a", 9)), False, False),
        (PROTOBUF, message((1, "a", 5)), message((1, "a", 5), name="N"), False, False),
    ],
)
def test_what_may_follow(
    kind: pb.SchemaKind, before: bytes, after: bytes, backward: bool, forward: bool
) -> None:
    assert (difference(kind, BACKWARD, before, after) == "") is backward
    assert (difference(kind, FORWARD, before, after) == "") is forward
    assert (difference(kind, FULL, before, after) == "") is (backward and forward)
    assert difference(kind, FULL, after, after) == ""


@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        (AVRO, b'{"type": "none"}'),
        (AVRO, b"\xff"),
        (JSON, b"{"),
        (JSON, b"[1]"),
        (JSON, b'{"$ref": "http://elsewhere/x"}'),
        (JSON, b'{"$ref": "#"}'),
        (JSON, b"[" * 60_000),
        (JSON, b'{"required": 5}'),
        (JSON, b'{"required": [{}]}'),
        (PROTOBUF, b'syntax = "proto3";'),
        (PROTOBUF, b""),
    ],
)
def test_what_is_no_definition_is_told(kind: pb.SchemaKind, definition: bytes) -> None:
    with pytest.raises(UnreadableDefinitionError):
        difference(kind, FULL, None, definition)


def test_a_definition_that_refers_to_itself_is_compared_once() -> None:
    tree = b'{"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"t": {"$ref": "#/$defs/t"}}}}}'

    assert difference(JSON, FULL, tree, tree) == ""


@pytest.fixture
def node() -> MemoryNode:
    node = MemoryNode(["schema", "tenant"], at_ms=1_000)
    run(node.propose(CreateTenant(name="acme"), Tenant))
    return node


def create(node: MemoryNode, mode: pb.SchemaCompatibility, definition: bytes) -> BatchReply:
    new = pb.CreateSchema(
        tenant="acme", name="order", kind=AVRO, definition=definition, compatibility=mode
    )
    return run(node.propose(pb.CreateSchemas(schemas=[new]), BatchReply))


def refusals(reply: BatchReply) -> list[str]:
    return [each.code for each in reply.refusals]


def test_an_incompatible_version_is_refused_alone(node: MemoryNode) -> None:
    assert refusals(create(node, BACKWARD, record(INT))) == []
    wider = record(INT, {"name": "b", "type": "string"})
    bad = pb.UpdateSchema(tenant="acme", name="order", definition=wider)
    new = pb.PutSchema(tenant="acme", name="free", kind=AVRO, definition=b"anything")

    assert refusals(run(node.propose(pb.UpdateSchemas(schemas=[bad]), BatchReply))) == [
        "INCOMPATIBLE"
    ]
    put = pb.PutSchema(tenant="acme", name="order", kind=AVRO, definition=wider)
    reply = run(node.propose(pb.PutSchemas(schemas=[put, new]), BatchReply))
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "INCOMPATIBLE")]

    bad.compatibility = pb.SCHEMA_COMPATIBILITY_NONE
    assert refusals(run(node.propose(pb.UpdateSchemas(schemas=[bad]), BatchReply))) == []


def test_without_a_compatibility_definitions_are_not_looked_into(node: MemoryNode) -> None:
    create(node, pb.SCHEMA_COMPATIBILITY_UNSPECIFIED, b"anything")
    other = pb.UpdateSchema(tenant="acme", name="order", definition=b"else")

    assert refusals(run(node.propose(pb.UpdateSchemas(schemas=[other]), BatchReply))) == []


def test_a_first_definition_is_one_of_its_kind(node: MemoryNode) -> None:
    assert refusals(create(node, FULL, b"anything")) == ["INCOMPATIBLE"]


def test_a_verdict_of_a_client_is_dropped(node: MemoryNode) -> None:
    create(node, BACKWARD, record(INT))
    forged = pb.UpdateSchema(tenant="acme", name="order", definition=b'"int"')
    forged.verdict.version, forged.verdict.mode = 1, BACKWARD

    assert refusals(run(node.propose(pb.UpdateSchemas(schemas=[forged]), BatchReply))) == [
        "INCOMPATIBLE"
    ]


def test_what_was_compared_with_an_older_version_is_refused(node: MemoryNode) -> None:
    """Nothing was compared where the command entered at a node of a former release."""
    create(node, BACKWARD, record(INT))
    schema = pb.Schema(tenant="acme", name="order", version=2, compatibility=BACKWARD)
    with pytest.raises(Rejected, match="ABORTED"):
        apply._demand_fitting(schema, pb.SchemaVerdict(version=1, mode=BACKWARD))

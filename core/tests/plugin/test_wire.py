from __future__ import annotations

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from quorate.plugin.wire import breaking_changes, golden_of
from quorate.v1 import batch_pb2

GOLDEN = """
name: "a/v1/a.proto" package: "a.v1" syntax: "proto3"
message_type {
  name: "Note"
  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "size" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "left" number: 3 type: TYPE_BOOL label: LABEL_OPTIONAL oneof_index: 0 }
  oneof_decl { name: "side" }
  nested_type {
    name: "Line"
    field { name: "text" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  }
  reserved_range { start: 7 end: 9 }
}
enum_type {
  name: "Kind"
  value { name: "KIND_UNSPECIFIED" number: 0 }
  value { name: "KIND_LONG" number: 1 }
  reserved_range { start: 5 end: 5 }
}
service {
  name: "NoteService"
  method { name: "Put" input_type: ".a.v1.Note" output_type: ".a.v1.Note" }
}
"""
SIZE = 'field { name: "size" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL }'


def encoded(text: str) -> bytes:
    return golden_of([text_format.Parse(text, FileDescriptorProto())])


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (SIZE, "", "field a.v1.Note.size was removed, and its number 2 is not reserved"),
        (
            SIZE,
            SIZE.replace("INT32", "INT64"),
            "field a.v1.Note number 2 was int32 size and became int64 size",
        ),
        (
            SIZE,
            SIZE.replace("size", "length"),
            "field a.v1.Note number 2 was int32 size and became int32 length",
        ),
        (
            SIZE,
            SIZE.replace("OPTIONAL", "REPEATED"),
            "field a.v1.Note number 2 was int32 size and became repeated int32 size",
        ),
        (
            SIZE,
            SIZE.replace("}", "oneof_index: 0 }"),
            "field a.v1.Note number 2 was int32 size and became oneof side int32 size",
        ),
        (
            SIZE,
            SIZE.replace("}", 'json_name: "len" }'),
            "field a.v1.Note number 2 was int32 size and became int32 size with JSON name 'len'",
        ),
        (
            "number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }\n  }",
            "number: 1 type: TYPE_BYTES label: LABEL_OPTIONAL }\n  }",
            "field a.v1.Note.Line number 1 was string text and became bytes text",
        ),
        ('name: "Line"', 'name: "Row"', "message a.v1.Note.Line was removed"),
        ("start: 7 end: 9", "start: 7 end: 8", "message a.v1.Note no longer reserves 7 to 8"),
        ('name: "Kind"', 'name: "Sort"', "enum a.v1.Kind was removed"),
        ("KIND_LONG", "KIND_WIDE", "value 1 of enum a.v1.Kind was KIND_LONG and became KIND_WIDE"),
        (
            'value { name: "KIND_LONG" number: 1 }',
            "",
            "value KIND_LONG of enum a.v1.Kind was removed, and its number 1 is not reserved",
        ),
        ("start: 5 end: 5", "start: 6 end: 6", "enum a.v1.Kind no longer reserves 5"),
        ('name: "NoteService"', 'name: "Notes"', "service a.v1.NoteService was removed"),
        ('name: "Put"', 'name: "Set"', "method a.v1.NoteService.Put was removed"),
        (
            'output_type: ".a.v1.Note"',
            'output_type: ".a.v1.Note" server_streaming: true',
            "method a.v1.NoteService.Put was (a.v1.Note) returns (a.v1.Note) "
            "and became (a.v1.Note) returns (stream a.v1.Note)",
        ),
    ],
)
def test_a_breaking_change_is_told_in_one_sentence(old: str, new: str, sentence: str) -> None:
    assert GOLDEN.count(old) == 1

    assert breaking_changes(encoded(GOLDEN), encoded(GOLDEN.replace(old, new))) == [sentence]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SIZE, SIZE + 'field { name: "more" number: 4 type: TYPE_BYTES label: LABEL_OPTIONAL }'),
        (SIZE, "reserved_range { start: 2 end: 3 }"),
        ("start: 7 end: 9 }", "start: 7 end: 8 } reserved_range { start: 8 end: 9 }"),
        ('value { name: "KIND_LONG" number: 1 }', "reserved_range { start: 1 end: 1 }"),
        ("number: 1 }\n", 'number: 1 } value { name: "KIND_NEW" number: 2 }\n'),
        ('name: "a/v1/a.proto"', 'name: "a/v1/b.proto"'),
    ],
)
def test_an_addition_or_a_reserved_removal_breaks_nothing(old: str, new: str) -> None:
    assert GOLDEN.count(old) == 1

    assert breaking_changes(encoded(GOLDEN), encoded(GOLDEN.replace(old, new))) == []


def test_every_change_is_told_at_once() -> None:
    changed = GOLDEN.replace(SIZE, "").replace("KIND_LONG", "KIND_WIDE").replace('"Put"', '"Set"')

    assert len(breaking_changes(encoded(GOLDEN), encoded(changed))) == 3


def test_a_golden_holds_each_file_once_in_the_order_of_their_names() -> None:
    later = FileDescriptorProto(name="z/v1/z.proto", package="z.v1")
    files: list[FileDescriptor | FileDescriptorProto] = [later, batch_pb2.DESCRIPTOR, later]

    golden = golden_of(files)

    assert golden == golden_of(reversed(files))
    names = [file.name for file in FileDescriptorSet.FromString(golden).file]
    assert names == ["quorate/v1/batch.proto", "z/v1/z.proto"]


def test_what_protoc_alone_writes_makes_no_difference() -> None:
    from_protoc = FileDescriptorProto.FromString(batch_pb2.DESCRIPTOR.serialized_pb)
    from_protoc.message_type[0].field[0].json_name = "items"
    from_protoc.source_code_info.location.add(leading_comments="said")

    assert golden_of([from_protoc]) == golden_of([batch_pb2.DESCRIPTOR])
    raw = FileDescriptorSet(file=[from_protoc]).SerializeToString()
    assert breaking_changes(raw, golden_of([batch_pb2.DESCRIPTOR])) == []

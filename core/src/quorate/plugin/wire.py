"""Finds breaking changes of `.proto` files by comparing descriptor sets.

A golden descriptor set is the vocabulary of the last release: the messages in logs, on disks and
of clients. Later files may add to it; a removal needs `reserved`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

#: First and last reserved number.
_Range = tuple[int, int]


def golden_of(files: Iterable[FileDescriptor | FileDescriptorProto]) -> bytes:
    """Return the descriptor set of these files, without their imports.

    The bytes are the same whether the files come from protoc or from generated code.
    """
    by_name = {file.name: _plain(file) for file in files}
    return FileDescriptorSet(file=[by_name[name] for name in sorted(by_name)]).SerializeToString(
        deterministic=True
    )


def breaking_changes(golden: bytes, current: bytes) -> list[str]:
    """Return a sentence for everything that the current descriptor set breaks of the golden one.

    Renumbering, renaming, another type, and removal without `reserved` break; additions do not.
    """
    before, now = _Vocabulary(golden), _Vocabulary(current)
    kinds: Iterable[tuple[str, Any, Any, Callable[[str, Any, Any], Iterable[str]]]] = (
        ("message", before.messages, now.messages, _message),
        ("enum", before.enums, now.enums, _enum),
        ("service", before.services, now.services, _service),
    )
    return [
        change
        for kind, declared, kept, changes_of in kinds
        for name, old in declared.items()
        for change in (
            changes_of(name, old, kept[name]) if name in kept else [f"{kind} {name} was removed"]
        )
    ]


class _Vocabulary:
    """The declarations of a descriptor set, by full name."""

    def __init__(self, encoded: bytes) -> None:
        self.messages: Final[dict[str, DescriptorProto]] = {}
        self.enums: Final[dict[str, EnumDescriptorProto]] = {}
        self.services: Final[dict[str, ServiceDescriptorProto]] = {}
        for file in map(_plain, FileDescriptorSet.FromString(encoded).file):
            scope = f"{file.package}." if file.package else ""
            self._add(scope, file.message_type, file.enum_type)
            self.services.update((scope + service.name, service) for service in file.service)

    def _add(
        self, scope: str, messages: Iterable[DescriptorProto], enums: Iterable[EnumDescriptorProto]
    ) -> None:
        self.enums.update((scope + enum.name, enum) for enum in enums)
        for message in messages:
            name = scope + message.name
            self.messages[name] = message
            self._add(f"{name}.", message.nested_type, message.enum_type)


def _message(name: str, old: DescriptorProto, new: DescriptorProto) -> Iterator[str]:
    # The end of a message's reserved range is exclusive.
    reserved = [(each.start, each.end - 1) for each in new.reserved_range]
    fields = {field.number: field for field in new.field}
    for field in old.field:
        successor = fields.get(field.number)
        if successor is None:
            if not _covers(reserved, (field.number, field.number)):
                yield _not_reserved(f"field {name}.{field.name}", field.number)
            continue
        was, became = _shape(old, field), _shape(new, successor)
        if was != became:
            yield f"field {name} number {field.number} was {was} and became {became}"
    ranges = [(each.start, each.end - 1) for each in old.reserved_range]
    yield from _given_up(f"message {name}", ranges, reserved)


def _enum(name: str, old: EnumDescriptorProto, new: EnumDescriptorProto) -> Iterator[str]:
    reserved = [(each.start, each.end) for each in new.reserved_range]
    names = {(value.number, value.name) for value in new.value}
    numbers = {value.number: value.name for value in new.value}
    for value in old.value:
        if (value.number, value.name) in names:
            continue
        if value.number in numbers:
            became = numbers[value.number]
            yield f"value {value.number} of enum {name} was {value.name} and became {became}"
        elif not _covers(reserved, (value.number, value.number)):
            yield _not_reserved(f"value {value.name} of enum {name}", value.number)
    ranges = [(each.start, each.end) for each in old.reserved_range]
    yield from _given_up(f"enum {name}", ranges, reserved)


def _service(name: str, old: ServiceDescriptorProto, new: ServiceDescriptorProto) -> Iterator[str]:
    methods = {method.name: _signature(method) for method in new.method}
    for method in old.method:
        was, became = _signature(method), methods.get(method.name)
        if became is None:
            yield f"method {name}.{method.name} was removed"
        elif was != became:
            yield f"method {name}.{method.name} was {was} and became {became}"


def _shape(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    """Everything about a field that its encoding, its JSON form and its users depend on."""
    words = []
    if field.proto3_optional:
        words.append("optional")
    elif field.HasField("oneof_index"):
        words.append(f"oneof {message.oneof_decl[field.oneof_index].name}")
    elif field.label != FieldDescriptorProto.LABEL_OPTIONAL:
        words.append(FieldDescriptorProto.Label.Name(field.label).removeprefix("LABEL_").lower())
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    words += [field.type_name.removeprefix(".") or kind, field.name]
    if field.default_value:
        words.append(f"with default {field.default_value!r}")
    if field.json_name:
        words.append(f"with JSON name {field.json_name!r}")
    return " ".join(words)


def _signature(method: MethodDescriptorProto) -> str:
    takes, gives = (name.removeprefix(".") for name in (method.input_type, method.output_type))
    return (
        f"({'stream ' * method.client_streaming}{takes}) "
        f"returns ({'stream ' * method.server_streaming}{gives})"
    )


def _covers(ranges: Iterable[_Range], wanted: _Range) -> bool:
    missing, last = wanted
    for start, end in sorted(ranges):
        if start <= missing <= end:
            missing = end + 1
    return missing > last


def _not_reserved(what: str, number: int) -> str:
    return f"{what} was removed, and its number {number} is not reserved"


def _given_up(owner: str, before: Iterable[_Range], now: Iterable[_Range]) -> Iterator[str]:
    kept = list(now)
    for start, end in before:
        if not _covers(kept, (start, end)):
            numbers = str(start) if start == end else f"{start} to {end}"
            yield f"{owner} no longer reserves {numbers}"


def _plain(file: FileDescriptor | FileDescriptorProto) -> FileDescriptorProto:
    """Return a copy without the details that protoc and generated code keep differently."""
    plain = FileDescriptorProto()
    if isinstance(file, FileDescriptorProto):
        plain.CopyFrom(file)
    else:
        plain.ParseFromString(file.serialized_pb)
    plain.ClearField("source_code_info")
    for extension in plain.extension:
        _drop_default_json_name(extension)
    for message in plain.message_type:
        _drop_default_json_names(message)
    return plain


def _drop_default_json_names(message: DescriptorProto) -> None:
    for field in (*message.field, *message.extension):
        _drop_default_json_name(field)
    for nested in message.nested_type:
        _drop_default_json_names(nested)


def _drop_default_json_name(field: FieldDescriptorProto) -> None:
    first, *others = field.name.split("_")
    if field.json_name == first + "".join(word[:1].upper() + word[1:] for word in others):
        field.ClearField("json_name")

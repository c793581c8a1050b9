"""The `.proto` file of a plugin's row classes, with the numbers that the file has had before.

The file keeps the promise: a field has the number that it was first written with, one that goes
is reserved, and one that would get another meaning is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from quorate.plugin.resource.binding import DELETING
from quorate.plugin.rows.plugin import Plugin, RowResource
from quorate.plugin.rows.shapes import (
    MISSING,
    PLAIN,
    Field,
    Misdeclared,
    shape_of,
)
from quorate.plugin.rows.types import Role

_BATCH: Final = "quorate.v1.BatchReply"
_HEAD: Final = """\
// Written by `quorate plugin protos` from the row classes of {module}: change those. It keeps the
// numbers of the fields, so it belongs into the repository.
syntax = "proto3";

package {package};

import "google/protobuf/field_mask.proto";
import "quorate/v1/batch.proto";
import "quorate/v1/rows.proto";
"""
#: The fields of a former state beside its key; the last one holds the row.
NUMBER, WRITTEN, STATE = "number", "written_at_ms", "state"
_FRESH: Final = ("bool stale", "uint64 min_revision")
_PAGING: Final = ("uint32 page_size", "bytes page_token")
_NEXT: Final = "bytes next_page_token"


class Line(NamedTuple):
    """A field of a message, as the file has it."""

    name: str
    wire: str
    #: `path:line` of what it comes from.
    where: str = ""
    meaning: str = ""
    #: Whether rows that were written without it have a meaning.
    may_lack: bool = True


class Known:
    """The messages and enums of the file as it was."""

    def __init__(self, before: FileDescriptorProto | None) -> None:
        file = before or FileDescriptorProto()
        self._package: Final = f".{file.package}."
        self.messages: Final = {each.name: each for each in file.message_type}
        self.enums: Final = {each.name: each for each in file.enum_type}
        self.methods: Final = {
            f"{service.name}.{each.name}" for service in file.service for each in service.method
        }

    def fields(self, message: DescriptorProto) -> dict[str, tuple[int, str]]:
        """Return the number and the type of each field."""
        return {each.name: (each.number, self._wire(message, each)) for each in message.field}

    def _wire(self, message: DescriptorProto, field: FieldDescriptorProto) -> str:
        entry = next(
            (
                each
                for each in message.nested_type
                if each.options.map_entry and field.type_name.endswith(f".{each.name}")
            ),
            None,
        )
        if entry is not None:
            key, value = (self._wire(entry, each) for each in entry.field)
            return f"map<{key}, {value}>"
        kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
        if field.type_name:
            kind = field.type_name.removeprefix(self._package).removeprefix(".")
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            return f"repeated {kind}"
        return f"optional {kind}" if field.proto3_optional else kind


def file_of(app: Plugin, package: str, before: FileDescriptorProto | None) -> str:
    """Return the text of the file; raises `Misdeclared` where it would break what was promised."""
    known = Known(before)
    names: dict[str, Any] = {}
    parts = [_HEAD.format(module=app.module, package=package)]
    bodies: list[str] = []
    for resource in app.resources:
        _check_key(resource, known)
        parts.append(_service(resource))
        for name, lines in messages_of(resource, app.resources):
            said = resource.cls.__doc__ if name == resource.name else None
            bodies.append(_message(name, lines, known, said or ""))
            _claim(names, name, resource.cls)
    for cls in _inner(app.resources):
        _claim(names, cls.__name__, cls)
        if hasattr(cls, "__row_defaults__"):
            bodies.append(_message(cls.__name__, _lines(cls), known, cls.__doc__ or ""))
        else:
            bodies.append(_enum(cls, known))
    # What was a message or an enum stays: logs and older clients hold it.
    bodies += [_kept(each, known) for name, each in known.messages.items() if name not in names]
    for name in known.enums:
        if name not in names:
            raise Misdeclared(f"the choice {name} was removed", "leave it where a row holds it")
    text = "\n".join([*parts, *bodies])
    for method in known.methods:
        service, _, name = method.partition(".")
        if not re.search(rf"service {service} {{[^}}]*rpc {name}\(", text):
            raise Misdeclared(
                f"the method {method} was removed, and clients call it",
                "put it back; before a release that may break, remove it from the .proto file",
            )
    return text


def messages_of(
    resource: RowResource, others: Sequence[RowResource]
) -> Iterator[tuple[str, list[Line]]]:
    """Yield the messages of a resource with their fields."""
    name, many, shape = resource.name, resource.many, resource.shape
    named = list(_of(shape[each] for each in resource.key))
    row = _lines(resource.cls)
    if has_children(resource, others):
        row += _plain(f"int64 {DELETING}")
    yield name, row
    for verb in resource.verbs:
        if verb == "Delete":
            optional = _plain("optional uint64 expected_revision", "bool missing_ok")
            yield f"{name}Deletion", [*named, *optional]
            yield f"Delete{many}", _plain(f"repeated {name}Deletion deletions")
        else:
            mask = ["google.protobuf.FieldMask update_mask"] if verb == "Update" else []
            yield f"{verb}{many}", _plain(f"repeated {name} rows", *mask)
    for own in resource.own_verbs:
        yield f"{name}{own.name}", [*named, *_of(resource.parameters(own).values())]
        yield f"{own.name}{many}", _plain(f"repeated {name}{own.name} items")
    yield f"{name}Key", named
    yield f"Get{many}", _plain(f"repeated {name}Key keys", *_FRESH)
    yield f"List{many}", list(_list_lines(resource))
    yield f"{name}Page", _plain(f"repeated {name} rows", _NEXT)
    if has_children(resource, others):
        yield f"Sweep{many}", _plain("repeated bytes keys")
    if resource.ttl:
        yield f"Expire{many}", _plain("repeated bytes keys")
        yield f"{name}Expired", _plain(f"{name} row")
    if resource.history:
        state = _plain(f"int64 {NUMBER}", f"int64 {WRITTEN}", f"{name} {STATE}")
        yield f"{name}State", [*named, *state]
        yield f"{name}StateKey", [*named, *_plain(f"int64 {NUMBER}")]
        yield f"Get{name}States", _plain(f"repeated {name}StateKey keys")
        yield f"List{name}States", [*named, *_plain(*_PAGING)]
        yield f"{name}StatePage", _plain(f"repeated {name}State rows", _NEXT)


def _plain(*fields: str) -> list[Line]:
    """Return fields that come from no class, each given as `<type> <name>`."""
    return [Line(name, wire) for wire, _, name in (each.rpartition(" ") for each in fields)]


def has_children(resource: RowResource, others: Iterable[RowResource]) -> bool:
    """Return whether rows of others, or former states, belong to those of a resource."""
    return bool(resource.history) or any(each.parent is resource.cls for each in others)


def _check_key(resource: RowResource, known: Known) -> None:
    old = known.messages.get(f"{resource.name}Key")
    had = [] if old is None else [each.name for each in old.field]
    if had and tuple(had) != resource.key:
        at = resource.shape[resource.key[-1]].where if resource.key else resource.name
        raise Misdeclared(
            f"{at}: the key of {resource.name} was {', '.join(had)} and became "
            f"{', '.join(resource.key) or 'nothing'}; rows are found by it",
            "give it back its parts, or declare another resource and move the rows",
        )


def _list_lines(resource: RowResource) -> Iterator[Line]:
    shape, key = resource.shape, resource.key
    yield from _of(shape[name] for name in key[:-1])
    if shape[key[-1]].kind is str:
        yield from _plain("string prefix")
    for each in (*resource.of(Role.FILTER), *resource.conditions):
        asked = shape.get(each) or resource.conditions[each]
        plain = not (asked.many or asked.chosen or asked.nested)
        present = f"optional {asked.wire.removeprefix('optional ')}" if plain else asked.wire
        yield Line(each, present, asked.where)
    yield from _plain(*_PAGING, *_FRESH)


def _service(resource: RowResource) -> str:
    name, many = resource.name, resource.many
    calls = [(verb, f"{verb}{many}", _BATCH) for verb in resource.verbs]
    calls += [(own.name, f"{own.name}{many}", _BATCH) for own in resource.own_verbs]
    calls += [
        ("Get", f"Get{many}", f"{name}Page"),
        ("List", f"List{many}", f"{name}Page"),
        ("Count", f"List{many}", "quorate.v1.RowCount"),
    ]
    text = _service_text(f"{name}Service", calls)
    if resource.history:
        page = f"{name}StatePage"
        text += "\n" + _service_text(
            f"{name}StateService",
            [("Get", f"Get{name}States", page), ("List", f"List{name}States", page)],
        )
    return text


def _service_text(name: str, calls: Iterable[tuple[str, str, str]]) -> str:
    rpcs = [f"  rpc {each}({takes}) returns ({gives});" for each, takes, gives in calls]
    return "\n".join([f"service {name} {{", *rpcs, "}", ""])


def _lines(cls: type) -> list[Line]:
    return list(_of(shape_of(cls).values()))


def _of(fields: Iterable[Field]) -> Iterator[Line]:
    for each in fields:
        may_lack = each.role is not Role.KEY and (each.default is not MISSING or each.optional)
        yield Line(each.name, each.wire, each.where, each.meaning, may_lack)


def _inner(resources: Iterable[RowResource]) -> list[Any]:
    """Return the choices and rows that stand within others, each once."""
    found: dict[Any, None] = {}
    roots = {each.cls for each in resources}
    pending: list[Mapping[str, Field]] = []
    for each in resources:
        pending += [each.shape, each.conditions, *map(each.parameters, each.own_verbs)]
    while pending:
        for kind in (each.kind for each in pending.pop().values()):
            if kind not in PLAIN and kind not in found and kind not in roots:
                found[kind] = None
                if hasattr(kind, "__row_defaults__"):
                    pending.append(shape_of(kind))
    return sorted(found, key=lambda kind: str(kind.__name__))


def _claim(names: dict[str, Any], name: str, cls: type) -> None:
    if name in names:
        raise Misdeclared(
            f"{cls.__module__}.{cls.__qualname__} and {names[name].__qualname__} both need the "
            f"message {name}",
            "rename one of the classes, or a verb",
        )
    names[name] = cls


def _message(name: str, lines: Sequence[Line], known: Known, said: str) -> str:
    old = known.messages.get(name)
    numbers = _numbered(name, lines, known, old)
    out = [f"// {line.strip()}" for line in said.strip().splitlines()[:1]]
    out.append(f"message {name} {{")
    out += _reserved(old, numbers)
    for line in sorted(lines, key=lambda each: numbers[each.name]):
        if line.meaning:
            out.append(f"  // {line.meaning}")
        out.append(f"  {line.wire} {line.name} = {numbers[line.name]};")
    return "\n".join([*out, "}", ""])


def _numbered(
    name: str, lines: Sequence[Line], known: Known, old: DescriptorProto | None
) -> dict[str, int]:
    """Return the numbers of the fields: known ones stay, others follow the highest ever used."""
    before = old or DescriptorProto()
    had, gone = known.fields(before), set(before.reserved_name)
    used = [number for number, _ in had.values()]
    used += [each.end - 1 for each in before.reserved_range]
    wanted = {each.name: each for each in lines}
    lost = {each: held for each, held in had.items() if each not in wanted}
    numbers: dict[str, int] = {}
    following = max(used, default=0) + 1
    for line in lines:
        at = line.where or f"message {name}"
        if line.name in had:
            number, wire = had[line.name]
            if wire != line.wire:
                raise Misdeclared(
                    f"{at}: {name}.{line.name} was {wire} and became {line.wire}; rows and "
                    f"clients hold it as number {number}",
                    "give it back its type, or add a field of another name and move to that",
                )
            numbers[line.name] = number
            continue
        if line.name in gone:
            raise Misdeclared(
                f"{at}: {name}.{line.name} was removed once, and rows may still hold it",
                "give it another name",
            )
        for other, (number, wire) in lost.items():
            if wire == line.wire:
                raise Misdeclared(
                    f"{at}: {name}.{line.name} is new where {other} (number {number}) is gone: "
                    "a renamed field would lose what rows hold",
                    f"name it {other} again; if it is another one, remove {other} in a run of "
                    "`quorate plugin protos` of its own",
                )
        if old is not None and line.where and not line.may_lack:
            raise Misdeclared(
                f"{at}: {name}.{line.name} is new and needs a value, which rows and callers "
                "before it do not give",
                "give it a default, or `| None = None`",
            )
        numbers[line.name] = following
        following += 1
    return numbers


def _reserved(old: DescriptorProto | None, numbers: Mapping[str, int]) -> list[str]:
    if old is None:
        return []
    gone = {each.number: each.name for each in old.field if each.name not in numbers}
    held = [number for each in old.reserved_range for number in range(each.start, each.end)]
    return _reserving({*gone, *held}, {*gone.values(), *old.reserved_name})


def _reserving(numbers: Iterable[int], names: Iterable[str]) -> list[str]:
    quoted = [f'"{name}"' for name in sorted(names)]
    found = (list(map(str, sorted(numbers))), quoted)
    return [f"  reserved {', '.join(each)};" for each in found if each]


def _kept(old: DescriptorProto, known: Known) -> str:
    """Return a message that no class needs any longer: logs and older clients hold it."""
    lines = [Line(name, wire) for name, (_, wire) in known.fields(old).items()]
    return _message(old.name, lines, known, "No longer sent.")


def _enum(cls: Any, known: Known) -> str:
    begin = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).upper()
    now = {f"{begin}_{each.name}": int(each) for each in cls}
    old = known.enums.get(cls.__name__) or EnumDescriptorProto()
    had = {each.name: each.number for each in old.value if each.number}
    was = {number: name for name, number in had.items()}
    held = [n for each in old.reserved_range for n in range(each.start, each.end + 1)]
    for name, number in now.items():
        if was.get(number, name) != name or had.get(name, number) != number or number in held:
            raise Misdeclared(
                f"{cls.__module__}.{cls.__name__}: {number} is {name}, and was "
                f"{was.get(number) or 'removed'}; rows hold the number",
                "give each choice its former number, and a new one a new number",
            )
    if len({*now.values()}) < len(cls.__members__) or not all(each > 0 for each in now.values()):
        raise Misdeclared(
            f"{cls.__module__}.{cls.__name__} uses a number twice, or one below 1",
            "give each choice a number of its own, from 1 on",
        )
    gone = {number: name for name, number in had.items() if name not in now}
    out = [f"enum {cls.__name__} {{"]
    out += _reserving({*held, *gone}, {*old.reserved_name, *gone.values()})
    out.append(f"  {begin}_UNSPECIFIED = 0;")
    out += [f"  {name} = {number};" for name, number in sorted(now.items(), key=lambda e: e[1])]
    return "\n".join([*out, "}", ""])

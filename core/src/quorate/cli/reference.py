"""The reference of a plugin's resources as Markdown, out of declarations and `.proto` files."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import click
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from quorate.cli.exporting import proto_source
from quorate.cli.installed import path_of
from quorate.cli.records import PAGING
from quorate.plugin.declarations import Table
from quorate.plugin.resource import Resource, bind
from quorate.plugin.resource.binding import TOKEN, Binding
from quorate.plugin.singles import is_repeated
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor, MethodDescriptor

    from quorate.cli.installed import InstalledPlugins
    from quorate.plugin.declared import Declared
    from quorate.plugin.discovery import Plugin

_COMMENT: Final = r"//[^\n]*|/\*.*?\*/"
_TEXT: Final = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_TOKEN: Final = re.compile(rf"{_COMMENT}|{_TEXT}|\n\s*\n|[\w.]+|\S", re.DOTALL)
_FRAME: Final = re.compile(r"^\s*(?:///?|/\*+|\*(?!/))|\*+/$", re.MULTILINE)
_NAMED: Final = ("message", "enum", "service", "oneof", "rpc")
_READS: Final = {"List": "page", "Stream": "stream", "Count": "count"}


def reference_of(declared: Declared, plugins: InstalledPlugins) -> str:
    """Return a section for a sound plugin, with one for each of its resources."""
    lines = [f"## `{declared.plugin.name}`"]
    for resource in declared.resources:
        lines += _resource(declared, resource, plugins)
    return "\n".join(lines) + "\n"


def _resource(
    declared: Declared, resource: Resource[Any], plugins: InstalledPlugins
) -> Iterator[str]:
    binding, row = bind(resource), resource.row.DESCRIPTOR
    yield f"\n### `{resource.family}`\n"
    if meaning := _meaning(row, row.file):
        yield f"{meaning}\n"
    yield "| | |\n|---|---|"
    yield from (f"| {name} | {what} |" for name, what in _properties(declared, binding, plugins))
    yield "\n| field | type | meaning |\n|---|---|---|"
    yield from _fields(row, "", (row.full_name,))
    yield "\n| method | verb | form | request | answer | meaning |\n|---|---|---|---|---|---|"
    served, lists = _served(binding), dict[str, list[str]]()
    for method in (each for each in resource.service.methods if each.name in served):
        verb, form = served[method.name]
        request, answer = method.input_type, method.output_type
        meaning = _meaning(method, resource.service.file)
        names = f"`{request.name}` | `{answer.name}`"
        yield f"| `{method.name}` | {verb} | {form} | {names} | {meaning} |"
        if form in _READS.values():
            asked = _code(each.name for each in request.fields if each.name not in PAGING)
            lists.setdefault(asked or "none", []).append(method.name)
    for asked, methods in lists.items():
        yield f"\nConditions of {_code(methods)}: {asked}."


def _properties(
    declared: Declared, binding: Binding, plugins: InstalledPlugins
) -> Iterator[tuple[str, str]]:
    resource = binding.resource
    row = resource.row.DESCRIPTOR
    yield "Noun", binding.noun
    yield "Row", f"`{row.full_name}`"
    if resource.serving.answer is not None:
        answer = resource.serving.answer.DESCRIPTOR
        more = [each.name for each in answer.fields if each.name not in row.fields_by_name]
        yield "Answered as", f"`{answer.full_name}`, with {_code(more)}"
    yield "Service", f"`{resource.service.full_name}`"
    yield "Group", f"`{resource.group}`"
    yield "Key", _code(resource.key)
    yield "Shard key", _code(resource.shard_by) or "constant: one shard has all rows"
    if resource.life.parent is not None:
        yield "Parent", f"`{resource.life.parent.family}`: its rows are deleted with it"
    if resource.tenant:
        ends = "are deleted with it" if resource.life.cascade else "are deleted by the plugin"
        yield "Tenant", f"`{resource.tenant}` has to be there, and its rows {ends}"
    if resource.life.limit:
        if isinstance(resource.life.limit, str):
            yield (
                "Limit",
                f"`{resource.life.limit}` of the tenant is the largest number of its rows",
            )
        else:
            yield "Limit", f"a parent has at most {resource.life.limit} rows"
    if resource.serving.missing != "NOT_FOUND":
        yield "Not there", f"refused with `{resource.serving.missing}`"
    if resource.storage.mirrored:
        yield "Mirrored", "shards of other groups have copies of the rows"
    if resource.storage.counted:
        yield "Counted", "each shard keeps the number of its rows"
    if resource.storage.previous:
        yield "Events", "carry the row as it was before, too"
    if found := _imported(declared.plugin, resource):
        module, name = found
        yield "Python", f"`from {module} import {name}`, then `client.records({name})`"
    words = path_of(declared, resource)
    added = plugins.cli_commands().get(words[0]) if resource.view.cli else None
    own = None if added is None else added[1].load()
    for word in words[1:]:
        own = own.commands.get(word) if isinstance(own, click.Group) else None
    if isinstance(own, click.Group):
        verbs = "|".join(name for name in sorted(own.commands) if not own.commands[name].hidden)
        yield "Command line", f"`quorate {' '.join(words)} {verbs}`".replace("|", r"\|")
    if names := [
        each.name
        for each in declared.extensions
        if isinstance(each.value, Table) and each.value.family == resource.family
    ]:
        yield "Spark", f"table {_code(names)}"


def _fields(message: Any, path: str, within: tuple[str, ...]) -> Iterator[str]:
    """Yield a row of the table for each field, and for each of a message within it."""
    for field in message.fields:
        kind, meaning = field.message_type, _meaning(field, message.file)
        if field.enum_type is not None:
            values = _code(each.name for each in field.enum_type.values if each.number)
            meaning = f"{meaning} One of {values}.".lstrip()
        yield f"| `{path}{field.name}` | `{_type(field)}` | {meaning} |"
        own = kind is not None and kind.file.package == message.file.package
        if own and not is_repeated(field) and kind.full_name not in within:
            yield from _fields(kind, f"{path}{field.name}.", (*within, kind.full_name))


def _type(field: Any) -> str:
    kind = field.message_type or field.enum_type
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return f"map<{', '.join(_type(each) for each in field.message_type.fields)}>"
    # Numbered as in `FieldDescriptorProto.Type`, whose names are those of the language.
    scalars = FieldDescriptorProto.Type
    name = kind.name if kind else scalars.Name(field.type).removeprefix("TYPE_").lower()
    return f"repeated {name}" if is_repeated(field) else str(name)


def _served(binding: Binding) -> Mapping[str, tuple[str, str]]:
    methods = binding.resource.service.methods_by_name
    found = {name: ("its own", _form(methods[name])) for name in binding.own}
    for verb, write in binding.writes.items():
        found |= dict.fromkeys(write.batches, (verb, "batch"))
        found |= dict.fromkeys(write.singles, (verb, "single"))
    for verb, reads in binding.reads.items():
        for read in reads:
            found[read.method] = verb, _READS.get(verb, "batch" if read.many else "single")
    return found


def _form(method: MethodDescriptor) -> str:
    answer = method.output_type
    if TOKEN in answer.fields_by_name:
        return "stream" if method.server_streaming else "page"
    return "batch" if answer.full_name == BatchReply.DESCRIPTOR.full_name else "single"


def _imported(plugin: Plugin, resource: Resource[Any]) -> tuple[str, str] | None:
    """Return the module of the plugin that makes a resource, and its name there."""
    package = plugin.module.__name__.partition(".")[0] if plugin.module else ""
    for path, module in sorted(sys.modules.items()):
        if path.partition(".")[0] == package:
            for name in (name for name, value in vars(module).items() if value is resource):
                if re.search(rf"^{name}\b.* = ", inspect.getsource(module), re.MULTILINE):
                    return path, name
    return None


def _meaning(declared: Any, file: FileDescriptor) -> str:
    said = comment_of(declared, file).replace("|", r"\|")
    # Outside of code, Markdown would take it for HTML.
    return re.sub(r"(`[^`]*`)|<", lambda found: found[1] or r"\<", said)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def comment_of(declared: Any, file: FileDescriptor) -> str:
    """Return the comment of a declaration in its `.proto` file, on one line; "" without one."""
    return _comments(file.name).get(declared.full_name.removeprefix(f"{file.package}."), "")


@cache
def _comments(file: str) -> Mapping[str, str]:
    return comments_in(proto_source(file).decode())


def comments_in(source: str) -> Mapping[str, str]:
    """Return the comments of a `.proto` file by the names of the declarations they describe."""
    found: dict[str, str] = {}
    scopes, words, above, last = list[str](), list[str](), list[str](), ""
    for token in _TOKEN.finditer(source):
        text = token[0]
        if text.startswith(("//", "/*")):
            said = " ".join(_FRAME.sub("", text).split())
            if not source[source.rfind("\n", 0, token.start()) + 1 : token.start()].strip():
                above.append(said)
            elif not words and not found.get(last):
                found[last] = said
        elif text.isspace():
            above.clear()
        elif text in ("{", ";", "}"):
            name = _name(words)
            if name:
                last = ".".join((*filter(None, scopes), name))
                found[last] = " ".join(filter(None, above))
            if text == "{":
                # The fields of a oneof are those of its message.
                scopes.append("" if words[:1] == ["oneof"] else name)
            elif text == "}":
                scopes.pop()
            words.clear()
            above.clear()
        else:
            words.append(text)
    return found


def _name(words: Sequence[str]) -> str:
    """Return the name that a statement declares, or ""; a field's name precedes its number."""
    if words[:1] and words[0] in _NAMED:
        return words[1]
    return words[words.index("=") - 1] if "=" in words else ""

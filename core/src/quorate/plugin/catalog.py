"""Everything that the enabled plugins declare, checked, indexed and frozen."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message
from pydantic import BaseModel

from quorate.plugin.checks import problems_of
from quorate.plugin.declarations import (
    METADATA_GROUP,
    Cache,
    ColumnFamily,
    Command,
    Controller,
    GrpcService,
    Metric,
    Query,
    RaftGroup,
    Timer,
)
from quorate.plugin.declared import Declared, declare
from quorate.plugin.discovery import Plugin
from quorate.plugin.problems import PluginErrors
from quorate.plugin.singles import Singles, singles_of
from quorate.plugin.transaction import Txn

D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How a logged command is applied: all that dispatch needs, in one lookup."""

    group: str
    #: Whose command it is.
    plugin: str
    parse: Callable[[bytes], Message]
    apply: Callable[[Txn, Any], Message | None]
    #: The families that the handler may write: its plugin's own in the group.
    writes: frozenset[str]
    #: The families that it may read: those, and the declared `reads`.
    reads: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The declarations that a node hosts. Built once at boot; the hot path looks names up in it."""

    #: By plugin name, in the order of the names.
    declared: Mapping[str, Declared]
    groups: Mapping[str, RaftGroup]
    families: Mapping[str, ColumnFamily]
    #: By the full name of the message, like `routes` and `queries`.
    commands: Mapping[str, Command[Any]]
    #: By the full name of an item that stands for a batch of one.
    singles: Singles
    routes: Mapping[str, Route]
    queries: Mapping[str, Query[Any]]
    caches: Mapping[str, Cache]
    controllers: Mapping[str, Controller]
    timers: Mapping[str, Timer]
    services: Mapping[str, GrpcService]
    metrics: Mapping[str, Metric]
    #: By extension point, then by the extension's name.
    extensions: Mapping[str, Mapping[str, object]]
    #: By plugin name.
    sections: Mapping[str, type[BaseModel]]

    def fingerprint(self) -> str:
        """Return a digest of the vocabulary that replicas must share.

        It covers plugins, their versions, and the names and fields of their commands, down to
        the messages within.
        """
        digest = hashlib.sha256()
        for name, declared in self.declared.items():
            digest.update(f"{name} {declared.plugin.version}\n".encode())
        for name, command in self.commands.items():
            digest.update(f"{name}\n".encode())
            for field in sorted(_fields(command.message.DESCRIPTOR)):
                digest.update(f" {field}\n".encode())
        return digest.hexdigest()


def build(plugins: Sequence[Plugin]) -> Catalog:
    """Return the frozen catalog of these plugins.

    Raises `PluginErrors` with everything that is wrong with any of them.
    """
    declared = [declare(plugin) for plugin in sorted(plugins, key=lambda plugin: plugin.name)]
    problems = problems_of(declared)
    if problems:
        raise PluginErrors(problems)
    return assemble(declared)


def assemble(declared: Sequence[Declared]) -> Catalog:
    """Index declarations that were found to be without problems."""
    commands = _by_message(command for plugin in declared for command in plugin.commands)
    return Catalog(
        declared=_frozen((plugin.plugin.name, plugin) for plugin in declared),
        groups=_by_name([METADATA_GROUP, *(g for plugin in declared for g in plugin.groups)]),
        families=_by_name(family for plugin in declared for family in plugin.families),
        commands=commands,
        singles=singles_of(commands.values()),
        routes=_frozen(_routes(declared)),
        queries=_by_message(query for plugin in declared for query in plugin.queries),
        caches=_by_name(cache for plugin in declared for cache in plugin.caches),
        controllers=_by_name(c for plugin in declared for c in plugin.controllers),
        timers=_by_name(timer for plugin in declared for timer in plugin.timers),
        services=_frozen((s.full_name, s) for plugin in declared for s in plugin.services),
        metrics=_by_name(metric for plugin in declared for metric in plugin.metrics),
        extensions=_extensions(declared),
        sections=_frozen(
            (plugin.plugin.name, section.model)
            for plugin in declared
            for section in plugin.sections
        ),
    )


def _routes(declared: Sequence[Declared]) -> Iterable[tuple[str, Route]]:
    for plugin in declared:
        families = plugin.families
        for command in plugin.commands:
            own = frozenset(each.name for each in families if each.group == command.group)
            route = Route(
                group=command.group,
                plugin=plugin.plugin.name,
                parse=command.message.FromString,
                apply=command.apply,
                writes=own,
                reads=own.union(command.reads),
            )
            yield command.message.DESCRIPTOR.full_name, route


def _extensions(declared: Sequence[Declared]) -> Mapping[str, Mapping[str, object]]:
    points: Final[dict[str, dict[str, object]]] = {}
    for plugin in declared:
        for extension in plugin.extensions:
            points.setdefault(extension.point, {})[extension.name] = extension.value
    return _frozen((point, _frozen(values.items())) for point, values in points.items())


def _fields(command: Descriptor) -> set[str]:
    """Return the fields of a message and of its inner messages; bytes in the log depend on them."""
    fields: Final[set[str]] = set()
    seen: Final = {command.full_name}
    pending = [command]
    while pending:
        message = pending.pop()
        proto = DescriptorProto()
        message.CopyToProto(proto)
        fields.update(
            f"{message.full_name} {field.number} {field.name} {field.label} {field.type} "
            f"{field.type_name}"
            for field in proto.field
        )
        inner = [field.message_type for field in message.fields if field.message_type is not None]
        pending += [each for each in inner if each.full_name not in seen]
        seen.update(each.full_name for each in inner)
    return fields


def _by_name(items: Iterable[Any]) -> Mapping[str, Any]:
    return _frozen((item.name, item) for item in items)


def _by_message(items: Iterable[Any]) -> Mapping[str, Any]:
    return _frozen((item.message.DESCRIPTOR.full_name, item) for item in items)


def _frozen(pairs: Iterable[tuple[str, D]]) -> Mapping[str, D]:
    """A read-only mapping in the order of its names, so that every node walks it alike."""
    return MappingProxyType(dict(sorted(pairs, key=lambda pair: pair[0])))

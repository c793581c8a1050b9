"""The handlers of a group's commands with their scopes, read once from a catalog."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from google.protobuf.message import Message

from quorate.apply import levels
from quorate.apply.control import SCOPE, ControlRoute
from quorate.apply.scope import Family, Scope
from quorate.apply.slot_ownership import SlotOwnership
from quorate.plugin import Command, Txn
from quorate.plugin.advanced import FENCE_NAMES, FenceNames, FileLoad, Table
from quorate.plugin.catalog import Catalog
from quorate.plugin.fences import prefix_of
from quorate.plugin.slots import slot_of, slots_of

#: The extension point of tables that are loaded and read.
TABLES: Final = "spark.tables"

_NONE: Final[Mapping[str, ControlRoute]] = MappingProxyType({})


class Handler(NamedTuple):
    """The handler of a plugin's command."""

    parse: Callable[[bytes], Message]
    apply: Callable[[Txn, Message], Message | None]
    scope: Scope
    #: As it is declared; None of core's own.
    command: Command[Any] | None = None
    #: Whose it is, and the level of that which it needs.
    feature: str = levels.CORE
    level: int = levels.LOWEST

    def slots(self, message: Message) -> list[int]:
        """Return the slots that a command touches."""
        command = self.command
        assert command is not None
        if command.items is not None:
            return slots_of(map(command.items.shard_key, command.items.get(message)))
        assert command.shard_key is not None
        return [slot_of(command.shard_key(message))]


@dataclass(frozen=True, slots=True)
class Program:
    """The commands and families of a group's shards."""

    #: By the full name of the command's message.
    handlers: Mapping[str, Handler]
    #: Core's own commands, by the full names of their messages: clients cannot send them.
    control: Mapping[str, ControlRoute]
    #: Those that a frozen shard carries out, and those about the files of a set.
    of_frozen: frozenset[str]
    of_files: frozenset[str]
    #: The families of plugins whose rows callers see.
    public: frozenset[str]
    #: The families whose changes are events.
    watched: frozenset[str]
    #: The counted families.
    counted: tuple[str, ...]
    #: The enabled plugins.
    plugins: frozenset[str]
    #: The families of other groups that the shards may mirror.
    mirrored: Mapping[str, Family]
    #: How the rows of a batch command are loaded as files, by the full name of its message.
    file_loads: Mapping[str, FileLoad]
    #: Where rows and deadlines belong.
    ownership: SlotOwnership
    #: What a departure of a family's rows may read and write.
    departures: Mapping[str, Scope]
    #: The level in force of a feature, as far as it is known here.
    in_force: Callable[[str], int]
    #: What the names of fences begin with whose tokens plugins give out.
    fences: tuple[bytes, ...]

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        group: str,
        control: Mapping[str, ControlRoute] = _NONE,
        in_force: Callable[[str], int] | None = None,
    ) -> Self:
        """Return the program of a group; by default all that it can is in force.

        `control` are core's own commands: every shard of a cluster needs them.
        """
        own = [each for each in catalog.families.values() if each.group == group]
        public = frozenset(family.name for family in own if Family.of(family).public)
        handlers = _handlers(catalog, group)
        ownership = SlotOwnership.of(catalog, group, handlers)
        return cls(
            handlers=handlers,
            control=control,
            of_frozen=frozenset(name for name, each in control.items() if each.of_frozen),
            of_files=frozenset(name for name, each in control.items() if each.of_files),
            public=public,
            watched=public.union(SCOPE.writes),
            counted=tuple(family.name for family in own if family.counted),
            plugins=frozenset(catalog.declared),
            mirrored=mirrored(catalog, group),
            file_loads=file_loads(catalog),
            ownership=ownership,
            departures={
                name: Scope.of_plugin(catalog, name.partition(".")[0])
                for name in ownership.departures
            },
            in_force=levels.levels_of(catalog).__getitem__ if in_force is None else in_force,
            fences=tuple(
                prefix_of(each)
                for each in catalog.extensions.get(FENCE_NAMES, {}).values()
                if isinstance(each, FenceNames) and each.given is not None
            ),
        )


def file_loads(catalog: Catalog) -> Mapping[str, FileLoad]:
    """Return how the rows of batch commands are loaded as files, by the commands' names."""
    tables = catalog.extensions.get(TABLES, {}).values()
    return {
        each.write.DESCRIPTOR.full_name: each.files
        for each in tables
        if isinstance(each, Table) and each.files is not None
    }


def _handlers(catalog: Catalog, group: str) -> dict[str, Handler]:
    """Return the handlers of a group; equal scopes are shared."""
    scopes: dict[tuple[frozenset[str], frozenset[str]], Scope] = {}
    handlers = {}
    for name, route in catalog.routes.items():
        if route.group == group:
            named = (route.writes, route.reads)
            if named not in scopes:
                scopes[named] = Scope.of_route(catalog, route)
            command = catalog.commands[name]
            handlers[name] = Handler(
                route.parse, route.apply, scopes[named], command, route.plugin, command.level
            )
    return handlers


def mirrored(catalog: Catalog, group: str) -> Mapping[str, Family]:
    """Return the families of other groups that this group reads."""
    readers = [route for route in catalog.routes.values() if route.group == group]
    names = {name for route in readers for name in route.reads}
    names.update(name for q in catalog.queries.values() if q.group == group for name in q.reads)
    return {
        name: Family.of(catalog.families[name])
        for name in sorted(names)
        if catalog.families[name].mirrored and catalog.families[name].group != group
    }


def families_of(catalog: Catalog, group: str) -> tuple[str, ...]:
    """Return the families of plugins in the shards of a group: its own, and copies."""
    own = {family.name for family in catalog.families.values() if family.group == group}
    return tuple(sorted(own.union(mirrored(catalog, group))))

"""The commands of a group: their handlers, and what each may name, read once from a catalog."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from google.protobuf.message import Message

from quorate.apply import control
from quorate.apply.scope import Family, Scope
from quorate.plugin import Txn
from quorate.plugin.catalog import Catalog


class Handler(NamedTuple):
    """How a command of a plugin is evaluated."""

    parse: Callable[[bytes], Message]
    apply: Callable[[Txn, Message], Message | None]
    scope: Scope


@dataclass(frozen=True, slots=True)
class Program:
    """The vocabulary of one group's shards."""

    #: By the full name of the command's message.
    handlers: Mapping[str, Handler]
    #: The families of which every change is an event.
    watched: frozenset[str]
    #: The families of which the number of rows is kept.
    counted: tuple[str, ...]
    #: The plugins that are served.
    plugins: frozenset[str]
    #: The families of other groups of which the shards may keep copies.
    mirrored: Mapping[str, Family]

    @classmethod
    def of(cls, catalog: Catalog, group: str) -> Self:
        """Return what a catalog says of a group."""
        own = [each for each in catalog.families.values() if each.group == group]
        watched = {family.name for family in own if Family.of(family).public}
        return cls(
            handlers=_handlers(catalog, group),
            watched=frozenset(watched | set(control.SCOPE.writes)),
            counted=tuple(family.name for family in own if family.counted),
            plugins=frozenset(catalog.declared),
            mirrored=mirrored(catalog, group),
        )


def _handlers(catalog: Catalog, group: str) -> dict[str, Handler]:
    """Return the handlers of a group; those that may name the same share one scope."""
    scopes: dict[tuple[frozenset[str], frozenset[str]], Scope] = {}
    handlers = {}
    for name, route in catalog.routes.items():
        if route.group == group:
            named = (route.writes, route.reads)
            if named not in scopes:
                scopes[named] = Scope.of_route(catalog, route)
            handlers[name] = Handler(route.parse, route.apply, scopes[named])
    return handlers


def mirrored(catalog: Catalog, group: str) -> Mapping[str, Family]:
    """Return the families of other groups that handlers and queries of this group read."""
    readers = [route for route in catalog.routes.values() if route.group == group]
    names = {name for route in readers for name in route.reads}
    names.update(name for q in catalog.queries.values() if q.group == group for name in q.reads)
    return {
        name: Family.of(catalog.families[name])
        for name in sorted(names)
        if catalog.families[name].mirrored and catalog.families[name].group != group
    }


def families_of(catalog: Catalog, group: str) -> tuple[str, ...]:
    """Return the families of plugins that the shards of a group keep: its own, and copies."""
    own = {family.name for family in catalog.families.values() if family.group == group}
    return tuple(sorted(own.union(mirrored(catalog, group))))

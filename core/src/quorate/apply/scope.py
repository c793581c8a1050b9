"""The scope of plugin code: its own column families, those that it declares to read, its timers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from quorate.plugin import ColumnFamily, Query
from quorate.plugin.advanced import UndeclaredFamilyError
from quorate.plugin.catalog import Catalog, Route


class Family(NamedTuple):
    """How the shards of a group store a family."""

    name: str
    #: Its rows have their revision, and every change is an event.
    public: bool
    #: Events have the previous value.
    previous: bool = False
    #: The exact number of its rows is stored.
    counted: bool = False

    @classmethod
    def of(cls, declared: ColumnFamily) -> Family:
        """Return how a declared family is stored."""
        return cls(
            declared.name,
            public=declared.row is not None,
            previous=declared.previous,
            counted=declared.counted,
        )


class _Any(dict[str, Family]):
    """Any family, public and counted."""

    def __missing__(self, name: str) -> Family:
        family = self[name] = Family(name, public=True, counted=True)
        return family

    def get(self, name: str, default: Any = None) -> Family:
        """Return the family of any name."""
        return self[name]


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a handler or a query may use; others are refused."""

    writes: Mapping[str, Family]
    reads: Mapping[str, Family]
    #: None: any.
    timers: Collection[str] | None

    @classmethod
    def of_route(cls, catalog: Catalog, route: Route) -> Scope:
        """Return the scope of a handler."""
        timers = (each.name for each in catalog.timers.values() if each.group == route.group)
        return cls(
            _families(catalog, route.writes), _families(catalog, route.reads), frozenset(timers)
        )

    @classmethod
    def of_reads(cls, catalog: Catalog, reads: Iterable[str]) -> Scope:
        """Return a scope to read some families and the deadlines of every timer."""
        return cls({}, _families(catalog, reads), catalog.timers)

    @classmethod
    def of_query(cls, catalog: Catalog, query: Query[Any]) -> Scope:
        """Return the scope of a query: the families of its plugin in its group, and `reads`."""
        own = [
            family.name
            for declared in catalog.declared.values()
            if any(each is query for each in declared.queries)
            for family in declared.families
            if family.group == query.group
        ]
        return cls.of_reads(catalog, [*own, *query.reads])

    @classmethod
    def of_plugin(cls, catalog: Catalog, plugin: str) -> Scope:
        """Return the scope of all handlers of a plugin in any group."""
        declared = catalog.declared[plugin]
        own = [family.name for family in declared.families]
        reads = [name for command in declared.commands for name in command.reads]
        return cls(
            _families(catalog, own),
            _families(catalog, [*own, *reads]),
            frozenset(timer.name for timer in declared.timers),
        )

    def apart(self, families: frozenset[str]) -> bool:
        """Whether none of these families is used."""
        return families.isdisjoint(self.reads) and families.isdisjoint(self.writes)

    def undeclared_read(self, family: str) -> UndeclaredFamilyError:
        """Return the error for a read of a family."""
        return UndeclaredFamilyError(
            f"column family {family} is neither owned by the plugin in this group nor declared "
            f"under reads; declared are {_listed(self.reads)}"
        )

    def undeclared_write(self, family: str) -> UndeclaredFamilyError:
        """Return the error for a write of a family."""
        return UndeclaredFamilyError(
            f"column family {family} is not the plugin's own in this group, so it may not be "
            f"written; its own are {_listed(self.writes)}"
        )

    def check_timer(self, timer: str) -> None:
        """Raise `ValueError` for a timer that the group does not declare."""
        if self.timers is not None and timer not in self.timers:
            raise ValueError(
                f"timer {timer} is not declared in this group; declared are {_listed(self.timers)}"
            )


#: Any name, for unit tests of handlers.
UNLIMITED: Final = Scope(_Any(), _Any(), None)


def _families(catalog: Catalog, names: Iterable[str]) -> Mapping[str, Family]:
    return {name: Family.of(catalog.families[name]) for name in sorted(names)}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"

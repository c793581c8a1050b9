"""What plugin code may name: its own column families, those that it declares to read, timers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from quorate.plugin import ColumnFamily, Query, UndeclaredFamilyError
from quorate.plugin.catalog import Catalog, Route


class Family(NamedTuple):
    """How the rows of a family are kept in the shards of a group."""

    name: str
    #: Its rows carry their revision, and every change of one is an event.
    public: bool
    #: Events carry the value before.
    previous: bool = False
    #: The exact number of its rows is kept.
    counted: bool = False

    @classmethod
    def of(cls, declared: ColumnFamily) -> Family:
        """Return how a declared family is kept."""
        return cls(
            declared.name,
            public=declared.row is not None,
            previous=declared.previous,
            counted=declared.counted,
        )


class _Any(dict[str, Family]):
    """Every family there could be, all of them public and counted."""

    def __missing__(self, name: str) -> Family:
        family = self[name] = Family(name, public=True, counted=True)
        return family

    def get(self, name: str, default: Any = None) -> Family:
        """Return the family of any name."""
        return self[name]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a handler or a query may name; any other name is refused."""

    writes: Mapping[str, Family]
    reads: Mapping[str, Family]
    #: None: any.
    timers: Collection[str] | None

    @classmethod
    def of_route(cls, catalog: Catalog, route: Route) -> Scope:
        """Return what one handler may name."""
        timers = (each.name for each in catalog.timers.values() if each.group == route.group)
        return cls(
            _families(catalog, route.writes), _families(catalog, route.reads), frozenset(timers)
        )

    @classmethod
    def of_reads(cls, catalog: Catalog, reads: Iterable[str]) -> Scope:
        """Return the right to read some families, and the deadlines of every timer."""
        return cls({}, _families(catalog, reads), catalog.timers)

    @classmethod
    def of_query(cls, catalog: Catalog, query: Query[Any]) -> Scope:
        """Return what a query may name: the families of its plugin in its group, and `reads`."""
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
        """Return all that the handlers of a plugin may name, whatever their group."""
        declared = catalog.declared[plugin]
        own = [family.name for family in declared.families]
        reads = [name for route in declared.routes for name in route.reads]
        return cls(
            _families(catalog, own),
            _families(catalog, [*own, *reads]),
            frozenset(timer.name for timer in declared.timers),
        )

    def undeclared_read(self, family: str) -> UndeclaredFamilyError:
        """Return the refusal to read a family."""
        return UndeclaredFamilyError(
            f"column family {family} is neither owned by the plugin in this group nor declared "
            f"under reads; declared are {_listed(self.reads)}"
        )

    def undeclared_write(self, family: str) -> UndeclaredFamilyError:
        """Return the refusal to write a family."""
        return UndeclaredFamilyError(
            f"column family {family} is not the plugin's own in this group, so it may not be "
            f"written; its own are {_listed(self.writes)}"
        )

    def check_timer(self, timer: str) -> None:
        """Raise `ValueError` for a timer that is not declared in the group."""
        if self.timers is not None and timer not in self.timers:
            raise ValueError(
                f"timer {timer} is not declared in this group; declared are {_listed(self.timers)}"
            )


#: Anything may be named: for unit tests of handlers.
UNLIMITED: Final = Scope(_Any(), _Any(), None)


def _families(catalog: Catalog, names: Iterable[str]) -> Mapping[str, Family]:
    return {name: Family.of(catalog.families[name]) for name in sorted(names)}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"

"""What plugin code may name: its own column families, those that it declares to read, timers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quorate.plugin import ColumnFamily, Query, UndeclaredFamilyError
from quorate.plugin.catalog import Catalog, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a handler or a query may name; any other name is refused."""

    writes: frozenset[str]
    reads: frozenset[str]
    families: Mapping[str, ColumnFamily]
    timers: frozenset[str]

    @classmethod
    def of_route(cls, catalog: Catalog, route: Route) -> Scope:
        """Return what one handler may name."""
        timers = (each.name for each in catalog.timers.values() if each.group == route.group)
        return cls(
            writes=route.writes,
            reads=route.reads,
            families=catalog.families,
            timers=frozenset(timers),
        )

    @classmethod
    def of_query(cls, catalog: Catalog, query: Query[Any]) -> Scope:
        """Return what a query may name: the families of its plugin in its group, and `reads`."""
        own = {
            family.name
            for declared in catalog.declared.values()
            if any(each is query for each in declared.queries)
            for family in declared.families
            if family.group == query.group
        }
        return cls(
            writes=frozenset(),
            reads=frozenset(own.union(query.reads)),
            families=catalog.families,
            timers=frozenset(),
        )

    @classmethod
    def of_plugin(cls, catalog: Catalog, plugin: str) -> Scope:
        """Return all that the handlers of a plugin may name, whatever their group."""
        declared = catalog.declared[plugin]
        own = frozenset(family.name for family in declared.families)
        return cls(
            writes=own,
            reads=own.union(*(route.reads for route in declared.routes)),
            families=catalog.families,
            timers=frozenset(timer.name for timer in declared.timers),
        )

    def check_read(self, family: str) -> None:
        """Raise `UndeclaredFamilyError` for a family that may not be read."""
        if family not in self.reads:
            raise UndeclaredFamilyError(
                f"column family {family} is neither owned by the plugin in this group nor declared "
                f"under reads; declared are {_listed(self.reads)}"
            )

    def check_write(self, family: str) -> None:
        """Raise `UndeclaredFamilyError` for a family that may not be written."""
        if family not in self.writes:
            raise UndeclaredFamilyError(
                f"column family {family} is not the plugin's own in this group, so it may not be "
                f"written; its own are {_listed(self.writes)}"
            )

    def check_timer(self, timer: str) -> None:
        """Raise `ValueError` for a timer that is not declared in the group."""
        if timer not in self.timers:
            raise ValueError(
                f"timer {timer} is not declared in this group; declared are {_listed(self.timers)}"
            )


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"

"""Finds a table by its name among what the installed plugins declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.message import Message
from quorate.plugin import ColumnFamily, Command, Items, Table
from quorate.plugin.declared import declare
from quorate.plugin.discovery import installed

from quorate_spark.api import TABLES
from quorate_spark.source.errors import SourceError


@dataclass(frozen=True, kw_only=True)
class FoundTable:
    """A table with what its plugin declares of its rows and commands."""

    name: str
    table: Table
    write: Command[Any]
    #: Of the items of `write`.
    items: Items[Any, Any]
    delete: Command[Any] | None
    #: What the family's rows are.
    row: type[Message]

    @property
    def bare_key(self) -> bool:
        """Whether a key is its only column as it is, and not packed."""
        table = self.table
        [first] = [each for each in table.columns if each.name == table.key[0]]
        return first.type == "binary" and table.to_key(b"k") == b"k"

    @property
    def group(self) -> str:
        """The group whose shards have the rows."""
        return self.write.group


def find(name: str) -> FoundTable:
    """Return a table; raises `SourceError` when no installed plugin has it."""
    found = installed_tables().get(name)
    if found is None:
        known = ", ".join(sorted(installed_tables())) or "none"
        raise SourceError(
            f"there is no table {name!r}: the plugins that are installed here have {known}; "
            "install the plugin that has it, on the driver and on every executor"
        )
    return found


@cache
def installed_tables() -> Mapping[str, FoundTable]:
    """Return the tables of every plugin that is installed and can be used."""
    declared = [declare(plugin) for plugin in installed()]
    commands = {each.message: each for plugin in declared for each in plugin.commands}
    families = {each.name: each for plugin in declared for each in plugin.families}
    tables: dict[str, FoundTable] = {}
    for plugin in declared:
        for extension in plugin.extensions:
            table = extension.value
            if extension.point == TABLES.name and isinstance(table, Table):
                found = _resolved(extension.name, table, families, commands)
                tables[extension.name] = found
    return tables


def _resolved(
    name: str,
    table: Table,
    families: Mapping[str, ColumnFamily],
    commands: Mapping[Any, Command[Any]],
) -> FoundTable:
    write = commands.get(table.write)
    family = families.get(table.family)
    row = None if family is None else family.row
    if row is None or write is None or write.items is None or not write.public:
        raise SourceError(
            f"table {name} cannot be loaded: its plugin declares no family {table.family}, or no "
            f"public batch command {table.write.DESCRIPTOR.full_name}"
        )
    removal = table.removal
    return FoundTable(
        name=name,
        table=table,
        write=write,
        items=write.items,
        delete=None if removal is None else commands[removal.delete],
        row=row,
    )

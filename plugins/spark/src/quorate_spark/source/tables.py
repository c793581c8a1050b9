"""Finds a table by its name among the declarations of the installed plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any

from google.protobuf.message import Message
from quorate.plugin import ColumnFamily, Command, Items
from quorate.plugin.advanced import Removal, Table
from quorate.plugin.declared import Declared, declare
from quorate.plugin.discovery import installed
from quorate.plugin.singles import singles_of
from quorate.plugin.splicing import head

from quorate_spark.api import TABLES
from quorate_spark.source.errors import SourceError, meant


@dataclass(frozen=True, kw_only=True)
class FoundTable:
    """A table with its plugin's declarations of its rows and commands."""

    name: str
    table: Table
    write: Command[Any]
    #: Of the items of `write`.
    items: Items[Any, Any]
    delete: Command[Any] | None
    #: The message of the family's rows.
    row: type[Message]
    #: The declarations of its plugin, and of the plugins that its handlers need.
    declared: Sequence[Declared]

    def command(self, items: Sequence[Message], contents: Sequence[bytes]) -> Message:
        """Return the batch command of some items; `contents` are their serialized forms.

        Parsing these takes a tenth of the time of copying each item.
        """
        field = self._fields.get(items[0].DESCRIPTOR.full_name)
        if field is None:
            made: Message = self.items.make(self.table.write(), items)
            return made
        heads = [head(field, len(content)) for content in contents]
        parts = chain.from_iterable(zip(heads, contents, strict=True))
        return self.table.write.FromString(b"".join(parts))

    @cached_property
    def _fields(self) -> Mapping[str, int]:
        """The numbers of the fields of the command that hold items, by the names of those."""
        fields = self.table.write.DESCRIPTOR.fields_by_name
        return {item: fields[name].number for item, (_, name) in singles_of([self.write]).items()}

    @property
    def bare_key(self) -> bool:
        """Whether a key is its only column as it is, and not packed."""
        table = self.table
        [first] = [each for each in table.columns if each.name == table.key[0]]
        return first.type == "binary" and table.to_key(b"k") == b"k"

    def deletion(self) -> tuple[Removal, Items[Any, Any]]:
        """Return how rows are deleted by their keys; raises `SourceError` where they cannot be."""
        removal = self.table.removal
        if removal is None or self.delete is None or self.delete.items is None:
            raise SourceError(f"rows of {self.name} cannot be deleted: its plugin offers no way")
        return removal, self.delete.items

    @property
    def group(self) -> str:
        """The group of the shards that hold the rows."""
        return self.write.group


@cache
def find(name: str) -> FoundTable:
    """Return a table; raises `SourceError` when no installed plugin has it.

    The plugins are imported whose name its name begins with, and which that one reads; all others
    only when it is not theirs.
    """
    found: FoundTable | None = None
    with suppress(SourceError):
        # Its declarations may need those of another plugin.
        found = _tables_of(_declared_with(name.partition(".")[0])).get(name)
    found = found or installed_tables().get(name)
    if found is None:
        names = installed_tables()
        known = ", ".join(sorted(names)) or "none"
        raise SourceError(
            f"there is no table {name!r}: the plugins that are installed here have {known}; "
            "install the plugin that has it, on the driver and on every executor."
            f"{meant(name, names)}"
        )
    return found


@cache
def installed_tables() -> Mapping[str, FoundTable]:
    """Return the tables of every plugin that is installed and can be used."""
    return _tables_of([declare(plugin) for plugin in installed()])


def _declared_with(plugin: str) -> Sequence[Declared]:
    """Return the declarations of a plugin, and of plugins whose rows it reads."""
    declared: list[Declared] = []
    named, missing = set[str](), {plugin}
    while missing:
        more = [declare(each) for each in installed(missing)]
        declared += more
        named |= missing
        read = {each for plugin in more for command in plugin.commands for each in command.reads}
        read |= {each for plugin in more for query in plugin.queries for each in query.reads}
        missing = {family.partition(".")[0] for family in read} - named
    return declared


def _tables_of(declared: Sequence[Declared]) -> Mapping[str, FoundTable]:
    commands = {each.message: each for plugin in declared for each in plugin.commands}
    families = {each.name: each for plugin in declared for each in plugin.families}
    tables: dict[str, FoundTable] = {}
    for plugin in declared:
        for extension in plugin.extensions:
            table = extension.value
            if extension.point == TABLES.name and isinstance(table, Table):
                found = _resolved(extension.name, table, families, commands, declared)
                tables[extension.name] = found
    return tables


def _resolved(
    name: str,
    table: Table,
    families: Mapping[str, ColumnFamily],
    commands: Mapping[Any, Command[Any]],
    declared: Sequence[Declared],
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
        declared=declared,
    )

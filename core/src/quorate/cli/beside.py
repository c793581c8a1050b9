"""Writes rows as they were at a moment into a running cluster, by the commands of their domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal

from google.protobuf.message import Message

from quorate.apply import slot_set
from quorate.apply.slot_set import SlotSet
from quorate.client.vocabulary import parts_of
from quorate.plugin import CONSTANT_KEY, ColumnFamily, Invalid, Resource, Table, keys
from quorate.plugin.catalog import Catalog
from quorate.plugin.resource import bind
from quorate.plugin.resource.binding import CREATED, EXPECTED, MISSING_OK, UPDATED, Binding
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import SLOTS, slot_of
from quorate.storage.data.shard_data import ShardData
from quorate.storage.families import SLOTS as SLOT_ROWS
from quorate.storage.rows import revision_of, value_of
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from quorate.client import AsyncClient

_TABLES: Final = "spark.tables"
_TENANTS: Final = "tenant.tenants"
_QUOTAS: Final = "tenant.quotas"
#: How many rows are asked to be deleted at a time.
_DELETIONS: Final = 100

Kind = Literal["created", "replaced", "deleted"]
Shards = Mapping[ShardId, ShardData]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which rows are looked at; empty: all."""

    tenant: str = ""
    group: str = ""
    #: Of the group, as it was at the moment.
    slots: frozenset[int] | None = None

    def has(self, family: ColumnFamily, key: bytes) -> bool:
        """Whether a row is among them."""
        if self.slots is not None and _slot(family, key) not in self.slots:
            return False
        if not self.tenant:
            return True
        if family.name in (_TENANTS, _QUOTAS):
            own = (self.tenant,) if family.name == _TENANTS else ("tenant", self.tenant)
            return keys.unpack(key) == own
        return family.place is not None and family.place(key)[0] == self.tenant


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a row of the running cluster; None: there is no such row."""

    key: bytes
    then: bytes | None
    now: bytes | None

    @property
    def kind(self) -> Kind:
        """What it does."""
        if self.then is None:
            return "deleted"
        return "created" if self.now is None else "replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How many rows of a family differ."""

    family: str
    kinds: Mapping[str, int]
    #: Whether its rows can be written from outside.
    writes: bool
    #: Whether they can be deleted.
    deletes: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that the cluster did not take."""

    family: str
    key: bytes
    why: str


class Writer:
    """How rows of one family are made and deleted from outside: as a resource, or by its table."""

    def __init__(self, catalog: Catalog, binding: Binding | None, table: Table | None) -> None:
        put = None if binding is None else binding.writes.get("Put")
        # A table that is only created is worse than a resource that is put.
        self._binding: Final = binding
        self._put: Final = put if binding is not None and _puts_rows(binding) else None
        self._table: Final = None if self._put is not None else table
        self._catalog: Final = catalog

    @property
    def writes(self) -> bool:
        """Whether rows can be written."""
        return self._put is not None or self._table is not None

    @property
    def deletes(self) -> bool:
        """Whether rows can be deleted."""
        removed = self._table is not None and self._table.removal is not None
        return removed or (self._binding is not None and "Delete" in self._binding.writes)

    def item(self, key: bytes, stored: bytes, *, new: bool = False) -> Any:
        """Return the item of a batch that makes a row, or a new one; raises `Invalid`."""
        if self._table is not None:
            insert = self._table.to_insert if new else None
            return (insert or self._table.to_item)(*self._table.from_row(key, value_of(stored)))
        assert self._put is not None
        assert self._put.item is not None
        assert self._binding is not None
        resource = self._binding.resource
        row = resource.row.FromString(value_of(stored))
        kept = {each.name for each in self._put.item.DESCRIPTOR.fields}
        kept -= {CREATED, UPDATED, *resource.internal}
        parts = zip(resource.key, keys.unpack(key), strict=True)
        # A part of the key in a message within the row is there.
        values: dict[str, Any] = {name: part for name, part in parts if "." not in name}
        values |= {each.name: value for each, value in row.ListFields() if each.name in kept}
        return self._put.item(**values)

    def same(self, change: Change) -> bool:
        """Whether one item makes both rows: times, ids and revisions do not count."""
        if change.then is None or change.now is None:
            return False
        if value_of(change.then) == value_of(change.now):
            return True
        try:
            return bool(self.item(change.key, change.then) == self.item(change.key, change.now))
        except Invalid:
            return False

    async def write(self, client: AsyncClient, changes: Sequence[Change]) -> Sequence[str]:
        """Create or replace rows; return why each was refused, or ""."""
        said = [""] * len(changes)
        for new in (True, False):
            items: list[tuple[int, Any]] = []
            for at, change in enumerate(changes):
                if change.then is None or (change.now is None) is not new:
                    continue
                try:
                    item = self.item(change.key, change.then, new=new)
                except Invalid as error:
                    said[at] = str(error)
                    continue
                if EXPECTED in item.DESCRIPTOR.fields_by_name:
                    # What was written meanwhile stays.
                    item.expected_revision = 0 if change.now is None else revision_of(change.now)
                items.append((at, item))
            done = 0
            for part in parts_of(item for _, item in items):
                reply = await client.execute(self._command(part, new=new), BatchReply)
                for refusal in reply.refusals:
                    said[items[done + refusal.item][0]] = refusal.message or refusal.code
                done += len(part)
        return said

    async def delete(self, client: AsyncClient, changes: Sequence[Change]) -> Sequence[str]:
        """Delete rows as they are now; return why each was refused, or ""."""
        removal = None if self._table is None else self._table.removal
        if removal is not None:
            items = [
                removal.to_item(each.key, 0 if each.now is None else revision_of(each.now))
                for each in changes
            ]
            delete = self._catalog.commands[removal.delete.DESCRIPTOR.full_name]
            assert delete.items is not None
            command = delete.items.make(removal.delete(), items)
            reply = await client.execute(command, BatchReply)
        else:
            assert self._binding is not None
            records = client.records(self._binding.resource)
            named = [keys.unpack(each.key) for each in changes]
            reply = await records.delete(named, missing_ok=True)
        said = [""] * len(changes)
        for refusal in reply.refusals:
            said[refusal.item] = refusal.message or refusal.code
        return said

    def _command(self, items: Sequence[Any], *, new: bool) -> Message:
        if self._put is not None:
            assert self._binding is not None
            create = self._binding.writes.get("Create")
            if new and create is not None and create.item is self._put.item:
                return create.of(items)
            return self._put.of(items)
        assert self._table is not None
        write = self._catalog.commands[self._table.write.DESCRIPTOR.full_name]
        assert write.items is not None
        command: Message = write.items.make(self._table.write(), items)
        return command


class Beside:
    """What differs between the cluster as it was at a moment, and as it is now."""

    def __init__(self, catalog: Catalog, then: Shards, now: Shards, selection: Selection) -> None:
        self._then: Final = then
        self._now: Final = now
        self._selection: Final = selection
        tables = catalog.extensions.get(_TABLES, {}).values()
        by_family = {each.family: each for each in tables if isinstance(each, Table)}
        resources: dict[str, Resource[Any]] = {
            each.family: each for plugin in catalog.declared.values() for each in plugin.resources
        }
        bindings = {name: bind(each) for name, each in resources.items()}
        self._writers: Final = {
            name: Writer(catalog, bindings.get(name), by_family.get(name))
            for name in catalog.families
        }
        owners = {_plugin(name) for name, writer in self._writers.items() if writer.writes}
        #: Tenants first: what is theirs is refused without them. Indexes of what can be written are
        #: made by what writes it, and are not looked at.
        self._families: Final = sorted(
            (
                family
                for family in catalog.families.values()
                if (not selection.group or family.group == selection.group)
                and (family.row is not None or _plugin(family.name) not in owners)
            ),
            key=lambda family: (family.name != _TENANTS, family.name),
        )

    def plan(self) -> list[Found]:
        """Return what differs, by family."""
        found = []
        for family in self._families:
            writer = self._writers[family.name]
            kinds = Counter[str](each.kind for each in self._changes(family))
            if kinds:
                found.append(
                    Found(
                        family=family.name,
                        kinds=kinds,
                        writes=writer.writes,
                        deletes=writer.writes and writer.deletes,
                    )
                )
        return found

    async def write(self, client: AsyncClient, *, deletes: bool) -> list[Refused]:
        """Create and replace rows, and delete those that came later; return what was refused.

        Rows that are refused are tried again as long as that helps: they may need others.
        """
        writable = [each for each in self._families if self._writers[each.name].writes]
        refused = await self._until_none(client, writable, deletes=False)
        if deletes:
            deletable = [each for each in writable if self._writers[each.name].deletes]
            refused += await self._until_none(client, deletable[::-1], deletes=True)
        return refused

    async def _until_none(
        self, client: AsyncClient, families: Sequence[ColumnFamily], *, deletes: bool
    ) -> list[Refused]:
        left: dict[ColumnFamily, list[tuple[Change, str]]] = {}
        for family in families:
            wanted = (each for each in self._changes(family) if (each.then is None) is deletes)
            left[family] = await self._tried(client, family, wanted, deletes)
        while (before := sum(map(len, left.values()))) > 0:
            for family, refused in left.items():
                again = iter([change for change, _ in refused])
                left[family] = await self._tried(client, family, again, deletes)
            if sum(map(len, left.values())) == before:
                break
        return [
            Refused(family.name, change.key, why)
            for family, refused in left.items()
            for change, why in refused
        ]

    async def _tried(
        self, client: AsyncClient, family: ColumnFamily, changes: Iterator[Change], deletes: bool
    ) -> list[tuple[Change, str]]:
        writer = self._writers[family.name]
        write: Callable[[AsyncClient, Sequence[Change]], Awaitable[Sequence[str]]]
        write, most = (writer.delete, _DELETIONS) if deletes else (writer.write, 1_000)
        refused: list[tuple[Change, str]] = []
        part: list[Change] = []
        while True:
            change = next(changes, None)
            if change is not None:
                part.append(change)
            if part and (change is None or len(part) == most):
                said = await write(client, part)
                refused += [(each, why) for each, why in zip(part, said, strict=True) if why]
                part = []
            if change is None:
                return refused

    def _changes(self, family: ColumnFamily) -> Iterator[Change]:
        writer = self._writers[family.name]
        for change in _differing(self._rows(self._then, family), self._rows(self._now, family)):
            if not (writer.writes and writer.same(change)):
                yield change

    def _rows(self, shards: Shards, family: ColumnFamily) -> Iterator[tuple[bytes, bytes]]:
        parts = [
            _owned(data, family)
            for shard, data in shards.items()
            if shard.group == family.group and family.name in data.families
        ]
        for key, stored in merge(*parts, key=itemgetter(0)):
            if self._selection.has(family, key):
                yield key, stored


def slots_of(data: ShardData) -> frozenset[int]:
    """Return the slots of a shard."""
    return SlotSet.decode(data.get(SLOT_ROWS, slot_set.KEY)).owned


def _owned(data: ShardData, family: ColumnFamily) -> Iterator[tuple[bytes, bytes]]:
    """Yield rows, but for those that went to another shard and are still to be forgotten."""
    owned = slots_of(data)
    rows = data.iterate(family.name, b"", None)
    if len(owned) == SLOTS:
        return rows
    return ((key, stored) for key, stored in rows if _slot(family, key) in owned)


def _slot(family: ColumnFamily, key: bytes) -> int:
    return slot_of(CONSTANT_KEY if family.shard_key is None else family.shard_key(key))


def _differing(
    then: Iterator[tuple[bytes, bytes]], now: Iterator[tuple[bytes, bytes]]
) -> Iterator[Change]:
    """Yield what differs between rows in the order of their keys."""
    one, other = next(then, None), next(now, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one[0] < other[0]):
            assert one is not None
            yield Change(one[0], one[1], None)
            one = next(then, None)
        elif one is None or other[0] < one[0]:
            yield Change(other[0], None, other[1])
            other = next(now, None)
        else:
            if one[1] != other[1]:
                yield Change(one[0], one[1], other[1])
            one, other = next(then, None), next(now, None)


def _puts_rows(binding: Binding) -> bool:
    """Whether `Put` takes all of a row but what the host and handlers set."""
    put = binding.writes.get("Put")
    if (
        put is None
        or put.item is None
        or put.spec.by_hand
        or any("." in each for each in binding.resource.key)
    ):
        return False
    row: Any = binding.resource.row.DESCRIPTOR.fields_by_name
    known = {*row, *binding.resource.key}
    items: Any = put.item.DESCRIPTOR.fields_by_name
    hidden = {CREATED, UPDATED, *binding.resource.internal, *binding.resource.key}
    return known >= set(items) - {EXPECTED, MISSING_OK} and set(row) - hidden <= set(items)


def _plugin(family: str) -> str:
    return family.partition(".")[0]

"""Writes rows as they were at a moment into a running cluster, by the commands of their domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal

from google.protobuf.field_mask_pb2 import FieldMask

from quorate.apply import slot_set
from quorate.apply.slot_set import SlotSet
from quorate.client.vocabulary import parts_of
from quorate.plugin import ColumnFamily, Invalid, Resource, keys
from quorate.plugin.advanced import CONSTANT_KEY, Table
from quorate.plugin.batches import in_parts
from quorate.plugin.catalog import Catalog
from quorate.plugin.resource import bind
from quorate.plugin.resource.binding import (
    CREATED,
    EXPECTED,
    MISSING_OK,
    UPDATED,
    Binding,
    Write,
)
from quorate.plugin.resource.declaration import Stored
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import SLOTS, slot_of
from quorate.plugin.updates import UPDATE_MASK
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
    """A row at the moment of the backup and in the running cluster; None: no such row."""

    key: bytes
    then: bytes | None
    now: bytes | None

    @property
    def kind(self) -> Kind:
        """The effect of the change on the running cluster."""
        if self.then is None:
            return "deleted"
        return "created" if self.now is None else "replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How many rows of a family differ."""

    family: str
    kinds: Counter[str]
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
    """How rows of one family are made and deleted from outside: as a resource, or by its table.

    `then` and `now` find other rows of both moments.
    """

    def __init__(
        self,
        catalog: Catalog,
        binding: Binding | None,
        table: Table | None,
        then: Stored,
        now: Stored,
    ) -> None:
        # A table that is only created is worse than a resource that is put.
        self._binding: Final = binding
        #: The verbs of the resource; "": no such verb.
        self._make, self._change = _verbs(binding, has_table=table is not None)
        self._table: Final = None if self._make else table
        self._catalog: Final = catalog
        self._then: Final = then
        self._now: Final = now

    @property
    def writes(self) -> bool:
        """Whether rows can be written."""
        return bool(self._make) or self._table is not None

    @property
    def deletes(self) -> bool:
        """Whether rows can be deleted."""
        removed = self._table is not None and self._table.removal is not None
        return removed or (self._binding is not None and "Delete" in self._binding.writes)

    def same(self, change: Change) -> bool:
        """Whether one item makes both rows: times, ids and revisions do not count."""
        if change.then is None or change.now is None:
            return False
        if value_of(change.then) == value_of(change.now) and not self._needs_others:
            return True
        try:
            one = self._item(change.key, change.then, self._then)
            return bool(one == self._item(change.key, change.now, self._now))
        except Invalid:
            return False

    @property
    def _needs_others(self) -> bool:
        """Whether a row can be remade only with the help of other rows."""
        return self._binding is not None and self._binding.resource.view.remake is not None

    def _item(self, key: bytes, stored: bytes, others: Stored, *, new: bool = False) -> Any:
        """Return the item of a batch that makes a row, or a new one; raises `Invalid`."""
        if self._table is not None:
            insert = self._table.to_insert if new else None
            return (insert or self._table.to_item)(*self._table.from_row(key, value_of(stored)))
        assert self._binding is not None
        resource = self._binding.resource
        row = resource.row.FromString(value_of(stored))
        if resource.view.remake is not None:
            return resource.view.remake.item(row, others)
        item = self._binding.writes[self._make if new else self._change].item
        assert item is not None
        kept = {each.name for each in item.DESCRIPTOR.fields}
        kept -= {CREATED, UPDATED, *resource.serving.internal}
        parts = zip(resource.key, keys.unpack(key), strict=True)
        # A part of the key in a message within the row is there.
        values: dict[str, Any] = {name: part for name, part in parts if "." not in name}
        values |= {each.name: value for each, value in row.ListFields() if each.name in kept}
        return item(**values)

    async def write(self, client: AsyncClient, changes: Sequence[Change]) -> Sequence[str]:
        """Create or replace rows; return why each was refused, or ""."""
        said = [""] * len(changes)
        for new in (True, False):
            items: list[tuple[int, Any]] = []
            for at, change in enumerate(changes):
                if change.then is None or (change.now is None) is not new:
                    continue
                try:
                    item = self._item(change.key, change.then, self._then, new=new)
                except Invalid as error:
                    said[at] = str(error)
                    continue
                if EXPECTED in item.DESCRIPTOR.fields_by_name:
                    # Rows written meanwhile stay.
                    item.expected_revision = 0 if change.now is None else revision_of(change.now)
                items.append((at, item))
            done = 0
            for part in parts_of(item for _, item in items):
                reply = await self._send(client, part, new=new)
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

    async def _send(self, client: AsyncClient, items: Sequence[Any], *, new: bool) -> BatchReply:
        if self._table is not None:
            write = self._catalog.commands[self._table.write.DESCRIPTOR.full_name]
            assert write.items is not None
            return await client.execute(write.items.make(self._table.write(), items), BatchReply)
        assert self._binding is not None
        verb, mask = self._make if new else self._change, None
        if verb == "Update":
            # The mask has empty fields, too: they were empty in the row.
            kept = set(items[0].DESCRIPTOR.fields_by_name) - {UPDATE_MASK, *self._binding.fixed}
            mask = FieldMask(paths=sorted(kept))
        records = client.records(self._binding.resource)
        return await records.do(verb, items, mask=mask)


class Beside:
    """The differences between the cluster at a moment and the running one."""

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
        before, after = _finding(catalog, then), _finding(catalog, now)
        self._writers: Final = {
            name: Writer(catalog, bindings.get(name), by_family.get(name), before, after)
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
        """Return the differences by family."""
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
        """Create and replace rows, and delete later ones; return the refused rows.

        Refused rows are retried while that makes progress: they may need other rows.
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
                again = [change for change, _ in refused]
                left[family] = await self._tried(client, family, again, deletes)
            if sum(map(len, left.values())) == before:
                break
        return [
            Refused(family.name, change.key, why)
            for family, refused in left.items()
            for change, why in refused
        ]

    async def _tried(
        self, client: AsyncClient, family: ColumnFamily, changes: Iterable[Change], deletes: bool
    ) -> list[tuple[Change, str]]:
        writer = self._writers[family.name]
        write: Callable[[AsyncClient, Sequence[Change]], Awaitable[Sequence[str]]]
        write, most = (writer.delete, _DELETIONS) if deletes else (writer.write, 1_000)
        refused: list[tuple[Change, str]] = []
        for part in in_parts(changes, most):
            said = await write(client, part)
            refused += [(each, why) for each, why in zip(part, said, strict=True) if why]
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
    """Yield the rows of a family, except rows that moved to another shard and await deletion."""
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
    both = merge(((key, 0, row) for key, row in then), ((key, 1, row) for key, row in now))
    for key, found in groupby(both, key=itemgetter(0)):
        rows = {moment: row for _, moment, row in found}
        if rows.get(0) != rows.get(1):
            yield Change(key, rows.get(0), rows.get(1))


def _finding(catalog: Catalog, shards: Shards) -> Stored:
    """Return a function that finds the value of a row by its family and key."""
    owned = {shard: slots_of(data) for shard, data in shards.items()}

    def find(name: str, key: bytes) -> bytes | None:
        family = catalog.families[name]
        slot = _slot(family, key)
        for shard, data in shards.items():
            # Others may have rows that went to the owner of the slot.
            if shard.group == family.group and name in data.families and slot in owned[shard]:
                stored = data.get(name, key)
                if stored is not None:
                    return value_of(stored)
        return None

    return find


def _verbs(binding: Binding | None, *, has_table: bool) -> tuple[str, str]:
    """Return the verbs that make a new row and replace one; "": no such verb."""
    if binding is None:
        return "", ""
    if binding.resource.view.remake is not None:
        return (binding.resource.view.remake.verb,) * 2
    create, put = binding.writes.get("Create"), binding.writes.get("Put")
    if put is not None and _takes_rows(binding, put):
        return "Create" if create is not None and create.item is put.item else "Put", "Put"
    update = binding.writes.get("Update")
    # A row that is created and never updated belongs to a live client.
    if has_table or create is None or update is None:
        return "", ""
    takes = _takes_rows(binding, create) and _takes_rows(binding, update)
    return ("Create", "Update") if takes else ("", "")


def _takes_rows(binding: Binding, write: Write) -> bool:
    """Whether a verb takes all fields of a row, except those the host and handlers set."""
    if (
        write.item is None
        or write.spec.admission.by_hand
        or any("." in each for each in binding.resource.key)
    ):
        return False
    row: Any = binding.resource.row.DESCRIPTOR.fields_by_name
    known = {*row, *binding.resource.key, EXPECTED, MISSING_OK, UPDATE_MASK}
    items = set(write.item.DESCRIPTOR.fields_by_name)
    hidden = {CREATED, UPDATED, *binding.resource.serving.internal, *binding.resource.key}
    return known >= items and set(row) - hidden <= items


def _plugin(family: str) -> str:
    return family.partition(".")[0]

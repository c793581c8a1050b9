"""What rows belong to: their tenant and their parents, which must exist and bound their number."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from quorate.plugin import keys
from quorate.plugin.outcomes import Rejected
from quorate.plugin.resource.binding import DELETING, Binding, bind, packer
from quorate.plugin.resource.tenants import TENANTS, limit_of, tenant_there
from quorate.plugin.transaction import Txn
from quorate.v1.rows_pb2 import RowCount
from quorate.v1.tenant_pb2 import Tenant

#: The reason for exceeding a limit of rows.
LIMIT_REACHED: Final = "LIMIT_REACHED"


def counts_family(family: str) -> str:
    """Return the private family that holds how many rows each owner has."""
    return f"{family}_of_tenants"


class Owners:
    """The owners of one command's items, each looked at once, and how many rows they have."""

    def __init__(self, binding: Binding, txn: Txn) -> None:
        self._resource: Final = binding.resource
        self._binding: Final = binding
        self._tenant_field: Final = binding.resource.tenant
        self._counts: Final = counts_family(binding.resource.family)
        self._txn: Final = txn
        self._tenants: Final[dict[str, Any]] = {}
        self._parents: Final[dict[bytes, Rejected | None]] = {}
        self._rows: Final[dict[bytes, int]] = {}

    def accept(self, item: Any) -> None:
        """Refuse a row of a tenant or a parent that is not there or is being deleted."""
        if self._tenant_field:
            name = getattr(item, self._tenant_field)
            if type(self._tenants.get(name)) is not Tenant:
                self._tenant(name)
        if self._resource.life.parent is None:
            return
        for binding, key_of in self._above:
            key = key_of(item)
            if key not in self._parents:
                direct = binding.resource is self._resource.life.parent
                self._parents[key] = _parent_fault(self._txn, binding, key, direct=direct)
            refusal = self._parents[key]
            if refusal is not None:
                raise Rejected(refusal.code, refusal.message)

    def add(self, item: Any) -> None:
        """Count a new row; refuse it at the limit."""
        resource = self._resource
        if not resource.life.limit:
            return
        noun = f"{self._binding.noun}s"
        if isinstance(resource.life.limit, str):
            name = getattr(item, resource.tenant)
            key, owner = keys.pack(name), f"tenant {name}"
            most = limit_of(self._tenant(name), resource.life.limit)
            noun = f"{noun} ({resource.life.limit})"
        else:
            above, key_of = self._above[0]
            key, most = key_of(item), resource.life.limit
            owner = f"{above.noun} {_shown(key)}"
        count = self._count(key)
        if most is not None and count >= most:
            if resource.tenant:
                self._txn.refresh(TENANTS)
            raise Rejected(LIMIT_REACHED, f"{owner} has {count} of its {most} {noun}")
        self._rows[key] = count + 1

    def remove(self, key: bytes) -> None:
        """Count a row less, by its key."""
        if self._resource.life.limit:
            named = isinstance(self._resource.life.limit, str)
            count = 1 if named else len(self._above[0][0].resource.key)
            owner = keys.pack(*keys.unpack(key)[:count])
            self._rows[owner] = max(0, self._count(owner) - 1)

    def store(self) -> None:
        """Write the counts."""
        for key, count in self._rows.items():
            if count:
                value = RowCount(count=count).SerializeToString(deterministic=True)
                self._txn.put(self._counts, key, value)
            else:
                self._txn.delete(self._counts, key)

    @cached_property
    def _above(self) -> list[tuple[Binding, Callable[[Any], bytes]]]:
        """The parent, its own, and so on, each with its key's part of an item's."""
        found = []
        above = self._resource.life.parent
        while above is not None:
            names = self._resource.key[: len(above.key)]
            found.append((bind(above), packer(names)))
            above = above.life.parent
        return found

    def _tenant(self, name: str) -> Any:
        found = self._tenants.get(name)
        if found is None:
            try:
                found = tenant_there(self._txn, name)
            except Rejected as refusal:
                found = refusal
            self._tenants[name] = found
        if isinstance(found, Rejected):
            raise Rejected(found.code, found.message)
        return found

    def _count(self, key: bytes) -> int:
        found = self._rows.get(key)
        if found is None:
            stored = self._txn.get(self._counts, key)
            found = 0 if stored is None else RowCount.FromString(stored).count
        return found


def deleting(row: Any) -> bool:
    """Return whether a row is being deleted with what belongs to it."""
    return bool(getattr(row, DELETING, 0))


def refuse_deleting(binding: Binding, row: Any) -> None:
    """Refuse to change a row that is being deleted with what belongs to it."""
    if binding.resource.life.sweep is not None and deleting(row):
        raise Rejected(
            "FAILED_PRECONDITION",
            f"{binding.noun} {binding.named(row)} is being deleted: it takes nothing",
        )


def _parent_fault(txn: Txn, binding: Binding, key: bytes, *, direct: bool) -> Rejected | None:
    stored = txn.get(binding.resource.family, key)
    named = f"{binding.noun} {_shown(key)}"
    if stored is None:
        # What is further up has a row in between, which is deleted before it.
        missing = Rejected(binding.resource.serving.missing, f"there is no {named}: create it")
        return missing if direct else None
    if deleting(binding.resource.row.FromString(stored)):
        reason = f"{named} is being deleted: it takes nothing"
        return Rejected("FAILED_PRECONDITION", reason)
    return None


def _shown(key: bytes) -> str:
    return " of ".join(str(part) for part in reversed(keys.unpack(key)))

"""Rows that end: with what belongs to them, in steps, and when their time is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from quorate.plugin import keys
from quorate.plugin.batches import still_due
from quorate.plugin.resource.binding import DELETING, Binding
from quorate.plugin.resource.declaration import Resource
from quorate.plugin.resource.owners import Owners, deleting
from quorate.plugin.transaction import Txn
from quorate.v1.batch_pb2 import BatchReply

#: Rows that belong to deleted ones and go with them in one command; the others follow in steps.
AT_ONCE: Final = 1_000

Beneath = Mapping[str, Sequence[Binding]]


def deletion_timer(family: str) -> str:
    """Return the timer of rows that are being deleted in steps."""
    return f"{family}_deletion"


def life_timer(family: str) -> str:
    """Return the timer of rows that live for some time."""
    return f"{family}_life"


def beneath(bindings: Sequence[Binding]) -> Beneath:
    """Return, by family, the resources whose rows belong to its rows, the last of a line first."""
    found: dict[str, list[Binding]] = {}
    for binding in bindings:
        above: Resource[Any] | None = binding.resource.life.parent
        while above is not None:
            found.setdefault(above.family, []).append(binding)
            above = above.life.parent
    return {
        family: sorted(rows, key=lambda each: -_depth(each.resource))
        for family, rows in found.items()
    }


class Remover:
    """Deletes rows of one resource in one command, with the rows that belong to them."""

    def __init__(
        self,
        binding: Binding,
        txn: Txn,
        below: Sequence[Binding],
        *,
        owners: Owners | None = None,
        shared_by: int = 1,
    ) -> None:
        self._binding: Final = binding
        self._txn: Final = txn
        self._below: Final = below
        #: How many more may go in this command, or with this one of its items.
        self._room = max(1, AT_ONCE // shared_by)
        self._owners: Final[dict[str, Owners]] = (
            {} if owners is None else {binding.resource.family: owners}
        )

    def remove(self, key: bytes, stored: bytes) -> Any:
        """Delete a row; return it marked, to be written, while others have to go before it."""
        if not self._clear(key):
            row: Any = self._binding.resource.row.FromString(stored)
            if not deleting(row):
                setattr(row, DELETING, self._txn.proposed_at_ms)
            self._schedule(key, self._txn.proposed_at_ms + 1)
            return row
        if self._below:
            self._schedule(key, None)
        self._erase(self._binding, key, stored)
        return None

    def store(self) -> None:
        """Write how many rows the owners have left."""
        for each in self._owners.values():
            each.store()

    def _clear(self, key: bytes) -> bool:
        """Delete what belongs to a row, as far as there is room; return whether all is gone."""
        start, end = key, key + b"\xff"
        for child in self._below:
            family = child.resource.family
            found = list(self._txn.scan(family, start, end, limit=self._room + 1))
            gone = found[: self._room]
            for row in gone:
                self._erase(child, row.key, row.value)
            self._room -= len(gone)
            if len(found) > len(gone):
                return False
        return True

    def _erase(self, binding: Binding, key: bytes, stored: bytes) -> None:
        resource, txn = binding.resource, self._txn
        if resource.storage.changed is not None:
            resource.storage.changed(txn, resource.row.FromString(stored), None)
        if resource.life.ttl is not None:
            txn.schedule(life_timer(resource.family), key, None)
        owners = self._owners.get(resource.family)
        if owners is None:
            owners = self._owners[resource.family] = Owners(binding, txn)
        owners.remove(key)
        txn.delete(resource.family, key)

    def _schedule(self, key: bytes, at_ms: int | None) -> None:
        self._txn.schedule(deletion_timer(self._binding.resource.family), key, at_ms)


def sweep_of(binding: Binding, below: Sequence[Binding]) -> Callable[[Txn, Any], BatchReply]:
    """Return the handler that goes on with rows that are being deleted."""
    resource, timer = binding.resource, deletion_timer(binding.resource.family)

    def sweep(txn: Txn, command: Any) -> BatchReply:
        remover = Remover(binding, txn, below)
        for key in still_due(txn, timer, command.keys):
            stored = txn.get(resource.family, key)
            if stored is None:
                txn.schedule(timer, key, None)
            else:
                _end(txn, binding, remover, key, stored)
        remover.store()
        return BatchReply(items=len(command.keys))

    return sweep


def expire_of(binding: Binding, below: Sequence[Binding]) -> Callable[[Txn, Any], BatchReply]:
    """Return the handler that ends rows whose time is over, each with an event."""
    resource, timer = binding.resource, life_timer(binding.resource.family)
    event: Any = None if resource.life.ttl is None else resource.life.ttl.expired

    def expire(txn: Txn, command: Any) -> BatchReply:
        remover = Remover(binding, txn, below)
        for key in still_due(txn, timer, command.keys):
            # What cannot go at once is swept.
            txn.schedule(timer, key, None)
            stored = txn.get(resource.family, key)
            row = None if stored is None else resource.row.FromString(stored)
            if stored is None or deleting(row):
                continue
            if event is not None:
                txn.emit(event(row=row))
            _end(txn, binding, remover, key, stored)
        remover.store()
        return BatchReply(items=len(command.keys))

    return expire


def _end(txn: Txn, binding: Binding, remover: Remover, key: bytes, stored: bytes) -> None:
    left = remover.remove(key, stored)
    if left is not None:
        txn.put(binding.resource.family, key, left.SerializeToString(deterministic=True))


def keep_row(txn: Txn, binding: Binding, key: bytes, row: Any) -> None:
    """Restart the time that a row has to live, and keep its state among the former ones."""
    resource = binding.resource
    if resource.life.ttl is not None:
        lives_ms = getattr(row, resource.life.ttl.field)
        at_ms = txn.proposed_at_ms + lives_ms if lives_ms else None
        txn.schedule(life_timer(resource.family), key, at_ms)
    if resource.life.history is not None:
        _keep_state(txn, binding, key, row)


def _keep_state(txn: Txn, binding: Binding, key: bytes, row: Any) -> None:
    """Write a row as its newest state, and delete the one that is too many."""
    history: Any = binding.resource.life.history
    newest = next(txn.scan(history.family, key, key + b"\xff", limit=1, reverse=True), None)
    number = 1 if newest is None else int(keys.unpack(newest.key)[-1]) + 1
    parts = dict(zip(binding.resource.key, keys.unpack(key), strict=True))
    state = history.row(
        **parts, number=number, written_at_ms=txn.proposed_at_ms, state=row
    ).SerializeToString(deterministic=True)
    txn.put(history.family, key + keys.pack(number), state)
    if number > history.keep:
        txn.delete(history.family, key + keys.pack(number - history.keep))


def _depth(resource: Resource[Any]) -> int:
    return 0 if resource.life.parent is None else 1 + _depth(resource.life.parent)

"""The rows of a resource as the functions of its own verbs read and write them."""

from __future__ import annotations

from typing import Any, TypeVar

from google.protobuf.message import Message

from quorate.plugin.outcomes import Rejected
from quorate.plugin.resource.binding import UPDATED, bind
from quorate.plugin.resource.declaration import Resource
from quorate.plugin.resource.handlers import count_less
from quorate.plugin.transaction import Reader, Txn

R = TypeVar("R", bound=Message)


def find_row(reader: Reader, resource: Resource[R], item: Any) -> R | None:
    """Return the row that an item, or another row, names by its key; None if there is none."""
    value = reader.get(resource.family, bind(resource).key_of(item))
    return None if value is None else resource.row.FromString(value)


def get_row(reader: Reader, resource: Resource[R], item: Any) -> R:
    """Return the row that an item names; rejects with NOT_FOUND when there is none."""
    row = find_row(reader, resource, item)
    if row is None:
        binding = bind(resource)
        raise Rejected(resource.missing, f"there is no {binding.noun} {binding.named(item)}")
    return row


def write_row(txn: Txn, resource: Resource[R], row: R) -> R:
    """Write a row, which was updated now, and return it."""
    binding = bind(resource)
    if binding.stamped:
        setattr(row, UPDATED, txn.proposed_at_ms)
    txn.put(resource.family, binding.key_of(row), row.SerializeToString(deterministic=True))
    return row


def remove_row(txn: Txn, resource: Resource[R], row: R) -> None:
    """Delete a row, and count one less of its tenant where there is a limit."""
    binding = bind(resource)
    txn.delete(resource.family, binding.key_of(row))
    if resource.limit:
        count_less(binding, txn, getattr(row, resource.tenant))

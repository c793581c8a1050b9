"""The handlers: pure functions of a transaction and an item, run on every replica."""

from collections.abc import Callable

from google.protobuf.field_mask_pb2 import FieldMask
from quorate.plugin import Rejected, Txn, updated

from quorate_mqtt.definitions.kind import UPDATES, D, Kind, key_of
from quorate_mqtt.tenants.rows import there
from quorate_mqtt.v1.definitions_pb2 import DefinitionName


def create(kind: Kind[D], txn: Txn, wanted: D) -> D:
    """Make a definition."""
    if txn.get(kind.family, key_of(wanted)) is not None:
        raise Rejected(
            "ALREADY_EXISTS",
            f"{kind.noun} {wanted.name} of {wanted.tenant} is there already: update it",
        )
    there(txn, wanted.tenant)
    return _written(kind, txn, wanted, created_at_ms=txn.proposed_at_ms)


def put(kind: Kind[D], txn: Txn, wanted: D) -> D:
    """Make a definition, or replace all that it says."""
    there(txn, wanted.tenant)
    value = txn.get(kind.family, key_of(wanted))
    created_at_ms = (
        txn.proposed_at_ms if value is None else kind.row.FromString(value).created_at_ms
    )
    return _written(kind, txn, wanted, created_at_ms=created_at_ms)


def update(kind: Kind[D], txn: Txn, wanted: D, mask: FieldMask, check: Callable[[D], None]) -> D:
    """Change what is given of a definition, unless `check` refuses what that leads to."""
    row = UPDATES.write(stored_of(kind, txn, wanted), wanted, mask)
    return write(kind, txn, updated(row, check))


def delete(kind: Kind[D], txn: Txn, named: DefinitionName) -> None:
    """Delete a definition with what goes with it."""
    if named.missing_ok and txn.get(kind.family, key_of(named)) is None:
        return
    stored_of(kind, txn, named)
    erase(kind, txn, key_of(named))


def erase(kind: Kind[D], txn: Txn, key: bytes) -> None:
    """Delete the row of a key with what goes with it."""
    txn.delete(kind.family, key)
    if kind.follow is not None:
        kind.follow(txn, key, None)


def stored_of(kind: Kind[D], txn: Txn, named: DefinitionName | D) -> D:
    """Return the row of a definition that there is."""
    value = txn.get(kind.family, key_of(named))
    if value is None:
        raise Rejected("NOT_FOUND", f"there is no {kind.noun} {named.name} of {named.tenant}")
    return kind.row.FromString(value)


def write(kind: Kind[D], txn: Txn, row: D) -> D:
    """Write a definition, which changes now, with what goes with it."""
    if kind.refuse is not None:
        kind.refuse(txn, row)
    row.updated_at_ms = txn.proposed_at_ms
    key = key_of(row)
    txn.put(kind.family, key, row.SerializeToString(deterministic=True))
    if kind.follow is not None:
        kind.follow(txn, key, row)
    return row


def _written(kind: Kind[D], txn: Txn, wanted: D, *, created_at_ms: int) -> D:
    row = kind.row()
    row.CopyFrom(wanted)
    row.created_at_ms = created_at_ms
    return write(kind, txn, row)

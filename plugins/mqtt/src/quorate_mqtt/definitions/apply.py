"""The handlers: pure functions of a transaction and an item, run on every replica."""

from quorate.plugin import Rejected, Txn

from quorate_mqtt.definitions.kind import D, Kind, key_of
from quorate_mqtt.tenants.rows import there
from quorate_mqtt.v1.definitions_pb2 import DefinitionName


def create(kind: Kind[D], txn: Txn, wanted: D) -> D:
    """Make a definition."""
    key = key_of(wanted)
    if txn.get(kind.family, key) is not None:
        raise Rejected(
            "ALREADY_EXISTS",
            f"{kind.noun} {wanted.name} of {wanted.tenant} is there already: update it",
        )
    there(txn, wanted.tenant)
    return _write(kind, txn, key, wanted, created_at_ms=txn.proposed_at_ms)


def update(kind: Kind[D], txn: Txn, wanted: D) -> D:
    """Replace what a definition says."""
    key = key_of(wanted)
    stored = stored_of(kind, txn, wanted)
    return _write(kind, txn, key, wanted, created_at_ms=stored.created_at_ms)


def delete(kind: Kind[D], txn: Txn, named: DefinitionName) -> None:
    """Delete a definition with what goes with it."""
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


def _write(kind: Kind[D], txn: Txn, key: bytes, wanted: D, *, created_at_ms: int) -> D:
    if kind.refuse is not None:
        kind.refuse(txn, wanted)
    row = kind.row()
    row.CopyFrom(wanted)
    row.created_at_ms, row.updated_at_ms = created_at_ms, txn.proposed_at_ms
    txn.put(kind.family, key, row.SerializeToString(deterministic=True))
    if kind.follow is not None:
        kind.follow(txn, key, row)
    return row

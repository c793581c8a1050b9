"""Sessions as rows of a table, for bulk loads and scans."""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from quorate.plugin import Txn, keys
from quorate.plugin.advanced import Column, ColumnLoad, FileLoad, Removal, Table
from quorate.plugin.resource import from_columns

from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.importing import write_new
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.validation import are_usual_imports, check_import, is_usual_import
from quorate_mqtt.shards import client_shard
from quorate_mqtt.v1 import sessions_pb2 as pb

_COLUMNS: Final = (
    Column(name="tenant", type="string"),
    Column(name="client_id", type="string"),
    Column(name="expiry_interval_s", type="long"),
    Column(name="payload", type="binary", nullable=True),
)
_NAMES: Final = tuple(column.name for column in _COLUMNS)


def to_item(*values: Any) -> pb.ImportSession:
    """Return a session without a broker."""
    tenant, client_id, interval_s, payload = values
    # Nearly all of millions of rows are valid, and pass the quick check.
    try:
        if is_usual_import(tenant, client_id, interval_s, payload):
            return pb.ImportSession(
                tenant=tenant, client_id=client_id, expiry_interval_s=interval_s, payload=payload
            )
    except (TypeError, ValueError):
        pass
    item = from_columns(pb.ImportSession, dict(zip(_NAMES, values, strict=True)))
    check_import(item, "")
    return item


def to_insert(*values: Any) -> pb.ImportSession:
    """Return a session for a client without one."""
    item = to_item(*values)
    item.new_only = True
    return item


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return a session as its columns, connected or not."""
    session = pb.Session.FromString(value)
    return (*keys.unpack(key), session.expiry_interval_s, session.payload or None)


def to_removal(key: bytes, revision: int) -> pb.DeleteSession:
    """Return the deletion of a session, conditional on its revision."""
    tenant, client_id = keys.unpack(key)
    return pb.DeleteSession(
        tenant=str(tenant), client_id=str(client_id), expected_revision=revision
    )


def shard_keys(
    tenants: Sequence[str],
    client_ids: Sequence[str],
    intervals_s: Sequence[int],
    payloads: Sequence[bytes | None],
) -> list[bytes] | None:
    """Return the shard key of each client; None if a session fails the quick check."""
    if not are_usual_imports(tenants, client_ids, intervals_s, payloads):
        return None
    return list(map(client_shard, tenants, client_ids))


def make(
    txn: Txn,
    clients: Sequence[bytes],
    tenants: Sequence[str],
    _: Sequence[str],
    intervals_s: Sequence[int],
    payloads: Sequence[bytes | None],
) -> Mapping[str, int]:
    """Write sessions of clients without one, and return their number by tenant."""
    sessions = Counter(tenants)
    settle(txn, sessions)
    write_new(txn, clients, intervals_s, [payload or b"" for payload in payloads])
    return sessions


def settle(txn: Txn, sessions: Mapping[str, int]) -> None:
    """Count sessions of tenants that were loaded as files; reject sessions beyond the quota."""
    ledger = Ledger(txn)
    for tenant, count in sessions.items():
        ledger.quota(tenant).take(count)
        ledger.sessions[tenant] += count
    ledger.close()


TABLE: Final = Table(
    family=SESSIONS,
    columns=_COLUMNS,
    key=("tenant", "client_id"),
    write=pb.ImportSessions,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
    plain=True,
    to_insert=to_insert,
    removal=Removal(delete=pb.DeleteSessions, to_item=to_removal),
    files=FileLoad(
        counted_by=attrgetter("tenant"),
        settle=settle,
        columns=ColumnLoad(shard_keys=shard_keys, make=make),
    ),
)

"""Sessions as rows of a table, for whoever loads or reads many of them."""

from typing import Final

from quorate.plugin import Column, Removal, Table, keys

from quorate_mqtt.columns import LARGEST_UINT32, unsigned
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.validation import check_client, check_import
from quorate_mqtt.v1 import sessions_pb2 as pb


def to_item(
    tenant: str, client_id: str, expiry_interval_s: int, payload: bytes | None
) -> pb.ImportSession:
    """Return a session that nobody serves."""
    item = pb.ImportSession(
        tenant=tenant,
        client_id=client_id,
        expiry_interval_s=unsigned("expiry_interval_s", expiry_interval_s, LARGEST_UINT32),
        payload=payload or b"",
    )
    check_client(tenant, client_id)
    check_import(item, "")
    return item


def to_insert(
    tenant: str, client_id: str, expiry_interval_s: int, payload: bytes | None
) -> pb.ImportSession:
    """Return the session of a client that has none."""
    item = to_item(tenant, client_id, expiry_interval_s, payload)
    item.new_only = True
    return item


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return a session as its columns, whether somebody serves it or not."""
    session = pb.Session.FromString(value)
    return (*keys.unpack(key), session.expiry_interval_s, session.payload or None)


def to_removal(key: bytes, revision: int) -> pb.DeleteSession:
    """Return the deletion of a session that nobody has touched since a revision."""
    tenant, client_id = keys.unpack(key)
    return pb.DeleteSession(
        tenant=str(tenant), client_id=str(client_id), expected_revision=revision
    )


TABLE: Final = Table(
    family=SESSIONS,
    columns=(
        Column(name="tenant", type="string"),
        Column(name="client_id", type="string"),
        Column(name="expiry_interval_s", type="long"),
        Column(name="payload", type="binary", nullable=True),
    ),
    key=("tenant", "client_id"),
    write=pb.ImportSessions,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
    to_insert=to_insert,
    removal=Removal(delete=pb.DeleteSessions, to_item=to_removal),
)

"""A session as a reader gets it: its row, and what the key says."""

from quorate.plugin import keys

from quorate_mqtt.v1.rows_pb2 import StoredRow
from quorate_mqtt.v1.sessions_pb2 import KeyedSession


def shown_session(row: StoredRow) -> KeyedSession:
    """Return a session; the fields of its row have the same numbers here."""
    session = KeyedSession.FromString(row.value)
    tenant, client_id = keys.unpack(row.key)
    session.tenant, session.client_id = str(tenant), str(client_id)
    session.revision = row.revision
    return session

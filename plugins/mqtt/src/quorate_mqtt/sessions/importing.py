"""How sessions come here from elsewhere: their clients are away, and their time begins now."""

from typing import Final

from quorate.plugin import Rejected, Txn

from quorate_mqtt.sessions import ending
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.rows import ImportedRows
from quorate_mqtt.v1.sessions_pb2 import ImportSession, Session

#: Somebody serves the client here; what it has elsewhere is older.
ALREADY_CONNECTED: Final = "ALREADY_CONNECTED"


class Imports:
    """The sessions that one command imports."""

    __slots__ = ("_ledger", "_now_ms", "_rows", "_txn")

    def __init__(self, txn: Txn) -> None:
        self._txn: Final = txn
        # Zero is no time of a disconnect.
        self._now_ms: Final = max(1, txn.proposed_at_ms)
        self._rows: Final = ImportedRows(self._now_ms)
        self._ledger: Final = Ledger(txn)

    def take(self, wanted: ImportSession, client: bytes, row: bytes | None) -> None:
        """Import a session over the row that its client has."""
        quota = self._ledger.quota(wanted.tenant)
        if row is None:
            quota.take()
            self._ledger.began(wanted.tenant)
            # Larger than every generation that a session of this client has had.
            generation = self._txn.revision
            imported = self._rows.row(generation, wanted.expiry_interval_s, wanted.payload)
        else:
            imported = self._replaced(wanted, Session.FromString(row))
        self._txn.put(SESSIONS, client, imported)
        ending.expire_after(self._txn, client, self._now_ms, wanted.expiry_interval_s)

    def close(self) -> None:
        """Write what was counted."""
        self._ledger.close()

    def _replaced(self, wanted: ImportSession, session: Session) -> bytes:
        if wanted.new_only:
            raise Rejected("ALREADY_EXISTS", f"client {wanted.client_id} has a session")
        if not session.disconnected_at_ms:
            raise Rejected(
                ALREADY_CONNECTED,
                f"client {wanted.client_id} is connected to broker {session.broker}, and its "
                "session stays as it is; disconnect the client to import another one",
            )
        session.disconnected_at_ms = self._now_ms
        session.expiry_interval_s = wanted.expiry_interval_s
        session.payload = wanted.payload
        return session.SerializeToString(deterministic=True)

"""Imports sessions from other systems: their clients are offline, and their expiry starts now."""

from collections.abc import Iterable, Iterator, Sequence
from operator import add
from typing import Final

from quorate.plugin import Rejected, Txn

from quorate_mqtt.sessions import ending
from quorate_mqtt.sessions.families import EXPIRY, SESSIONS
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.rows import ImportedRows
from quorate_mqtt.v1.sessions_pb2 import ImportSession, Session

#: The client is connected to a broker here; the imported session is older.
ALREADY_CONNECTED: Final = "ALREADY_CONNECTED"


def write_new(
    txn: Txn, clients: Sequence[bytes], intervals_s: Sequence[int], payloads: Sequence[bytes]
) -> None:
    """Write sessions of clients without one, as `Imports` does one by one."""
    now_ms = _now_ms(txn)
    rows = ImportedRows(txn.revision, now_ms)
    kinds = list(zip(intervals_s, map(len, payloads), strict=True))
    starts = {kind: rows.start(*kind) for kind in set(kinds)}
    ends_ms = {each: ending.expiry_of(now_ms, each) for each in set(intervals_s)}
    imported = map(add, map(starts.__getitem__, kinds), payloads)
    txn.put_each(SESSIONS, dict(zip(clients, imported, strict=True)))
    deadlines = map(ends_ms.__getitem__, intervals_s)
    txn.schedule_each(EXPIRY, dict(zip(clients, deadlines, strict=True)))


def _now_ms(txn: Txn) -> int:
    """Return the disconnect time of imported sessions, which must not be zero."""
    return max(1, txn.proposed_at_ms)


class Imports:
    """The sessions that one command imports: they are written together by `close`."""

    __slots__ = ("_deadlines", "_imported", "_ledger", "_now_ms", "_rows", "_txn")

    def __init__(self, txn: Txn) -> None:
        self._txn: Final = txn
        self._now_ms: Final = _now_ms(txn)
        # Larger than every generation that a session of one of these clients has had.
        self._rows: Final = ImportedRows(txn.revision, self._now_ms)
        self._ledger: Final = Ledger(txn)
        #: By client.
        self._imported: Final[dict[bytes, bytes]] = {}
        self._deadlines: Final[dict[bytes, int | None]] = {}

    def take_each(
        self,
        sessions: Iterable[ImportSession],
        clients: Iterable[bytes],
        found: Iterable[bytes | None],
    ) -> Iterator[tuple[int, Rejected]]:
        """Import sessions, given the present rows of their clients; yield the refused ones.

        One loop for thousands of rows: the common parts of rows are made once.
        """
        quota_of, begun = self._ledger.quota, self._ledger.sessions
        imported, deadlines = self._imported, self._deadlines
        #: By expiry interval and size of the payload: the start of the row, and the deadline.
        known: dict[tuple[int, int], tuple[bytes, int | None]] = {}
        for position, (wanted, client, row) in enumerate(
            zip(sessions, clients, found, strict=True)
        ):
            tenant, interval_s, payload = wanted.tenant, wanted.expiry_interval_s, wanted.payload
            kind = interval_s, len(payload)
            common = known.get(kind)
            if common is None:
                ends_at_ms = ending.expiry_of(self._now_ms, interval_s)
                common = known[kind] = self._rows.start(*kind), ends_at_ms
            start, ends_at_ms = common
            try:
                quota = quota_of(tenant)
                if row is None:
                    if quota.left is not None:
                        quota.take()
                    begun[tenant] += 1
                    imported[client] = start + payload
                else:
                    imported[client] = self._replaced(wanted, Session.FromString(row))
            except Rejected as refusal:
                yield position, refusal
            else:
                deadlines[client] = ends_at_ms

    def close(self) -> None:
        """Write the imported sessions, their deadlines and the counts."""
        self._txn.put_each(SESSIONS, self._imported)
        self._txn.schedule_each(EXPIRY, self._deadlines)
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

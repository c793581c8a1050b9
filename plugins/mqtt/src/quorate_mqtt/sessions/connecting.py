"""Connects of clients: the new connection always wins over the one of the former broker."""

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import Final

from quorate.plugin import Rejected, Txn

from quorate_mqtt.brokers import LiveBrokers, fence
from quorate_mqtt.sessions import ending
from quorate_mqtt.sessions.families import EXPIRY, SESSIONS
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.rows import (
    RowsOfBroker,
    ends_with_connection,
    is_plain,
    kept_of,
    short_broker,
)
from quorate_mqtt.v1.sessions_pb2 import ConnectReply, Session, SessionConnect
from quorate_mqtt.wills import delivering

#: A `ConnectReply` with a generation alone, and one for a session that continues.
_NEW: Final = Struct("<BQ")
_present: Final = Struct("<BQBB").pack


@lru_cache(maxsize=1_024)
def _taken_over_from(broker: bytes) -> bytes:
    """Return the last part of a `ConnectReply` by the bytes of a broker's name."""
    return ConnectReply(taken_over_from=broker.decode()).SerializeToString()


class Arrivals:
    """The clients that connect to one broker by one command; rejects a fenced broker."""

    __slots__ = ("_epoch", "_ledger", "_live_brokers", "_now_ms", "_rows", "_txn")

    def __init__(self, txn: Txn, broker: str, epoch: int) -> None:
        fence(txn, broker, epoch)
        self._txn: Final = txn
        self._epoch: Final = epoch
        self._now_ms: Final = txn.proposed_at_ms
        self._rows: Final = RowsOfBroker(broker, epoch, self._now_ms)
        self._ledger: Final = Ledger(txn)
        self._live_brokers: Final = LiveBrokers(txn)

    def take(self, arrival: SessionConnect, client: bytes, row: bytes | None) -> bytes:
        """Connect a client, given its present row; returns the encoded `ConnectReply`."""
        tenant = arrival.tenant
        quota = self._ledger.quota(tenant)
        if row is None:
            quota.take()
            self._ledger.sessions[tenant] += 1
            self._ledger.connections[self._epoch] += 1
            # Larger than every generation that a session of this client has had.
            generation = self._txn.revision
            self._put(arrival, client, generation, self._now_ms)
            return _NEW.pack(0x09, generation)
        generation, epoch, created_at_ms = kept_of(row)
        generation += 1
        taken_over_from, over = "", arrival.clean_start
        if over or not is_plain(row) or epoch != self._epoch or ends_with_connection(row):
            old = Session.FromString(row)
            over = over or self._is_over(arrival, old)
            if not old.disconnected_at_ms and epoch != self._epoch:
                taken_over_from = old.broker
                self._ledger.taken_over += 1
            self._let_go(arrival, client, old, over=over)
            if over:
                self._ledger.sessions[tenant] += 1
                created_at_ms = self._now_ms
        self._put(arrival, client, generation, created_at_ms)
        if taken_over_from:
            reply = ConnectReply(
                generation=generation,
                session_present=not over,
                taken_over_from=taken_over_from,
            )
            return reply.SerializeToString(deterministic=True)
        if over:
            return _NEW.pack(0x09, generation)
        return _present(0x09, generation, 0x10, 1)

    def take_each(
        self,
        arrivals: Iterable[SessionConnect],
        clients: Iterable[bytes],
        rows: Iterable[bytes | None],
    ) -> list[bytes | Rejected]:
        """Connect clients as `take` does, and return the answer to each, or its refusal.

        Nearly all of thousands of clients are new, or have a session that goes on, and no will: the
        code for these is inlined, which takes half the time.
        """
        make, epoch, ledger = self._rows.row, self._epoch, self._ledger
        revision, now_ms = self._txn.revision, self._now_ms
        plain: dict[bytes, bytes] = {}
        replies: list[bytes | Rejected] = []
        reply = replies.append
        new = _NEW.pack(0x09, revision)
        tenant, left = "", None
        for arrival, client, row in zip(arrivals, clients, rows, strict=True):
            try:
                if arrival.tenant != tenant:
                    left = ledger.quota(arrival.tenant).left
                    tenant = arrival.tenant
                if row is None and left is None and not arrival.HasField("will"):
                    ledger.sessions[tenant] += 1
                    ledger.connections[epoch] += 1
                    plain[client] = make(revision, now_ms, arrival, has_will=False)
                    reply(new)
                    continue
                if row is not None and not arrival.HasField("will") and not arrival.clean_start:
                    generation, old_epoch, created_at_ms = kept_of(row)
                    here = old_epoch == epoch
                    if (
                        is_plain(row)
                        and not ends_with_connection(row)
                        and (here or short_broker(row))
                    ):
                        generation += 1
                        plain[client] = make(generation, created_at_ms, arrival, has_will=False)
                        present = _present(0x09, generation, 0x10, 1)
                        if not here:
                            ledger.take_over(old_epoch, epoch)
                            present += _taken_over_from(short_broker(row))
                        reply(present)
                        continue
                reply(self.take(arrival, client, row))
            except Rejected as refusal:
                tenant = ""
                reply(refusal)
        self._txn.put_each(SESSIONS, plain)
        return replies

    def close(self, connects: int) -> None:
        """Write the counts after this many connects were accepted."""
        self._ledger.close(connects=connects)

    def _put(
        self, arrival: SessionConnect, client: bytes, generation: int, created_at_ms: int
    ) -> None:
        has_will = arrival.HasField("will")
        if has_will:
            delivering.keep(self._txn, client, arrival.will)
        row = self._rows.row(generation, created_at_ms, arrival, has_will=has_will)
        self._txn.put(SESSIONS, client, row)

    def _let_go(self, arrival: SessionConnect, client: bytes, old: Session, *, over: bool) -> None:
        """End the will and the deadlines of the old connection, and the session if it is over."""
        same = self._is_same(arrival, old)
        self._ledger.connections[self._epoch] += 1
        if over:
            ending.end(
                self._txn,
                client,
                old,
                self._ledger,
                publish_will=not same,
                live_brokers=self._live_brokers,
            )
            return
        if old.disconnected_at_ms:
            self._txn.schedule(EXPIRY, client, None)
        else:
            self._ledger.connections[old.broker_epoch] -= 1
        if not old.has_will:
            return
        if old.disconnected_at_ms or same:
            delivering.discard(self._txn, client)
        else:
            delivering.replace(self._txn, client, self._live_brokers)

    def _is_over(self, arrival: SessionConnect, old: Session) -> bool:
        """Return whether a session ends with the connection that the new one replaces."""
        return (
            not old.disconnected_at_ms
            and not old.expiry_interval_s
            and not self._is_same(arrival, old)
        )

    def _is_same(self, arrival: SessionConnect, old: Session) -> bool:
        """Return whether this connect repeats the last one that was applied."""
        return (
            not old.disconnected_at_ms
            and old.broker_epoch == self._epoch
            and old.connection_id == arrival.connection_id
            and arrival.connection_id != 0
        )

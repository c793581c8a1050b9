"""Connects of clients: the new connection always wins over the one of the former broker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, Self

from quorate.plugin import Rejected, Txn
from quorate.plugin.advanced import BatchColumns
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.brokers import LiveBrokers, fence
from quorate_mqtt.queues.keeping import HEADS, waiting_in
from quorate_mqtt.sessions import ending
from quorate_mqtt.sessions.families import EXPIRY, SESSIONS
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.rows import (
    BROKER_AT,
    PLAIN,
    SHORT,
    RowsOfBroker,
    is_left,
    pack_head,
    seen_in,
)
from quorate_mqtt.sessions.validation import are_usual, check_process
from quorate_mqtt.shards import client_shards
from quorate_mqtt.v1.sessions_pb2 import ConnectReply, ConnectSessions, Session, SessionConnect
from quorate_mqtt.wills import delivering

_COLUMNS: Final = BatchColumns(ConnectSessions, "connections")
#: A `ConnectReply` with a generation alone, and one for a session that continues.
_NEW: Final = Struct("<BQ")
_present: Final = Struct("<BQBB").pack


@lru_cache(maxsize=1_024)
def _taken_over_from(broker: bytes) -> bytes:
    """Return the last part of a `ConnectReply` by the bytes of a broker's name."""
    return ConnectReply(taken_over_from=broker.decode()).SerializeToString()


class Connects:
    """A command that connects clients, read once."""

    __slots__ = (
        "_command",
        "cleans",
        "client_ids",
        "connection_ids",
        "have_wills",
        "intervals_s",
        "keys",
        "payloads",
        "tenants",
    )

    def __init__(self, command: ConnectSessions) -> None:
        self._command: Final = command
        columns = _COLUMNS.read(command)
        self.tenants: Final[list[str]] = columns.values("tenant")
        self.client_ids: Final[list[str]] = columns.values("client_id")
        self.connection_ids: Final[list[int]] = columns.values("connection_id")
        self.intervals_s: Final[list[int]] = columns.values("expiry_interval_s")
        self.cleans: Final[list[bool]] = columns.values("clean_start")
        self.have_wills: Final = columns.have("will")
        self.payloads: Final[list[bytes]] = columns.values("payload")
        #: The keys of the sessions.
        self.keys: Final = client_shards(self.tenants, self.client_ids)

    @classmethod
    def usual(cls, command: ConnectSessions) -> Self | None:
        """Return a command that is certainly valid; None for another one."""
        check_process(command)
        found = cls(command)
        valid = are_usual(found.tenants, found.client_ids, found.payloads)
        return found if valid and not any(found.have_wills) else None

    @property
    def shard_keys(self) -> list[bytes]:
        """The keys of the sessions."""
        return self.keys

    def arrival(self, position: int) -> SessionConnect:
        """Return a client as its message."""
        return self._command.connections[position]

    def apply(self, txn: Txn) -> BatchReply:
        """Connect the clients to one broker, no two of them alike."""
        arrivals = Arrivals(txn, self._command.broker, self._command.broker_epoch)
        found = txn.get_values(SESSIONS, self.keys)
        replies, refusals = arrivals.take_each(self, found)
        answer = BatchReply(items=len(replies))
        for position, refusal in refusals:
            answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
        arrivals.close(len(replies) - len(refusals))
        # Most shards have no queue: one scan saves a read for each client.
        if any(txn.scan(HEADS, b"", b"\xff", limit=1)):
            known = [position for position, row in enumerate(found) if row is not None]
            heads = txn.get_values(HEADS, [self.keys[position] for position in known])
            for position, head in zip(known, heads, strict=True):
                if replies[position] and (queued := waiting_in(head)):
                    replies[position] += ConnectReply(queued=queued).SerializeToString()
        answer.replies.extend(replies)
        return answer


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
            self._ledger.begin(tenant, self._epoch)
            # Larger than every generation that a session of this client has had.
            generation = self._txn.revision
            self._put(arrival, client, generation, self._now_ms)
            return _NEW.pack(0x09, generation)
        generation, epoch, created_at_ms, interval_s, tag, _ = seen_in(row)
        generation += 1
        taken_over_from, over = "", arrival.clean_start
        if over or tag != PLAIN or epoch != self._epoch or not interval_s:
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
        self, connects: Connects, rows: Sequence[bytes | None]
    ) -> tuple[list[bytes], list[tuple[int, Rejected]]]:
        """Connect clients as `take` does; returns the answers, b"" where a client was refused.

        Nearly all of thousands of clients are new, or have a session that goes on, and no will: the
        code for these is inlined, which takes a third of the time. Clients that come back have been
        disconnected with no will.
        """
        by, at, tail_of = self._rows.by, self._rows.at, self._rows.tail
        epoch, ledger = self._epoch, self._ledger
        revision, now_ms = self._txn.revision, self._now_ms
        plain: list[bytes] = []
        heads: list[bytes] = []
        tails: list[bytes] = []
        payloads: list[bytes] = []
        replies: list[bytes] = []
        refusals: list[tuple[int, Rejected]] = []
        back: list[bytes] = []
        new = _NEW.pack(0x09, revision)
        tenant, left, begun, size, tail = "", None, 0, -1, b""
        for of, number, expiry_s, cleans, has_will, payload, client, row in zip(
            connects.tenants,
            connects.connection_ids,
            connects.intervals_s,
            connects.cleans,
            connects.have_wills,
            connects.payloads,
            connects.keys,
            rows,
            strict=True,
        ):
            try:
                if of != tenant:
                    ledger.begin(tenant, epoch, begun)
                    tenant, begun = "", 0
                    left = ledger.quota(of).left
                    tenant = of
                usual = not has_will
                if row is None:
                    generation, created_at_ms, reply = revision, now_ms, new
                    usual = usual and left is None
                    begun += usual
                else:
                    generation, before, created_at_ms, interval_s, tag, named = seen_in(row)
                    generation += 1
                    reply = _present(0x09, generation, 0x10, 1)
                    usual = usual and not cleans and interval_s > 0
                    if usual and tag != PLAIN:
                        usual = is_left(row)
                        if usual:
                            back.append(client)
                    elif usual and before != epoch:
                        usual = named <= SHORT
                        if usual:
                            ledger.take_over(before, epoch)
                            reply += _taken_over_from(row[BROKER_AT : BROKER_AT + named])
                if usual:
                    if len(payload) != size:
                        size = len(payload)
                        tail = tail_of(size)
                    head = pack_head(
                        0x09, generation, by, created_at_ms, at, number, 0x35, expiry_s
                    )
                    plain.append(client)
                    heads.append(head)
                    tails.append(tail)
                    payloads.append(payload)
                else:
                    reply = self.take(connects.arrival(len(replies)), client, row)
            except Rejected as refusal:
                refusals.append((len(replies), refusal))
                reply = b""
            replies.append(reply)
        ledger.begin(tenant, epoch, begun)
        ledger.connections[epoch] += len(back)
        self._txn.schedule_each(EXPIRY, dict.fromkeys(back))
        self._txn.put_joined(SESSIONS, plain, heads, tails, payloads)
        return replies, refusals

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

"""Updates of sessions by those who serve them: each names the generation of its connection."""

from __future__ import annotations

from typing import Final, Self

from quorate.plugin import Rejected, Row, Txn
from quorate.plugin.advanced import BatchColumns
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.sessions import ending
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.rows import (
    BROKER_AT,
    PLAIN,
    SHORT,
    kept_of,
    payload_head,
    seen_in,
    updated_row,
)
from quorate_mqtt.sessions.validation import are_usual
from quorate_mqtt.shards import client_shards
from quorate_mqtt.v1.sessions_pb2 import (
    DeleteSession,
    DisconnectSession,
    Session,
    UpdateSession,
    UpdateSessions,
)

_COLUMNS: Final = BatchColumns(UpdateSessions, "sessions")
#: The client has connected again since; the caller no longer serves it.
TAKEN_OVER: Final = "TAKEN_OVER"


class Updates:
    """A command that replaces fields of sessions, read once."""

    __slots__ = (
        "_command",
        "_have_expiries",
        "client_ids",
        "generations",
        "keys",
        "payloads",
        "tenants",
    )

    def __init__(self, command: UpdateSessions) -> None:
        self._command: Final = command
        columns = _COLUMNS.read(command)
        self.tenants: Final[list[str]] = columns.values("tenant")
        self.client_ids: Final[list[str]] = columns.values("client_id")
        self.generations: Final[list[int]] = columns.values("generation")
        self.payloads: Final[list[bytes]] = columns.values("payload")
        self._have_expiries: Final = columns.have("expiry_interval_s")
        #: The keys of the sessions.
        self.keys: Final = client_shards(self.tenants, self.client_ids)

    @classmethod
    def usual(cls, command: UpdateSessions) -> Self | None:
        """Return a command that is certainly valid; None for another one."""
        found = cls(command)
        valid = are_usual(found.tenants, found.client_ids, found.payloads)
        return found if valid and all(found.generations) else None

    @property
    def shard_keys(self) -> list[bytes]:
        """The keys of the sessions."""
        return self.keys

    def apply(self, txn: Txn) -> BatchReply:
        """Replace fields of the sessions, no two of one client."""
        found = txn.get_values(SESSIONS, self.keys)
        answer = BatchReply(items=len(found))
        plain: list[bytes] = []
        starts: list[bytes] = []
        heads: list[bytes] = []
        payloads: list[bytes] = []
        others: list[int] = []
        size, head = -1, b""
        # Nearly all of thousands of updates change only the payload of a plain row.
        for generation, payload, has_expiry, client, row in zip(
            self.generations, self.payloads, self._have_expiries, self.keys, found, strict=True
        ):
            if payload and not has_expiry and row is not None:
                of_row, _, _, _, tag, named = seen_in(row)
                if of_row == generation and tag == PLAIN and named <= SHORT:
                    if len(payload) != size:
                        size = len(payload)
                        head = payload_head(size)
                    plain.append(client)
                    starts.append(row[: BROKER_AT + named])
                    heads.append(head)
                    payloads.append(payload)
                    continue
            others.append(len(plain) + len(others))
        for position in others:
            client = self.keys[position]
            try:
                _update(
                    txn, self._command.sessions[position], client, txn.get_row(SESSIONS, client)
                )
            except Rejected as refusal:
                answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
        txn.put_joined(SESSIONS, plain, starts, heads, payloads)
        return answer


def _update(txn: Txn, command: UpdateSession, client: bytes, row: Row | None) -> None:
    expect(command, row, command.generation)
    assert row is not None
    interval_s = command.expiry_interval_s if command.HasField("expiry_interval_s") else None
    payload = command.payload if command.HasField("payload") else None
    updated = updated_row(row.value, interval_s, payload)
    if updated is None:
        session = Session.FromString(row.value)
        if payload is not None:
            session.payload = payload
        if interval_s is not None:
            session.expiry_interval_s = interval_s
            if session.disconnected_at_ms:
                ending.expire_later(txn, client, session)
        updated = session.SerializeToString(deterministic=True)
    txn.put(SESSIONS, client, updated)


def expect(
    command: UpdateSession | DisconnectSession | DeleteSession, row: Row | None, generation: int
) -> None:
    """Reject a command for another connection than the one that the session has."""
    if row is None:
        raise Rejected("NOT_FOUND", f"client {command.client_id} has no session; connect it")
    found = kept_of(row.value)[0]
    if found != generation:
        raise Rejected(
            TAKEN_OVER,
            f"the session of client {command.client_id} has generation {found}, and not "
            f"{generation}: it was taken over; close the connection",
        )

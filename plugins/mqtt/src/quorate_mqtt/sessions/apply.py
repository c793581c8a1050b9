"""The handlers: pure functions of a transaction and a command, run on every replica.

Whatever can be refused is looked at before anything is written: an item of a batch that is refused
leaves nothing behind.
"""

from typing import Final

from quorate.plugin import Rejected, Row, Txn, read_each, read_values, still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.brokers import Roster
from quorate_mqtt.sessions import ending
from quorate_mqtt.sessions.connecting import Arrivals
from quorate_mqtt.sessions.families import EXPIRY, SESSIONS
from quorate_mqtt.sessions.importing import Imports
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.rows import kept_of, updated_row
from quorate_mqtt.shards import client_shard
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectReply,
    ConnectSession,
    ConnectSessions,
    DeleteSession,
    DeleteSessionReply,
    DeleteSessions,
    DisconnectOrphans,
    DisconnectReply,
    DisconnectSession,
    DisconnectSessions,
    EraseSessions,
    ExpireSessions,
    ImportSession,
    ImportSessionReply,
    ImportSessions,
    Session,
    UpdateSession,
    UpdateSessionReply,
    UpdateSessions,
)
from quorate_mqtt.wills import delivering

#: The client has connected again since; whoever asks serves it no more.
TAKEN_OVER: Final = "TAKEN_OVER"
#: The session was written again since it was read.
MISMATCH: Final = "REVISION_MISMATCH"


def connect_session(txn: Txn, command: ConnectSession) -> ConnectReply:
    """Connect a client."""
    arrivals = Arrivals(txn, command.broker, command.broker_epoch)
    arrival = command.connection
    client = client_shard(arrival.tenant, arrival.client_id)
    reply = arrivals.take(arrival, client, txn.get(SESSIONS, client))
    arrivals.close(1)
    return ConnectReply.FromString(reply)


def connect_sessions(txn: Txn, command: ConnectSessions) -> BatchReply:
    """Connect many clients to one broker, no two of them alike."""
    arrivals = Arrivals(txn, command.broker, command.broker_epoch)
    connecting = list(command.connections)
    clients = [client_shard(each.tenant, each.client_id) for each in connecting]
    answer, replies = BatchReply(items=len(clients)), []
    found = read_values(txn, SESSIONS, clients)
    for position, reply in enumerate(arrivals.take_each(connecting, clients, found)):
        if isinstance(reply, Rejected):
            answer.refusals.add(item=position, code=reply.code, message=reply.message)
            reply = b""
        replies.append(reply)
    arrivals.close(len(clients) - len(answer.refusals))
    answer.replies.extend(replies)
    return answer


def update_session(txn: Txn, command: UpdateSession) -> UpdateSessionReply:
    """Replace what a session holds, for whoever serves it."""
    client = client_shard(command.tenant, command.client_id)
    _update(txn, command, client, txn.get_row(SESSIONS, client))
    return UpdateSessionReply()


def update_sessions(txn: Txn, command: UpdateSessions) -> BatchReply:
    """Replace what many sessions hold, no two of one client."""
    updates = list(command.sessions)
    clients = [client_shard(each.tenant, each.client_id) for each in updates]
    answer = BatchReply(items=len(clients))
    found = read_values(txn, SESSIONS, clients)
    plain: dict[bytes, bytes] = {}
    for position, (update, client, row) in enumerate(zip(updates, clients, found, strict=True)):
        if row is not None and (updated := _plainly_updated(row, update)) is not None:
            plain[client] = updated
            continue
        try:
            _update(txn, update, client, txn.get_row(SESSIONS, client))
        except Rejected as refusal:
            answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
    txn.put_each(SESSIONS, plain)
    return answer


def disconnect_session(txn: Txn, command: DisconnectSession) -> DisconnectReply:
    """Note that a client's connection has ended."""
    ledger = Ledger(txn)
    reply = _disconnect(txn, command, ledger, Roster(txn))
    ledger.close()
    return reply


def disconnect_sessions(txn: Txn, command: DisconnectSessions) -> BatchReply:
    """Note that the connections of many clients have ended."""
    ledger, roster = Ledger(txn), Roster(txn)
    answer = BatchReply(items=len(command.sessions))
    for position, each in enumerate(command.sessions):
        try:
            reply = _disconnect(txn, each, ledger, roster).SerializeToString(deterministic=True)
        except Rejected as refusal:
            reply = b""
            answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
        answer.replies.append(reply)
    ledger.close()
    return answer


def delete_session(txn: Txn, command: DeleteSession) -> DeleteSessionReply:
    """Delete a session with its subscriptions and its will."""
    ledger = Ledger(txn)
    reply = _delete(txn, command, ledger, Roster(txn))
    ledger.close()
    return reply


def delete_sessions(txn: Txn, command: DeleteSessions) -> BatchReply:
    """Delete many sessions."""
    ledger, roster = Ledger(txn), Roster(txn)
    answer = BatchReply(items=len(command.sessions))
    for position, each in enumerate(command.sessions):
        try:
            reply = _delete(txn, each, ledger, roster).SerializeToString(deterministic=True)
        except Rejected as refusal:
            reply = b""
            answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
        answer.replies.append(reply)
    ledger.close()
    return answer


def import_session(txn: Txn, command: ImportSession) -> ImportSessionReply:
    """Bring one session here from elsewhere."""
    imports = Imports(txn)
    client = client_shard(command.tenant, command.client_id)
    imports.take(command, client, txn.get(SESSIONS, client))
    imports.close()
    return ImportSessionReply()


def import_sessions(txn: Txn, command: ImportSessions) -> BatchReply:
    """Bring many sessions here, no two of one client."""
    imports, sessions = Imports(txn), list(command.sessions)
    clients = [client_shard(each.tenant, each.client_id) for each in sessions]
    answer = BatchReply(items=len(clients))
    found = read_each(txn, SESSIONS, clients)
    for position, (each, client, row) in enumerate(zip(sessions, clients, found, strict=True)):
        try:
            imports.take(each, client, None if row is None else row.value)
        except Rejected as refusal:
            answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
    imports.close()
    return answer


def expire_sessions(txn: Txn, command: ExpireSessions) -> BatchReply:
    """End the sessions whose deadline stands and has come: a connect has cancelled its own."""
    ledger, roster = Ledger(txn), Roster(txn)
    for client in still_due(txn, EXPIRY, command.keys):
        value = txn.get(SESSIONS, client)
        if value is None:
            txn.schedule(EXPIRY, client, None)
            continue
        # The deadline ends with the session.
        session = Session.FromString(value)
        ending.end(txn, client, session, ledger, publish_will=True, roster=roster)
        ledger.expired += 1
    ledger.close()
    return BatchReply(items=len(command.keys))


def disconnect_orphans(txn: Txn, command: DisconnectOrphans) -> BatchReply:
    """Disconnect the clients whose broker is gone; who has connected since goes on."""
    ledger, roster = Ledger(txn), Roster(txn)
    for client in command.keys:
        value = txn.get(SESSIONS, client)
        if value is None:
            continue
        session = Session.FromString(value)
        if not session.disconnected_at_ms and not roster.lives(session.broker_epoch):
            ending.leave(txn, client, session, ledger, roster)
    ledger.close()
    return BatchReply(items=len(command.keys))


def erase_sessions(txn: Txn, command: EraseSessions) -> BatchReply:
    """Delete the sessions of these keys, whoever serves them."""
    ledger, roster = Ledger(txn), Roster(txn)
    for client in command.keys:
        value = txn.get(SESSIONS, client)
        if value is not None:
            session = Session.FromString(value)
            ending.end(txn, client, session, ledger, publish_will=False, roster=roster)
    ledger.close()
    return BatchReply(items=len(command.keys))


def _plainly_updated(row: bytes, update: UpdateSession) -> bytes | None:
    """Return a plain row with its new payload; None for an update that is more, or is refused.

    Nearly all of thousands of updates are no more than that.
    """
    if kept_of(row)[0] != update.generation or update.HasField("expiry_interval_s"):
        return None
    return updated_row(row, None, update.payload if update.HasField("payload") else None)


def _update(txn: Txn, command: UpdateSession, client: bytes, row: Row | None) -> None:
    _expect(command, row, command.generation)
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


def _disconnect(
    txn: Txn, command: DisconnectSession, ledger: Ledger, roster: Roster
) -> DisconnectReply:
    client = client_shard(command.tenant, command.client_id)
    row = txn.get_row(SESSIONS, client)
    _expect(command, row, command.generation)
    assert row is not None
    session = Session.FromString(row.value)
    if session.disconnected_at_ms:
        # It was heard before; the client may have been declared gone with its broker.
        return DisconnectReply(expires_at_ms=ending.expire_later(txn, client, session))
    if command.HasField("expiry_interval_s"):
        if session.expiry_interval_s == 0 and command.expiry_interval_s:
            raise Rejected(
                "FAILED_PRECONDITION",
                f"expiry_interval_s: the session of client {command.client_id} was to end with its "
                "connection, and cannot be kept any more",
            )
        session.expiry_interval_s = command.expiry_interval_s
    if command.discard_will and session.has_will:
        delivering.discard(txn, client)
        session.has_will = False
    expires_at_ms = ending.leave(txn, client, session, ledger, roster)
    return DisconnectReply(ended=expires_at_ms is None, expires_at_ms=expires_at_ms or 0)


def _delete(txn: Txn, command: DeleteSession, ledger: Ledger, roster: Roster) -> DeleteSessionReply:
    client = client_shard(command.tenant, command.client_id)
    row = txn.get_row(SESSIONS, client)
    if row is None:
        return DeleteSessionReply(deleted=False)
    if command.HasField("generation"):
        _expect(command, row, command.generation)
    if command.HasField("expected_revision") and row.revision != command.expected_revision:
        raise Rejected(
            MISMATCH,
            f"the session of client {command.client_id} has revision {row.revision}, and not "
            f"{command.expected_revision}: read it again",
        )
    session = Session.FromString(row.value)
    ending.end(txn, client, session, ledger, publish_will=False, roster=roster)
    return DeleteSessionReply(deleted=True)


def _expect(
    command: UpdateSession | DisconnectSession | DeleteSession, row: Row | None, generation: int
) -> None:
    if row is None:
        raise Rejected("NOT_FOUND", f"client {command.client_id} has no session; connect it")
    found = kept_of(row.value)[0]
    if found != generation:
        raise Rejected(
            TAKEN_OVER,
            f"the session of client {command.client_id} has generation {found}, and not "
            f"{generation}: it was taken over; close the connection",
        )

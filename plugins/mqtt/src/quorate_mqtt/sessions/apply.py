"""The handlers: functions of a transaction and a command, run once, on the leader of a shard.

Every check comes before the first write: a refused item of a batch writes nothing.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Rejected, Txn
from quorate.plugin.advanced import answer_each, still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.sessions import ending
from quorate_mqtt.sessions.connecting import Connects
from quorate_mqtt.sessions.families import EXPIRY, SESSIONS
from quorate_mqtt.sessions.importing import Imports
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.updating import Updates, expect
from quorate_mqtt.shards import client_shard, client_shards, column
from quorate_mqtt.v1 import sessions_pb2 as pb
from quorate_mqtt.wills import delivering

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference

#: The session was written again since it was read.
MISMATCH: Final = "REVISION_MISMATCH"


def connect_sessions(txn: Txn, command: pb.ConnectSessions) -> BatchReply:
    """Connect many clients to one broker, no two of them alike."""
    return Connects(command).apply(txn)


def update_sessions(txn: Txn, command: pb.UpdateSessions) -> BatchReply:
    """Replace fields of many sessions, no two of one client."""
    return Updates(command).apply(txn)


def disconnect_sessions(txn: Txn, command: pb.DisconnectSessions) -> BatchReply:
    """Record that the connections of many clients have ended."""
    return _each(txn, command.sessions, _disconnect)


def delete_sessions(txn: Txn, command: pb.DeleteSessions) -> BatchReply:
    """Delete many sessions with their subscriptions and their wills."""
    return _each(txn, command.sessions, _delete)


def import_sessions(txn: Txn, command: pb.ImportSessions) -> BatchReply:
    """Import many sessions, no two of one client."""
    imports, sessions = Imports(txn), list(command.sessions)
    clients = client_shards(column("tenant", sessions), column("client_id", sessions))
    answer = BatchReply(items=len(clients))
    found = txn.get_values(SESSIONS, clients)
    for position, refusal in imports.take_each(sessions, clients, found):
        answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
    imports.close()
    return answer


def expire_sessions(txn: Txn, command: pb.ExpireSessions) -> BatchReply:
    """End the sessions with a deadline that is still due: a connect may have cancelled it."""
    ledger, live_brokers = Ledger(txn), LiveBrokers(txn)
    for client in still_due(txn, EXPIRY, command.keys):
        value = txn.get(SESSIONS, client)
        if value is None:
            txn.schedule(EXPIRY, client, None)
            continue
        # The deadline ends with the session.
        session = pb.Session.FromString(value)
        ending.end(txn, client, session, ledger, publish_will=True, live_brokers=live_brokers)
        ledger.expired += 1
    ledger.close()
    return BatchReply(items=len(command.keys))


def disconnect_orphans(txn: Txn, command: pb.DisconnectOrphans) -> BatchReply:
    """Disconnect the clients of brokers that are gone; skip clients that have connected since."""
    ledger, live_brokers = Ledger(txn), LiveBrokers(txn)
    for client in command.keys:
        value = txn.get(SESSIONS, client)
        if value is None:
            continue
        session = pb.Session.FromString(value)
        if not session.disconnected_at_ms and not live_brokers.lives(session.broker_epoch):
            ending.leave(txn, client, session, ledger, live_brokers)
    ledger.close()
    return BatchReply(items=len(command.keys))


def _each(
    txn: Txn, items: Iterable[I], apply: Callable[[Txn, I, Ledger, LiveBrokers], Message]
) -> BatchReply:
    """Apply items with one ledger and one read of the live brokers."""
    ledger, live_brokers = Ledger(txn), LiveBrokers(txn)
    answer = answer_each(txn, items, lambda txn, item: apply(txn, item, ledger, live_brokers))
    ledger.close()
    return answer


def _disconnect(
    txn: Txn, command: pb.DisconnectSession, ledger: Ledger, live_brokers: LiveBrokers
) -> pb.DisconnectReply:
    client = client_shard(command.tenant, command.client_id)
    row = txn.get_row(SESSIONS, client)
    expect(command, row, command.generation)
    assert row is not None
    session = pb.Session.FromString(row.value)
    if session.disconnected_at_ms:
        # It was reported before; the client may have been declared gone with its broker.
        return pb.DisconnectReply(expires_at_ms=ending.expire_later(txn, client, session))
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
    expires_at_ms = ending.leave(txn, client, session, ledger, live_brokers)
    return pb.DisconnectReply(ended=expires_at_ms is None, expires_at_ms=expires_at_ms or 0)


def _delete(
    txn: Txn, command: pb.DeleteSession, ledger: Ledger, live_brokers: LiveBrokers
) -> pb.DeleteSessionReply:
    client = client_shard(command.tenant, command.client_id)
    row = txn.get_row(SESSIONS, client)
    if row is None:
        return pb.DeleteSessionReply(deleted=False)
    if command.HasField("generation"):
        expect(command, row, command.generation)
    if command.HasField("expected_revision") and row.revision != command.expected_revision:
        raise Rejected(
            MISMATCH,
            f"the session of client {command.client_id} has revision {row.revision}, and not "
            f"{command.expected_revision}: read it again",
        )
    session = pb.Session.FromString(row.value)
    ending.end(txn, client, session, ledger, publish_will=False, live_brokers=live_brokers)
    return pb.DeleteSessionReply(deleted=True)

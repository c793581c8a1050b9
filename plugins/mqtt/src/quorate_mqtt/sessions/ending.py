"""Ends sessions and disconnects clients, with the rows that go with either."""

from typing import Final

from quorate.plugin import Txn, keys

from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.queues import keeping
from quorate_mqtt.sessions.families import EXPIRY, SESSIONS, SUBSCRIPTIONS
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.validation import NEVER
from quorate_mqtt.v1.sessions_pb2 import Session
from quorate_mqtt.wills import delivering

_MS: Final = 1_000


def end(
    txn: Txn,
    client: bytes,
    session: Session,
    ledger: Ledger,
    *,
    publish_will: bool,
    live_brokers: LiveBrokers,
) -> None:
    """Delete a session with its subscriptions, queue and deadlines; publish or discard its will."""
    if session.disconnected_at_ms:
        txn.schedule(EXPIRY, client, None)
    else:
        ledger.connections[session.broker_epoch] -= 1
    if session.has_will and publish_will:
        delivering.deliver(txn, client, live_brokers)
    elif session.has_will:
        delivering.discard(txn, client)
    delete_subscriptions(txn, client)
    keeping.end(txn, client)
    txn.delete(SESSIONS, client)
    ledger.sessions[tenant_of(client)] -= 1


def leave(
    txn: Txn, client: bytes, session: Session, ledger: Ledger, live_brokers: LiveBrokers
) -> int | None:
    """Record that the client of a connected session is gone; its will, if any, waits.

    Returns the time at which the session ends, 0 for never, and None if it has ended with the
    connection.
    """
    interval_s = session.expiry_interval_s
    if interval_s == 0:
        end(txn, client, session, ledger, publish_will=True, live_brokers=live_brokers)
        return None
    ledger.connections[session.broker_epoch] -= 1
    if session.has_will:
        delivering.wait(txn, client, interval_s, live_brokers)
    # Zero is no time of a disconnect.
    session.disconnected_at_ms = max(1, txn.proposed_at_ms)
    txn.put(SESSIONS, client, session.SerializeToString(deterministic=True))
    return expire_later(txn, client, session)


def expire_later(txn: Txn, client: bytes, session: Session) -> int:
    """Set the deadline of a disconnected session; returns it, or 0 for a session without one."""
    expires_at_ms = expiry_of(session.disconnected_at_ms, session.expiry_interval_s)
    txn.schedule(EXPIRY, client, expires_at_ms)
    return expires_at_ms or 0


def expiry_of(disconnected_at_ms: int, interval_s: int) -> int | None:
    """Return the time at which the session of a disconnected client ends; None: never."""
    return None if interval_s == NEVER else disconnected_at_ms + interval_s * _MS


def delete_subscriptions(txn: Txn, client: bytes) -> None:
    """Delete the subscriptions of the client of a session's key."""
    for row in txn.scan(SUBSCRIPTIONS, client, client + b"\xff"):
        txn.delete(SUBSCRIPTIONS, row.key)


def tenant_of(client: bytes) -> str:
    """Return the tenant of a session's key."""
    return str(keys.unpack(client)[0])

"""The rows of brokers: lookup, renewal and removal of members."""

from typing import Final, Literal

from quorate.plugin import Reader, Txn, keys

from quorate_name_server.families import (
    ADDRESSES,
    BROKERS,
    DEPARTED,
    LIVENESS,
    member_key,
)
from quorate_name_server.v1 import rows_pb2 as rows

MASTER: Final = 0
#: The default timeout of a member.
HEARTBEAT_TIMEOUT_MS: Final = 120_000


def find_broker(reader: Reader, name: str) -> rows.Broker | None:
    """Return a broker, or None."""
    stored = reader.get(BROKERS, keys.pack(name))
    return None if stored is None else rows.Broker.FromString(stored)


def broker_at(reader: Reader, address: str) -> str:
    """Return the name of the broker with a member at an address; empty if there is none."""
    return (reader.get(ADDRESSES, keys.pack(address)) or b"").decode()


def member_of(
    broker: rows.Broker | None, field: Literal["id", "address", "registration"], value: object
) -> rows.Member | None:
    """Return the member of a broker whose field has a value, or None."""
    members = () if broker is None else broker.members
    return next((member for member in members if getattr(member, field) == value), None)


def clusters_of(broker: rows.Broker) -> set[str]:
    """Return the clusters in which a broker or one of its members is registered."""
    return {broker.cluster, *(member.cluster for member in broker.members)}


def put_broker(txn: Txn, broker: rows.Broker, before: bytes | None = None) -> bool:
    """Write a broker unless it is unchanged; return whether it was written."""
    value = broker.SerializeToString(deterministic=True)
    if value == before:
        return False
    txn.put(BROKERS, keys.pack(broker.name), value)
    return True


def prolong(txn: Txn, name: str, member: rows.Member, received_ms_ago: int = 0) -> None:
    """Extend the life of a member, counted from the receipt of its heartbeat."""
    key, ttl_ms = member_key(name, member.registration), member.heartbeat_timeout_ms
    until_ms = txn.proposed_at_ms - received_ms_ago + ttl_ms
    if received_ms_ago:
        until_ms = max(until_ms, txn.deadline(LIVENESS, key) or 0)
    txn.schedule(LIVENESS, key, until_ms, ttl_ms=ttl_ms)


def forget(txn: Txn, broker: rows.Broker, member: rows.Member) -> None:
    """Remove a member from a broker, without writing the broker's row."""
    txn.schedule(LIVENESS, member_key(broker.name, member.registration), None)
    txn.delete(ADDRESSES, keys.pack(member.address))
    broker.members.remove(member)


def remove_member(txn: Txn, broker: rows.Broker, member: rows.Member) -> None:
    """Remove a member, and the broker with its last one.

    Its topics have no routes from then on; their rows may be many, and are swept later.
    """
    forget(txn, broker, member)
    if broker.members:
        put_broker(txn, broker)
        return
    txn.delete(BROKERS, keys.pack(broker.name))
    txn.put(DEPARTED, keys.pack(broker.name), b"")

"""The handlers: pure functions of a transaction and a command, run on every replica."""

from typing import Final

from quorate.builtin.cluster.families import (
    BROKERS,
    EPOCHS,
    LIVENESS,
    broker_key,
    broker_of_life,
    life_key,
)
from quorate.plugin import Rejected, Txn, answer_each, still_due
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import (
    Broker,
    ExpireBrokers,
    RegisterBroker,
    RegisterBrokers,
    SendHeartbeat,
    SendHeartbeats,
    UnregisterBroker,
    UnregisterBrokers,
)

#: What a registration that names no TTL has meant in every log: it stays as it is.
DEFAULT_TTL_MS: Final = 10_000


def register(txn: Txn, command: RegisterBroker) -> Broker:
    """Register a broker under the next epoch; its former process is known no more."""
    key = broker_key(command.name)
    former = txn.get(BROKERS, key)
    if former is not None:
        _end(txn, Broker.FromString(former))
    broker = Broker(
        name=command.name,
        cluster_name=command.cluster_name,
        roles=command.roles,
        labels=command.labels,
        addresses=command.addresses,
        epoch=txn.next_id(EPOCHS),
        ttl_ms=command.ttl_ms or DEFAULT_TTL_MS,
        registered_at_ms=txn.proposed_at_ms,
    )
    txn.put(BROKERS, key, broker.SerializeToString(deterministic=True))
    _prolong(txn, broker)
    return broker


def unregister(txn: Txn, command: UnregisterBroker) -> None:
    """Remove a broker, if it is the process that registered last."""
    if command.missing_ok and txn.get(BROKERS, broker_key(command.name)) is None:
        return
    broker = _registered(txn, command.name, command.epoch)
    txn.delete(BROKERS, broker_key(command.name))
    _end(txn, broker)


def take_heartbeat(txn: Txn, command: SendHeartbeat) -> None:
    """Move the deadline of a broker, and nothing else."""
    _prolong(txn, _registered(txn, command.name, command.epoch))


def register_all(txn: Txn, command: RegisterBrokers) -> BatchReply:
    """Register many brokers, in the order of the request."""
    return answer_each(txn, command.brokers, register)


def unregister_all(txn: Txn, command: UnregisterBrokers) -> BatchReply:
    """Remove many brokers; who is refused is named in the reply."""
    return answer_each(txn, command.brokers, unregister)


def take_heartbeats(txn: Txn, command: SendHeartbeats) -> BatchReply:
    """Move the deadlines of many brokers; who is refused is named in the reply."""
    return answer_each(txn, command.heartbeats, take_heartbeat)


def expire(txn: Txn, command: ExpireBrokers) -> BatchReply:
    """Remove the brokers whose deadlines stand and have come.

    A key names one registration, and its deadline goes with it: who has registered again since is
    untouched, and who has sent a heartbeat since has a later deadline.
    """
    for key in still_due(txn, LIVENESS, command.keys):
        txn.delete(BROKERS, broker_of_life(key))
        txn.schedule(LIVENESS, key, None)
    return BatchReply(items=len(command.keys))


def _registered(txn: Txn, name: str, epoch: int) -> Broker:
    row = txn.get(BROKERS, broker_key(name))
    if row is None:
        raise Rejected("NOT_FOUND", f"broker {name} is not registered; register it again")
    broker = Broker.FromString(row)
    if broker.epoch != epoch:
        raise Rejected(
            "FENCED",
            f"broker {name} is registered with epoch {broker.epoch}, and this process has epoch "
            f"{epoch}; stop serving, or register again to take over",
        )
    return broker


def _prolong(txn: Txn, broker: Broker) -> None:
    until_ms = txn.proposed_at_ms + broker.ttl_ms
    txn.schedule(LIVENESS, life_key(broker.name, broker.epoch), until_ms, ttl_ms=broker.ttl_ms)


def _end(txn: Txn, broker: Broker) -> None:
    txn.schedule(LIVENESS, life_key(broker.name, broker.epoch), None)

"""The verbs of brokers: an epoch distinguishes the processes of a name, a deadline ends a life."""

from typing import Final

from quorate.builtin.cluster.families import BROKERS, EPOCHS, LIVENESS
from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.advanced import still_due
from quorate.v1 import cluster_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

#: The TTL of a registration without one: existing logs rely on it, so it never changes.
DEFAULT_TTL_MS: Final = 10_000


def register(txn: Txn, command: pb.RegisterBroker) -> pb.Broker:
    """Register a broker under the next epoch; its former registration ends."""
    key = keys.pack(command.name)
    former = txn.get(BROKERS, key)
    if former is not None:
        _end(txn, pb.Broker.FromString(former))
    broker = pb.Broker(
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


def unregister(txn: Txn, command: pb.UnregisterBroker) -> None:
    """Remove a broker, if the caller is the process that registered last."""
    if command.missing_ok and txn.get(BROKERS, keys.pack(command.name)) is None:
        return
    broker = _registered(txn, command.name, command.epoch)
    txn.delete(BROKERS, keys.pack(command.name))
    _end(txn, broker)


def take_heartbeat(txn: Txn, command: pb.SendHeartbeat) -> None:
    """Extend the deadline of a broker, and change nothing else."""
    _prolong(txn, _registered(txn, command.name, command.epoch))


def expire(txn: Txn, command: pb.ExpireBrokers) -> BatchReply:
    """Remove the brokers of the keys that are still due.

    A key names one registration, and its deadline ends with it: a broker that has registered again
    since is untouched, and one that has sent a heartbeat since has a later deadline.
    """
    for key in still_due(txn, LIVENESS, command.keys):
        name, _ = keys.unpack(key)
        txn.delete(BROKERS, keys.pack(name))
        txn.schedule(LIVENESS, key, None)
    return BatchReply(items=len(command.keys))


def _registered(txn: Txn, name: str, epoch: int) -> pb.Broker:
    row = txn.get(BROKERS, keys.pack(name))
    if row is None:
        raise Rejected("NOT_FOUND", f"broker {name} is not registered; register it again")
    broker = pb.Broker.FromString(row)
    if broker.epoch != epoch:
        raise Rejected(
            "FENCED",
            f"broker {name} is registered with epoch {broker.epoch}, and this process has epoch "
            f"{epoch}; stop serving, or register again to take over",
        )
    return broker


def _prolong(txn: Txn, broker: pb.Broker) -> None:
    until_ms = txn.proposed_at_ms + broker.ttl_ms
    txn.schedule(LIVENESS, keys.pack(broker.name, broker.epoch), until_ms, ttl_ms=broker.ttl_ms)


def _end(txn: Txn, broker: pb.Broker) -> None:
    txn.schedule(LIVENESS, keys.pack(broker.name, broker.epoch), None)

"""The rows of replica sets, their keys, and the lives of replicas."""

from collections.abc import Iterable
from typing import Final

from quorate.plugin import ColumnFamily, Reader, Rejected, Txn, keys

from quorate_name_server.families import GROUP
from quorate_name_server.v1 import replica_sets_pb2 as pb

#: By the name of the broker; declared by its resource.
SETS: Final = "name_server.replica_sets"
#: The progress of each replica, by broker and id: it changes with every heartbeat, and has no
#: watchers.
STATES: Final = "name_server.replica_states"
#: The timer of the replicas' lives; a deadline has the key that `replica_key` returns.
LIVES: Final = "name_server.replica_lives"
#: The default timeout of a replica.
HEARTBEAT_TIMEOUT_MS: Final = 10_000

FAMILY: Final = ColumnFamily(name=STATES, group=GROUP)

#: The set does not exist, or has no replica with the id.
UNKNOWN_REPLICA: Final = "UNKNOWN_REPLICA"


def replica_key(name: str, replica: int) -> bytes:
    """Return the key of a replica's deadline and of its state."""
    return keys.pack(name, replica)


def find_set(reader: Reader, name: str) -> pb.ReplicaSet | None:
    """Return a set, or None."""
    stored = reader.get(SETS, keys.pack(name))
    return None if stored is None else pb.ReplicaSet.FromString(stored)


def put_set(txn: Txn, replicas: pb.ReplicaSet) -> None:
    """Write a set."""
    txn.put(SETS, keys.pack(replicas.name), replicas.SerializeToString(deterministic=True))


def replica_of(replicas: pb.ReplicaSet | None, number: int) -> pb.Replica | None:
    """Return a replica of a set, or None."""
    members: Iterable[pb.Replica] = () if replicas is None else replicas.replicas
    return next((each for each in members if each.id == number), None)


def known_replica(txn: Txn, name: str, number: int) -> tuple[pb.ReplicaSet, pb.Replica]:
    """Return a set and one of its replicas; refuse an unknown one."""
    replicas = find_set(txn, name)
    replica = replica_of(replicas, number)
    if replicas is None or replica is None:
        raise Rejected(
            UNKNOWN_REPLICA, f"broker {name} has no replica {number}; apply for an id first"
        )
    return replicas, replica


def begin_life(txn: Txn, replicas: pb.ReplicaSet, number: int, timeout_ms: int = 0) -> bool:
    """Extend the life of a replica; return whether it begins, so that the set must be written."""
    ttl_ms = timeout_ms or HEARTBEAT_TIMEOUT_MS
    until_ms = txn.proposed_at_ms + ttl_ms
    txn.schedule(LIVES, replica_key(replicas.name, number), until_ms, ttl_ms=ttl_ms)
    replica = replica_of(replicas, number)
    if replica is None or replica.alive:
        return False
    replica.alive = True
    return True


def end_life(txn: Txn, replicas: pb.ReplicaSet, replica: pb.Replica) -> None:
    """End the life of a replica, without writing its set."""
    txn.schedule(LIVES, replica_key(replicas.name, replica.id), None)
    replica.alive = False


def state_of(reader: Reader, name: str, number: int) -> pb.ReplicaState:
    """Return the last reported progress of a replica."""
    stored = reader.get(STATES, replica_key(name, number))
    if stored is None:
        return pb.ReplicaState(epoch=-1, max_offset=-1)
    return pb.ReplicaState.FromString(stored)

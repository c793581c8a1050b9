"""The handlers of replicas: ids, heartbeats, sync state and removal."""

from typing import Final

from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.advanced import still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.replication.electing import replace_master
from quorate_name_server.replication.rows import (
    LIVES,
    SETS,
    STATES,
    UNKNOWN_REPLICA,
    begin_life,
    end_life,
    find_set,
    known_replica,
    put_set,
    replica_key,
    replica_of,
)
from quorate_name_server.v1 import replica_sets_pb2 as pb

#: The id belongs to another process, or is not the next one.
ID_TAKEN: Final = "ID_TAKEN"
#: The replica is not the master.
NOT_MASTER: Final = "NOT_MASTER"
#: The replica names another master epoch than the current one.
OLDER_MASTER_EPOCH: Final = "OLDER_MASTER_EPOCH"
#: The in-sync set has changed since.
OLDER_IN_SYNC_EPOCH: Final = "OLDER_IN_SYNC_EPOCH"
#: A replica that is not alive cannot be in sync.
REPLICA_DEAD: Final = "REPLICA_DEAD"
#: The change of the set is not allowed.
INVALID_SET: Final = "INVALID_SET"
#: A living replica is removed only on explicit request.
REPLICA_ALIVE: Final = "REPLICA_ALIVE"


def apply_id(txn: Txn, wanted: pb.ReplicaId) -> pb.ReplicaSet:
    """Assign an id to a new replica; a repeat by the same process gets the same answer."""
    replicas = find_set(txn, wanted.name)
    if replicas is None:
        replicas = pb.ReplicaSet(name=wanted.name, cluster=wanted.cluster, next_id=1)
    known = replica_of(replicas, wanted.id)
    if known is not None and known.check_code == wanted.check_code:
        return replicas
    if wanted.id != replicas.next_id:
        raise Rejected(
            ID_TAKEN,
            f"id {wanted.id} of broker {wanted.name} is not free; apply for {replicas.next_id}",
        )
    replicas.replicas.add(id=wanted.id, check_code=wanted.check_code)
    replicas.next_id += 1
    put_set(txn, replicas)
    return replicas


def register(txn: Txn, said: pb.ReplicaAddress) -> pb.ReplicaSet:
    """Record the address of a replica."""
    replicas, replica = known_replica(txn, said.name, said.id)
    if replica.address != said.address:
        replica.address = said.address
        put_set(txn, replicas)
    return replicas


def take_heartbeat(txn: Txn, heartbeat: pb.ReplicaHeartbeat) -> None:
    """Extend the life of a replica, and record its progress."""
    replicas, replica = known_replica(txn, heartbeat.name, heartbeat.id)
    state = heartbeat.state.SerializeToString(deterministic=True)
    txn.put(STATES, replica_key(heartbeat.name, heartbeat.id), state)
    if begin_life(txn, replicas, replica.id, heartbeat.timeout_ms):
        put_set(txn, replicas)


def lose(txn: Txn, lost: pb.ReplicaAddress) -> None:
    """End the life of a replica with a closed connection, unless its address has changed."""
    replicas = find_set(txn, lost.name)
    replica = replica_of(replicas, lost.id)
    if replicas is None or replica is None or replica.address != lost.address:
        return
    if replica.alive:
        _end(txn, replicas, replica)


def expire(txn: Txn, command: pb.ExpireReplicas) -> BatchReply:
    """End the lives of replicas without a heartbeat within their timeout."""
    for key in still_due(txn, LIVES, command.keys):
        name, number = keys.unpack(key)
        replicas = find_set(txn, str(name))
        replica = replica_of(replicas, int(number))
        if replicas is None or replica is None:
            txn.schedule(LIVES, key, None)
        else:
            _end(txn, replicas, replica)
    return BatchReply(items=len(command.keys))


def alter_in_sync(txn: Txn, said: pb.InSyncSet) -> pb.ReplicaSet:
    """Replace the in-sync set by the one that the master names."""
    replicas = find_set(txn, said.name)
    if replicas is None:
        raise Rejected(INVALID_SET, f"broker {said.name} has no replicas")
    wanted = sorted(set(said.in_sync))
    if wanted == list(replicas.in_sync):
        raise Rejected(INVALID_SET, f"these replicas of broker {said.name} are already in sync")
    if said.master != replicas.master:
        raise Rejected(
            NOT_MASTER,
            f"replica {said.master} is not the master of broker {said.name}, but {replicas.master}",
        )
    if said.master_epoch != replicas.master_epoch:
        raise Rejected(
            OLDER_MASTER_EPOCH,
            f"replica {said.master} names master epoch {said.master_epoch}, but the current one "
            f"is {replicas.master_epoch}",
        )
    if said.in_sync_epoch != replicas.in_sync_epoch:
        raise Rejected(
            OLDER_IN_SYNC_EPOCH,
            f"the in-sync set has changed: its epoch is {replicas.in_sync_epoch}, not "
            f"{said.in_sync_epoch}",
        )
    for number in wanted:
        replica = replica_of(replicas, number)
        if replica is None:
            raise Rejected(UNKNOWN_REPLICA, f"broker {said.name} has no replica {number}")
        if not replica.alive:
            raise Rejected(REPLICA_DEAD, f"replica {number} of broker {said.name} is not alive")
    if replicas.master not in wanted:
        raise Rejected(INVALID_SET, f"the master of broker {said.name} must be in sync itself")
    replicas.in_sync[:] = wanted
    replicas.in_sync_epoch += 1
    put_set(txn, replicas)
    return replicas


def clean(txn: Txn, cleaning: pb.ReplicaCleaning) -> None:
    """Remove replicas, and the set with its last replica."""
    replicas = find_set(txn, cleaning.name)
    if replicas is None:
        raise Rejected(UNKNOWN_REPLICA, f"broker {cleaning.name} has no replicas")
    ids = list(cleaning.ids) or [each.id for each in replicas.replicas]
    for number in ids:
        known = replica_of(replicas, number)
        if known is None:
            raise Rejected(UNKNOWN_REPLICA, f"broker {cleaning.name} has no replica {number}")
        if known.alive and not cleaning.living:
            raise Rejected(
                REPLICA_ALIVE,
                f"replica {number} of broker {cleaning.name} is alive; stop it, or set `living`",
            )
    for each in [each for each in replicas.replicas if each.id in ids]:
        end_life(txn, replicas, each)
        txn.delete(STATES, replica_key(replicas.name, each.id))
        replicas.replicas.remove(each)
    if not replicas.replicas:
        txn.delete(SETS, keys.pack(replicas.name))
        return
    replicas.in_sync[:] = [each for each in replicas.in_sync if each not in ids]
    replicas.in_sync_epoch += 1
    if replicas.master in ids:
        replace_master(txn, replicas)
    else:
        put_set(txn, replicas)


def _end(txn: Txn, replicas: pb.ReplicaSet, replica: pb.Replica) -> None:
    end_life(txn, replicas, replica)
    if replica.id == replicas.master:
        replace_master(txn, replicas)
    else:
        put_set(txn, replicas)

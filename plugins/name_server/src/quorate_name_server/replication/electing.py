"""The election of masters: never a replica that lacks an acknowledged message, unless forced."""

from typing import Final

from quorate.plugin import Rejected, Txn

from quorate_name_server.replication.rows import (
    begin_life,
    find_set,
    known_replica,
    put_set,
    replica_of,
    state_of,
)
from quorate_name_server.v1 import replica_sets_pb2 as pb

#: No replica with all acknowledged messages is alive.
NO_CANDIDATE: Final = "NO_CANDIDATE"


def elect(txn: Txn, election: pb.Election) -> pb.Elected:
    """Elect a master; a living one stays, unless another is designated."""
    replicas = find_set(txn, election.name)
    if replicas is None or election.id:
        replicas, _ = known_replica(txn, election.name, election.id)
    if not replicas.master_epoch and election.id and not election.designated:
        # No message is acknowledged yet, so the first replica to ask lacks none. Its life begins,
        # as it may not have sent a heartbeat.
        begin_life(txn, replicas, election.id)
        return _won(txn, replicas, election.id)
    master = replica_of(replicas, replicas.master)
    if (
        master is not None
        and master.alive
        and (not election.designated or master.id == election.id)
    ):
        return pb.Elected(set=replicas)
    able = candidates(replicas, unclean=election.unclean)
    if election.designated:
        able = [each for each in able if each == election.id]
    if not able:
        raise Rejected(
            NO_CANDIDATE,
            f"no replica of broker {replicas.name} can become its master: no in-sync replica "
            f"({', '.join(map(str, replicas.in_sync)) or 'none'}) is alive"
            + (f", or {election.id} is not among them" if election.designated else "")
            + "; start one of them",
        )
    return _won(txn, replicas, best(txn, replicas, able))


def candidates(replicas: pb.ReplicaSet, *, unclean: bool = False) -> list[int]:
    """Return the electable replicas; with `unclean`, all living ones if none of them is in sync."""
    alive = [each.id for each in replicas.replicas if each.alive]
    clean = [each for each in alive if each in replicas.in_sync]
    return clean or (alive if unclean else [])


def best(txn: Txn, replicas: pb.ReplicaSet, able: list[int]) -> int:
    """Return the most advanced candidate; on a tie, the one with the best priority."""

    def rank(number: int) -> tuple[int, int, int, int]:
        state = state_of(txn, replicas.name, number)
        return -state.epoch, -state.max_offset, state.priority, number

    return min(able, key=rank)


def replace_master(txn: Txn, replicas: pb.ReplicaSet) -> None:
    """Elect a successor of a lost master, or write that there is none."""
    able = candidates(replicas)
    if able:
        _won(txn, replicas, best(txn, replicas, able))
        return
    # The former master must not continue in the same epoch.
    replicas.master = 0
    replicas.master_epoch += 1
    put_set(txn, replicas)


def _won(txn: Txn, replicas: pb.ReplicaSet, winner: int) -> pb.Elected:
    replicas.master = winner
    replicas.master_epoch += 1
    replicas.in_sync_epoch += 1
    del replicas.in_sync[:]
    replicas.in_sync.append(winner)
    put_set(txn, replicas)
    return pb.Elected(set=replicas, changed=True)

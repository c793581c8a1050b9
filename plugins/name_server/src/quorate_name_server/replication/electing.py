"""How a set gets its master: never one that lacks an acknowledged message, unless forced."""

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

#: No replica that holds all that is acknowledged is alive.
NO_CANDIDATE: Final = "NO_CANDIDATE"


def elect(txn: Txn, election: pb.Election) -> pb.Elected:
    """Elect a master; a living one stays, unless another is designated."""
    replicas = find_set(txn, election.name)
    if replicas is None or election.id:
        replicas, _ = known_replica(txn, election.name, election.id)
    if not replicas.master_epoch and election.id and not election.designated:
        # Nothing is acknowledged yet: the first that asks has all of it. Its life begins, for it
        # may not have sent a heartbeat.
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
            f"no replica of broker {replicas.name} may become its master: of those in sync "
            f"({', '.join(map(str, replicas.in_sync)) or 'none'}) none is alive"
            + (f", or {election.id} is not among them" if election.designated else "")
            + "; start one of them",
        )
    return _won(txn, replicas, best(txn, replicas, able))


def candidates(replicas: pb.ReplicaSet, *, unclean: bool = False) -> list[int]:
    """Return the replicas that may be elected; unclean ones only where there is no other."""
    alive = [each.id for each in replicas.replicas if each.alive]
    clean = [each for each in alive if each in replicas.in_sync]
    return clean or (alive if unclean else [])


def best(txn: Txn, replicas: pb.ReplicaSet, able: list[int]) -> int:
    """Return the most advanced candidate, and of equal ones the preferred."""

    def rank(number: int) -> tuple[int, int, int, int]:
        state = state_of(txn, replicas.name, number)
        return -state.epoch, -state.max_offset, state.priority, number

    return min(able, key=rank)


def replace_master(txn: Txn, replicas: pb.ReplicaSet) -> None:
    """Elect another master than the one that is lost, or write that there is none."""
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

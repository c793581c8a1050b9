"""The verbs of workers: drain, undrain and expire."""

from typing import Final

from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.advanced import still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector import counters
from quorate_connector.families import LIVENESS, WORKERS, life_key, worker_key
from quorate_connector.v1 import tasks_pb2 as pb
from quorate_connector.workers import registrations

#: Time that a task of a drained worker has to stop cleanly, unless the command sets another.
RELEASE_MS: Final = 10_000
#: Interval of the check whether a silent worker has left.
LEFT_MS: Final = 60_000
#: Time that a drained worker may be away and still be drained when it returns.
AWAY_MS: Final = 7 * 24 * 3_600_000


def drain(txn: Txn, item: pb.DrainWorker) -> pb.Worker:
    """Mark a worker as draining: its tasks move to others, and it is assigned no new ones."""
    worker = _known(txn, item.worker)
    worker.draining = True
    worker.release_timeout_ms = item.release_timeout_ms or RELEASE_MS
    registrations.store(txn, worker)
    if not worker.epoch:
        _await_return(txn, worker)
    return worker


def undrain(txn: Txn, item: pb.UndrainWorker) -> pb.Worker:
    """End the draining of a worker: it is assigned tasks again."""
    worker = _known(txn, item.worker)
    if worker.draining:
        worker.draining, worker.release_timeout_ms = False, 0
        registrations.store(txn, worker)
        if not worker.epoch:
            _forget(txn, worker)
    return worker


def expire(txn: Txn, command: pb.ExpireWorkers) -> BatchReply:
    """Mark workers with expired deadlines as silent; forget workers that have left."""
    for key in still_due(txn, LIVENESS, command.keys):
        name, epoch = keys.unpack(key)
        _expire(txn, str(name), int(epoch), key)
    return BatchReply(items=len(command.keys))


def _expire(txn: Txn, name: str, epoch: int, key: bytes) -> None:
    worker = registrations.read(txn, name)
    registered = registrations.epoch_of(txn, name)
    has_left = registered != epoch or not registered
    if has_left and not counters.has_tasks(txn, name, epoch):
        _forget(txn, worker)
        if worker.draining and (epoch or registered):
            worker.epoch, worker.silent = 0, False
            registrations.store(txn, worker)
            _await_return(txn, worker)
        return
    if not worker.silent:
        worker.silent = True
        registrations.store(txn, worker)
    txn.schedule(LIVENESS, key, txn.proposed_at_ms + LEFT_MS, ttl_ms=LEFT_MS)


def _await_return(txn: Txn, worker: pb.Worker) -> None:
    """Keep the row of a drained worker for a time until a registration of it reports."""
    until_ms = txn.proposed_at_ms + AWAY_MS
    txn.schedule(LIVENESS, life_key(worker.name, 0), until_ms, ttl_ms=LEFT_MS)


def _forget(txn: Txn, worker: pb.Worker) -> None:
    txn.schedule(LIVENESS, life_key(worker.name, worker.epoch), None)
    txn.delete(WORKERS, worker_key(worker.name))


def _known(txn: Txn, name: str) -> pb.Worker:
    if txn.get(WORKERS, worker_key(name)) is None and not registrations.epoch_of(txn, name):
        raise Rejected(
            "NOT_FOUND",
            f"there is no worker {name}: no broker with role {registrations.ROLE!r} has this name",
        )
    return registrations.read(txn, name)

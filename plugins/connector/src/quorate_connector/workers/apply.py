"""The handlers: pure functions of a transaction and a command, run on every replica."""

from typing import Final

from quorate.plugin import Rejected, Txn, keys, still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector import tallies
from quorate_connector.v1.tasks_pb2 import DrainWorker, ExpireWorkers, UndrainWorker, Worker
from quorate_connector.workers import brokers, standing
from quorate_connector.workers.families import LIVENESS, WORKERS, life_key, worker_key

#: How long a task of a drained worker has to stop in order when the command does not say.
RELEASE_MS: Final = 10_000
#: So often it is looked whether a silent worker has left.
LEFT_MS: Final = 60_000


def drain_worker(txn: Txn, command: DrainWorker) -> Worker:
    """Have the tasks of a worker go to others, and give it no new ones."""
    worker = _known(txn, command.worker)
    worker.draining = True
    worker.release_timeout_ms = command.release_timeout_ms or RELEASE_MS
    standing.store(txn, worker)
    return worker


def undrain_worker(txn: Txn, command: UndrainWorker) -> Worker:
    """Let a worker have tasks again."""
    worker = _known(txn, command.worker)
    if worker.draining:
        worker.draining, worker.release_timeout_ms = False, 0
        standing.store(txn, worker)
        if txn.deadline(LIVENESS, life_key(worker.name, worker.epoch)) is None:
            txn.delete(WORKERS, worker_key(worker.name))
    return worker


def expire_workers(txn: Txn, command: ExpireWorkers) -> BatchReply:
    """Call workers silent whose deadlines stand and have come; forget those that have left."""
    for key in still_due(txn, LIVENESS, command.keys):
        name, epoch = keys.unpack(key)
        assert isinstance(name, str)
        assert isinstance(epoch, int)
        _expire(txn, name, epoch, key)
    return BatchReply(items=len(command.keys))


def _expire(txn: Txn, name: str, epoch: int, key: bytes) -> None:
    worker = standing.read(txn, name)
    has_left = brokers.epoch_of(txn, name) != epoch
    if has_left and not tallies.has_tasks(txn, name, epoch):
        txn.schedule(LIVENESS, key, None)
        if not worker.draining:
            txn.delete(WORKERS, worker_key(name))
        return
    if not worker.silent:
        worker.silent = True
        standing.store(txn, worker)
    txn.schedule(LIVENESS, key, txn.proposed_at_ms + LEFT_MS, ttl_ms=LEFT_MS)


def _known(txn: Txn, name: str) -> Worker:
    if txn.get(WORKERS, worker_key(name)) is None and not brokers.epoch_of(txn, name):
        raise Rejected(
            "NOT_FOUND", f"there is no worker {name}: no broker with role {brokers.ROLE!r} has it"
        )
    return standing.read(txn, name)

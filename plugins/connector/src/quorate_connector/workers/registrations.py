"""Registrations of workers: a current one that reports in time can hold tasks."""

from functools import partial
from typing import Final

from quorate.builtin.cluster import api
from quorate.plugin import Reader, Txn

from quorate_connector.families import LIVENESS, WORKERS, life_key, worker_key
from quorate_connector.v1.tasks_pb2 import Worker

#: The role of the brokers that run tasks.
ROLE: Final = "connector"
#: Yields the brokers that are registered as workers, by name.
registered: Final = partial(api.registered, role=ROLE)
#: Returns the epoch under which a worker is registered; zero when it is not.
epoch_of: Final = partial(api.epoch_of, role=ROLE)


def fence(reader: Reader, worker: str, epoch: int) -> None:
    """Refuse a process whose registration of the worker is not the current one."""
    gone = f"worker {worker} no longer has tasks under epoch {epoch}"
    api.fence(reader, worker, epoch, ROLE, ended=f"{gone}; stop them, and register again")


#: Time that a worker counts as alive after a report, unless the report sets another.
TIMEOUT_MS: Final = 10_000


def read(reader: Reader, name: str) -> Worker:
    """Return the row of a worker, or a default row."""
    value = reader.get(WORKERS, worker_key(name))
    return Worker(name=name) if value is None else Worker.FromString(value)


def store(txn: Txn, worker: Worker) -> None:
    """Write the row of a worker."""
    txn.put(WORKERS, worker_key(worker.name), worker.SerializeToString(deterministic=True))


def renew(txn: Txn, name: str, epoch: int, timeout_ms: int) -> None:
    """Record that a registration is alive, and restart its liveness deadline."""
    worker = read(txn, name)
    if worker.epoch != epoch or worker.silent:
        _replace(txn, worker, epoch)
    _prolong(txn, name, epoch, timeout_ms)


def count_on(txn: Txn, name: str, epoch: int, timeout_ms: int) -> None:
    """Start the liveness deadline of a registration that is assigned tasks, unless it has one."""
    worker = read(txn, name)
    if worker.epoch != epoch:
        _replace(txn, worker, epoch)
        _prolong(txn, name, epoch, timeout_ms)


def is_lost(reader: Reader, name: str, epoch: int) -> bool:
    """Return whether the tasks of a registration are to be reclaimed."""
    return epoch_of(reader, name) != epoch or is_silent(read(reader, name), epoch)


def is_silent(worker: Worker, epoch: int) -> bool:
    """Return whether a registration has missed its liveness deadline."""
    return worker.silent and worker.epoch == epoch


def _replace(txn: Txn, worker: Worker, epoch: int) -> None:
    if worker.epoch != epoch:
        txn.schedule(LIVENESS, life_key(worker.name, worker.epoch), None)
    worker.epoch, worker.silent = epoch, False
    store(txn, worker)


def _prolong(txn: Txn, name: str, epoch: int, timeout_ms: int) -> None:
    until_ms = txn.proposed_at_ms + timeout_ms
    txn.schedule(LIVENESS, life_key(name, epoch), until_ms, ttl_ms=timeout_ms)

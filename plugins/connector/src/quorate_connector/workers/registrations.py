"""Which registrations of workers can have tasks: current ones that report in time."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from quorate.plugin import Reader, Rejected, Txn, keys, read_range
from quorate.v1.cluster_pb2 import Broker

from quorate_connector.families import BROKERS, LIVENESS, WORKERS, life_key, worker_key
from quorate_connector.v1.tasks_pb2 import Worker

#: The role of the brokers that run tasks.
ROLE: Final = "connector"
#: The registration has ended, or another process has taken it over; or the epoch of a task is old.
FENCED: Final = "FENCED"
#: There was no such registration.
UNKNOWN: Final = "BROKER_UNKNOWN"


def registered(reader: Reader) -> Iterator[Broker]:
    """Yield the brokers that are registered as workers, by name."""
    return (broker for broker in _brokers(reader) if ROLE in broker.roles)


def epoch_of(reader: Reader, worker: str) -> int:
    """Return the epoch under which a worker is registered; zero when it is not."""
    value = reader.get(BROKERS, keys.pack(worker))
    return 0 if value is None else _epoch_of(value)


def fence(reader: Reader, worker: str, epoch: int) -> None:
    """Refuse the process of a worker whose registration is not the one that stands."""
    found = epoch_of(reader, worker)
    if found == epoch:
        return
    # Epochs grow over all brokers: who is known with a larger one has registered later.
    if found > epoch or any(broker.epoch > epoch for broker in _brokers(reader)):
        raise Rejected(
            FENCED,
            f"worker {worker} has no tasks any more under epoch {epoch}; stop them, and register "
            "again",
        )
    reader.refresh(BROKERS)
    raise Rejected(
        UNKNOWN,
        f"there is no broker {worker} with role {ROLE!r} and epoch {epoch}: register it",
    )


def _brokers(reader: Reader) -> Iterator[Broker]:
    return (Broker.FromString(row.value) for row in read_range(reader, BROKERS, *keys.prefix()))


@lru_cache(maxsize=1_024)
def _epoch_of(row: bytes) -> int:
    """Return the epoch of a worker's row: command after command asks for the same."""
    broker = Broker.FromString(row)
    return broker.epoch if ROLE in broker.roles else 0


#: How long a worker is held to be alive that does not say so itself.
TIMEOUT_MS: Final = 10_000


def read(reader: Reader, name: str) -> Worker:
    """Return the row of a worker; of one that has none, what holds of it."""
    value = reader.get(WORKERS, worker_key(name))
    return Worker(name=name) if value is None else Worker.FromString(value)


def store(txn: Txn, worker: Worker) -> None:
    """Keep the row of a worker."""
    txn.put(WORKERS, worker_key(worker.name), worker.SerializeToString(deterministic=True))


def renew(txn: Txn, name: str, epoch: int, timeout_ms: int) -> None:
    """Record that a registration is alive; it is held to be so for a time."""
    worker = read(txn, name)
    if worker.epoch != epoch or worker.silent:
        _replace(txn, worker, epoch)
    _prolong(txn, name, epoch, timeout_ms)


def count_on(txn: Txn, name: str, epoch: int, timeout_ms: int) -> None:
    """Have a registration that is given tasks say that it is alive, unless it was asked before."""
    worker = read(txn, name)
    if worker.epoch != epoch:
        _replace(txn, worker, epoch)
        _prolong(txn, name, epoch, timeout_ms)


def is_lost(reader: Reader, name: str, epoch: int) -> bool:
    """Return whether the tasks of a registration are to be taken from it."""
    return epoch_of(reader, name) != epoch or is_silent(read(reader, name), epoch)


def is_silent(worker: Worker, epoch: int) -> bool:
    """Return whether a registration gave no sign in time."""
    return worker.silent and worker.epoch == epoch


def _replace(txn: Txn, worker: Worker, epoch: int) -> None:
    if worker.epoch != epoch:
        txn.schedule(LIVENESS, life_key(worker.name, worker.epoch), None)
    worker.epoch, worker.silent = epoch, False
    store(txn, worker)


def _prolong(txn: Txn, name: str, epoch: int, timeout_ms: int) -> None:
    until_ms = txn.proposed_at_ms + timeout_ms
    txn.schedule(LIVENESS, life_key(name, epoch), until_ms, ttl_ms=timeout_ms)

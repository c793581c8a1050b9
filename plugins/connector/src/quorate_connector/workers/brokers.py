"""The workers as handlers know them: copies of core's rows of brokers.

A copy may lag, and never goes back: a registration that it has shown, and shows no more, has
ended.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from quorate.plugin import Reader, Rejected, keys, read_range
from quorate.v1.cluster_pb2 import Broker

from quorate_connector.families import BROKERS

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

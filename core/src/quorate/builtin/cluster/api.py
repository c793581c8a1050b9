"""Brokers for other plugins: copies of their rows, in every shard that reads them.

A copy may lag, and never goes back: a registration that it has shown, and shows no more, has ended.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from quorate.builtin.cluster.families import BROKERS
from quorate.plugin import Reader, Rejected, keys
from quorate.v1.cluster_pb2 import Broker

__all__ = ["BROKERS", "FENCED", "UNKNOWN", "epoch_of", "fence", "registered"]

#: The registration has ended, or another process has taken it over.
FENCED: Final = "FENCED"
#: There was no such registration.
UNKNOWN: Final = "BROKER_UNKNOWN"


def registered(reader: Reader, role: str = "") -> Iterator[Broker]:
    """Yield the live brokers by name: all, or the ones with a role."""
    for row in reader.scan(BROKERS, *keys.prefix()):
        broker = Broker.FromString(row.value)
        if not role or role in broker.roles:
            yield broker


def epoch_of(reader: Reader, name: str, role: str = "") -> int:
    """Return the epoch under which a broker is registered; zero when it is not, with that role."""
    value = reader.get(BROKERS, keys.pack(name))
    return 0 if value is None else _epoch_in(value, role)


def fence(reader: Reader, name: str, epoch: int, role: str = "", *, ended: str) -> None:
    """Refuse the process of a broker unless it holds the current registration.

    `ended` is the message for a process whose registration has ended.
    """
    found = epoch_of(reader, name, role)
    if found == epoch:
        return
    # Epochs grow over all brokers: a broker with a larger one has registered later.
    if found > epoch or any(broker.epoch > epoch for broker in registered(reader)):
        raise Rejected(FENCED, ended)
    reader.refresh(BROKERS)
    wanted = f"role {role!r} and epoch {epoch}" if role else f"epoch {epoch}"
    raise Rejected(UNKNOWN, f"there is no broker {name} with {wanted}: register it")


@lru_cache(maxsize=1_024)
def _epoch_in(row: bytes, role: str) -> int:
    """Return the epoch in a broker's row: command after command asks for the same."""
    broker = Broker.FromString(row)
    return broker.epoch if not role or role in broker.roles else 0

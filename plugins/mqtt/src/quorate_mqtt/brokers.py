"""The brokers as handlers know them: copies of core's rows in every shard.

A copy may lag, and never goes back: a registration that it has shown, and shows no more, has
ended.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from google.protobuf.message import Message
from quorate.plugin import Reader, Rejected, Txn, answer_each, keys, read_range
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker

#: The mirrored family: a route that reads it names it in `reads`.
BROKERS: Final = "cluster.brokers"
#: The role of the brokers that lead groups and publish wills.
ROLE: Final = "mqtt"
#: The registration has ended, or another process has taken it over.
FENCED: Final = "FENCED"
#: There was no such registration.
UNKNOWN: Final = "BROKER_UNKNOWN"


def registered(reader: Reader) -> Iterator[Broker]:
    """Yield the brokers that are alive, by name."""
    for row in read_range(reader, BROKERS, *keys.prefix()):
        yield Broker.FromString(row.value)


def fence(reader: Reader, name: str, epoch: int) -> None:
    """Refuse the process of a broker whose registration is not the one that stands."""
    value = reader.get(BROKERS, keys.pack(name))
    found = _epoch_of(value) if value is not None else 0
    if found == epoch:
        return
    # Epochs grow over all brokers: who is known with a larger one has registered later.
    if found > epoch or any(broker.epoch > epoch for broker in registered(reader)):
        raise Rejected(
            FENCED,
            f"broker {name} serves no more under epoch {epoch}; close its connections, and "
            "register again",
        )
    reader.refresh(BROKERS)
    raise Rejected(UNKNOWN, f"there is no broker {name} with epoch {epoch}: register it")


@lru_cache(maxsize=1_024)
def _epoch_of(row: bytes) -> int:
    """Return the epoch of a broker's row: command after command asks for the same."""
    return Broker.FromString(row).epoch


class LiveBrokers:
    """The brokers that are alive, read once for a whole command."""

    __slots__ = ("_brokers", "_reader")

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self._brokers: list[Broker] | None = None

    def lives(self, epoch: int) -> bool:
        """Return whether a registration that was known here goes on."""
        return any(broker.epoch == epoch for broker in self._all())

    def serving(self) -> list[Broker]:
        """Return the brokers that can be given something to do, by name."""
        return [broker for broker in self._all() if ROLE in broker.roles]

    def _all(self) -> list[Broker]:
        if self._brokers is None:
            self._brokers = list(registered(self._reader))
        return self._brokers


def with_live_brokers(
    field: str, apply: Callable[[Txn, Any, LiveBrokers], Message | None]
) -> Callable[[Txn, Any], BatchReply]:
    """Return what carries out the items of a command with one reading of the live brokers."""

    def apply_all(txn: Txn, command: Any) -> BatchReply:
        live_brokers = LiveBrokers(txn)
        return answer_each(
            txn, getattr(command, field), lambda txn, item: apply(txn, item, live_brokers)
        )

    return apply_all

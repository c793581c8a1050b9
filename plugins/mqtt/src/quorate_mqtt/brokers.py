"""The brokers of a tenant's clients: the fence on their registrations, and the live ones."""

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import Message
from quorate.builtin.cluster import api
from quorate.plugin import Reader, Txn
from quorate.plugin.advanced import answer_each
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker

#: The role of the brokers that lead groups and publish wills.
ROLE: Final = "mqtt"


def fence(reader: Reader, name: str, epoch: int) -> None:
    """Reject a broker process that is not the registered one."""
    gone = f"broker {name} serves no more under epoch {epoch}"
    api.fence(reader, name, epoch, ended=f"{gone}; close its connections, and register again")


class LiveBrokers:
    """The brokers that are alive, read once for a whole command."""

    __slots__ = ("_brokers", "_reader")

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self._brokers: list[Broker] | None = None

    def lives(self, epoch: int) -> bool:
        """Return whether a registration that was known here is still live."""
        return any(broker.epoch == epoch for broker in self._all())

    def serving(self) -> list[Broker]:
        """Return the brokers that accept duties, by name."""
        return [broker for broker in self._all() if ROLE in broker.roles]

    def _all(self) -> list[Broker]:
        if self._brokers is None:
            self._brokers = list(api.registered(self._reader))
        return self._brokers


def with_live_brokers(
    field: str, apply: Callable[[Txn, Any, LiveBrokers], Message | None]
) -> Callable[[Txn, Any], BatchReply]:
    """Return a handler that applies the items of a command with one read of the live brokers."""

    def apply_all(txn: Txn, command: Any) -> BatchReply:
        live_brokers = LiveBrokers(txn)
        return answer_each(
            txn, getattr(command, field), lambda txn, item: apply(txn, item, live_brokers)
        )

    return apply_all

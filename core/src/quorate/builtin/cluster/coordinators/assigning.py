"""Chooses the coordinator of a key among its live candidates, by hashing."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Final

from quorate.builtin.cluster.coordinators.rows import (
    ASSIGNMENTS,
    COORDINATORS,
    EPOCHS,
    Assignment,
    Candidates,
    row_key,
)
from quorate.builtin.cluster.families import BROKERS
from quorate.plugin import Reader, Txn, keys
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.coordinator_pb2 import Coordinator


class LiveBrokers:
    """The brokers that are registered, read at most once for a whole command or query."""

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self._among: Final[dict[Candidates, Sequence[Broker]]] = {}

    @cached_property
    def _by_epoch(self) -> Mapping[int, Broker]:
        rows = self._reader.scan(BROKERS, *keys.prefix())
        brokers = (Broker.FromString(row.value) for row in rows)
        return {broker.epoch: broker for broker in brokers}

    def include(self, broker_epoch: int) -> bool:
        """Return whether a registration is live."""
        return broker_epoch in self._by_epoch

    def among(self, candidates: Candidates) -> Sequence[Broker]:
        """Return the live brokers among the candidates."""
        if candidates not in self._among:
            self._among[candidates] = list(filter(candidates.include, self._by_epoch.values()))
        return self._among[candidates]


def chosen(row: Coordinator, live: LiveBrokers) -> Broker | None:
    """Return the broker to coordinate a key; None: no live broker is a candidate.

    By rendezvous hashing: a broker that leaves gives its keys to all others, one that registers
    again gets its own back, and no other key moves.
    """
    key = row_key(row)

    def weight(broker: Broker) -> bytes:
        return blake2b(keys.pack(key, broker.name), digest_size=8).digest()

    return max(live.among(Candidates.of(row)), key=weight, default=None)


def assign(txn: Txn, row: Coordinator, broker: Broker | None) -> None:
    """Assign a key to a broker, or to none, under a new epoch and in place of its current one."""
    txn.delete(ASSIGNMENTS, Assignment.of(row).packed())
    row.broker, row.broker_epoch = (broker.name, broker.epoch) if broker is not None else ("", 0)
    row.epoch, row.assigned_at_ms = txn.next_id(EPOCHS), txn.proposed_at_ms
    txn.put(COORDINATORS, row_key(row), row.SerializeToString(deterministic=True))
    txn.put(ASSIGNMENTS, Assignment.of(row).packed(), b"")

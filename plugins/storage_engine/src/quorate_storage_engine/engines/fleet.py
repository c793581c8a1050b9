"""The engines as one command sees them: their registrations and their load."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from google.protobuf.message import Message
from quorate.builtin.cluster import api
from quorate.plugin import Reader, Txn
from quorate.plugin.advanced import answer_each
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker

from quorate_storage_engine.families import DROPS, ENGINES, drop_key, engine_key
from quorate_storage_engine.placement import Load
from quorate_storage_engine.v1.rows_pb2 import Engine, Segment

#: The role of a broker that holds segments.
ROLE: Final = "engine"
#: The label of a broker that names its rack.
RACK: Final = "rack"

C = TypeVar("C")
R = TypeVar("R")


class Fleet:
    """Reads each broker and engine once; `settle` writes each changed engine once."""

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self._epochs: Final[dict[str, int]] = {}
        self._engines: Final[dict[str, Engine]] = {}
        self._changed: Final[set[str]] = set()
        self._loads: dict[str, Load] | None = None

    def broker_epoch(self, name: str) -> int:
        """Return the epoch under which an engine is registered; zero if it is not registered."""
        if name not in self._epochs:
            self._epochs[name] = api.epoch_of(self._reader, name, ROLE)
        return self._epochs[name]

    def is_registered(self, name: str) -> bool:
        """Return whether an engine is registered, and so considered alive."""
        return self.broker_epoch(name) > 0

    def is_leaving(self, name: str) -> bool:
        """Return whether an engine is decommissioned."""
        return self.engine(name).decommissioned_at_ms > 0

    def is_lost(self, name: str) -> bool:
        """Return whether an engine is decommissioned and unregistered: no removal waits for it."""
        return self.is_leaving(name) and not self.is_registered(name)

    def engine(self, name: str) -> Engine:
        """Return the row of an engine; an empty one if it has no row."""
        found = self._engines.get(name)
        if found is None:
            row = self._reader.get(ENGINES, engine_key(name))
            found = Engine(name=name) if row is None else Engine.FromString(row)
            self._engines[name] = found
        return found

    def loads(self) -> list[Load]:
        """Return the load of each engine that accepts replicas."""
        if self._loads is None:
            self._loads = {}
            for broker in self.registered():
                engine = self.engine(broker.name)
                if not engine.decommissioned_at_ms:
                    self._loads[broker.name] = Load(
                        name=broker.name,
                        rack=broker.labels.get(RACK, ""),
                        replicas=engine.replicas,
                        leaderships=engine.leaderships,
                    )
        return list(self._loads.values())

    def barred(self, segment: Segment) -> list[str]:
        """Return the engines that still have to drop an earlier replica of a segment."""
        return [
            load.name
            for load in self.loads()
            if self._reader.get(DROPS, drop_key(load.name, segment.shard_uid, segment.number))
            is not None
        ]

    def registered(self) -> Iterator[Broker]:
        """Yield the brokers that are engines, by name."""
        for broker in api.registered(self._reader, ROLE):
            self._epochs[broker.name] = broker.epoch
            yield broker

    def count(self, name: str, *, replicas: int = 0, leaderships: int = 0) -> None:
        """Add to the replicas and leaderships of an engine."""
        engine = self.engine(name)
        engine.replicas += replicas
        engine.leaderships += leaderships
        self._changed.add(name)
        load = (self._loads or {}).get(name)
        if load is not None:
            load.replicas, load.leaderships = engine.replicas, engine.leaderships

    def mark(self, name: str, decommissioned_at_ms: int) -> Engine:
        """Take an engine out of service; zero puts it back into service."""
        engine = self.engine(name)
        engine.decommissioned_at_ms = decommissioned_at_ms
        self._changed.add(name)
        self._loads = None
        return engine

    def settle(self, txn: Txn) -> None:
        """Write the changed engines; an engine without load that is in service has no row."""
        for name in sorted(self._changed):
            engine = self._engines[name]
            if engine.replicas or engine.leaderships or engine.decommissioned_at_ms:
                txn.put(ENGINES, engine_key(name), engine.SerializeToString(deterministic=True))
            else:
                txn.delete(ENGINES, engine_key(name))
        self._changed.clear()


def answer_each_with_fleet(
    txn: Txn, items: Iterable[C], apply: Callable[[Txn, Fleet, C], Message | None]
) -> BatchReply:
    """Apply the items of a batch, one by one, to the rows and one fleet."""
    fleet = Fleet(txn)
    reply = answer_each(txn, items, lambda _, item: apply(txn, fleet, item))
    fleet.settle(txn)
    return reply


def with_fleet(
    field: str, apply: Callable[[Txn, Fleet, Any], Message | None]
) -> Callable[[Txn, Any], BatchReply]:
    """Return the handler of a command with these items: one fleet serves all of them."""
    return lambda txn, command: answer_each_with_fleet(txn, getattr(command, field), apply)

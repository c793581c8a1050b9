from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from google.protobuf.message import Message
from quorate.apply.applier import Applier, families_of
from quorate.apply.control import METADATA
from quorate.apply.entries import EntryBatch, encode
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin.slots import even_cut
from quorate.storage.data.memory_home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.families import EVENTS
from quorate.testing.replica_process.audit import audit
from quorate.testing.replica_process.domain import (
    COUNTERS,
    FAMILIES,
    ITEMS,
    MARKS,
    counter_key,
    item_keys,
    mark_key,
    worker,
)
from quorate.testing.replica_process.logged import core, logged
from quorate.testing.replica_process.node import CATALOG
from quorate.testing.replica_process.v1.domain_pb2 import Work
from quorate.v1.control_pb2 import AdoptSlots


class Replica:
    def __init__(self) -> None:
        self.data = ShardData.open(MemoryHome(), families_of(CATALOG, METADATA.group))
        self._applier = Applier(CATALOG, METADATA, self.data)
        self._apply(AdoptSlots(version=1, slots=even_cut(1)[0]))
        for number in (1, 2, 3):
            self._apply(Work(client=1, number=number, items=4, removes=number - 1))

    def found(self) -> list[str]:
        found: list[str] = audit(self.data, self._applier.reader(FAMILIES))["found"]
        return found

    def works(self) -> dict[str, list[int]]:
        works: dict[str, list[int]] = audit(self.data, self._applier.reader(FAMILIES))["works"]
        return works

    def _apply(self, command: Message) -> None:
        made = logged(command) if isinstance(command, Work) else core(command)
        payload = encode(EntryBatch(1, 0, 0, [made]))
        entry = Entry(self.data.applied + 1, 1, EntryKind.COMMAND, payload)
        ((outcome,),) = (each.outcomes for each in self._applier.apply([entry]))
        assert outcome.refusal is None


@pytest.fixture
def replica() -> Iterator[Replica]:
    replica = Replica()
    yield replica
    replica.data.close()


def test_what_agrees_is_not_found_fault_with(replica: Replica) -> None:
    assert replica.found() == []
    assert replica.works() == {"1": [1, 2, 3]}


def revised(value: bytes) -> bytes:
    return (2 << 20).to_bytes(8, "big") + value


FAULTS: dict[str, Callable[[Batch], None]] = {
    "a row is lost": lambda batch: batch.delete(ITEMS, item_keys(1, 3, 4)[0]),
    "a row came back": lambda batch: batch.put(ITEMS, item_keys(1, 1, 1)[0], revised(b"")),
    "a row has another revision": lambda batch: batch.put(
        ITEMS, item_keys(1, 3, 4)[0], revised(b"\x03" * 112)
    ),
    "events are lost": lambda batch: batch.delete(EVENTS, (3).to_bytes(8, "big")),
    "a work was applied twice": lambda batch: batch.put(MARKS, mark_key(1, 2), b"\0\0\0\2"),
    "a mark is lost": lambda batch: batch.delete(MARKS, mark_key(1, 2)),
    "a counter is lost": lambda batch: batch.delete(COUNTERS, counter_key(worker(1))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_agree_is_found(replica: Replica, fault: str) -> None:
    batch = Batch()
    FAULTS[fault](batch)
    replica.data.commit(batch, replica.data.record)
    assert replica.found() != []

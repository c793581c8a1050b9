"""A killed process leaves some beginning of its batches, whole over all families."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from quorate.storage.engine.port import Batch
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.families import APPLIED, EVENTS

FAMILIES = ("few", "many", APPLIED, EVENTS)
#: How many batches come before the kill.
BATCHES = 800
#: Writes batches and tells how many are durable; buffers fill up at other batches in each family.
WRITER = f"""
import os, sys
from pathlib import Path
from random import Random
from threading import Thread
from quorate.storage.engine.port import Batch, FullError
from quorate.storage.engine.options import Budget
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.families import EVENTS

engine = RocksEngine(Path(sys.argv[1]), {FAMILIES!r}, Budget(1 << 20, 1 << 18))
rng, written = Random(int(sys.argv[2])), 0

def sync():
    while True:
        number = written
        engine.sync()
        print(number, flush=True)

if sys.argv[3] == "synced":
    Thread(target=sync, daemon=True).start()
for number in range(1, {BATCHES} + 1):
    batch = Batch()
    for family in {FAMILIES!r}:
        batch.put(family, b"number", b"%d" % number)
    for _ in range(rng.randrange(6)):
        batch.put("many", b"%d" % rng.randrange(5_000), bytes(300))
    batch.put(EVENTS, b"event%d" % number, bytes(rng.randrange(3_000)))
    if rng.random() < 0.1:
        batch.put("few", b"%d" % rng.randrange(100), bytes(20_000))
    engine.write(batch, patient=True)
    written = number
if sys.argv[3] == "closed":
    Thread(target=engine.close).start()
if sys.argv[3] == "unflushed":
    def full():
        raise FullError("no space")

    class Stores(dict):
        def popitem(self):
            if len(self) < stores:
                os.kill(os.getpid(), 9)
            return super().popitem()

    engine.flush, stores, engine._stores = full, len(engine._stores), Stores(engine._stores)
    engine.close()
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def found(tmp_path: Path) -> Iterator[RocksEngine]:
    engine = RocksEngine(tmp_path, FAMILIES)
    yield engine
    engine.close()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("how", ["full", "synced", "closed", "unflushed"])
def test_a_kill_leaves_whole_batches_and_what_was_synced(
    tmp_path: Path, how: str, seed: int
) -> None:
    process = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path), str(seed), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode == -9, process.stderr
    synced = max(map(int, process.stdout.split()), default=0)
    engine = RocksEngine(tmp_path, FAMILIES)
    [number] = {int(engine.get(family, b"number") or b"0") for family in FAMILIES}
    events = [key for key, _ in engine.iterate(EVENTS, b"event", b"f")]
    engine.close()

    assert sorted(events) == sorted(b"event%d" % each for each in range(1, number + 1))
    assert max(synced, 1) <= number <= BATCHES
    assert synced or how != "synced"


def test_every_row_and_range_is_counted_as_rocksdb_counts_them(found: RocksEngine) -> None:
    """By these numbers a flush knows that nothing is left."""
    batch = Batch()
    for number in range(20):
        batch.put("many", b"%d" % number, b"v")
    batch.delete_range("many", b"1", b"2")
    batch.delete("many", b"5")
    batch.put("few", b"k", b"v")
    batch.put(APPLIED, b"k", b"v")
    batch.delete_range(APPLIED, b"a", b"b")
    for _ in range(3):
        found.write(batch)

    name = "rocksdb.num-entries-active-mem-table"
    assert found._written == {
        place: store.property_int_value(name) for place, store in found._stores.items()
    }
    assert not all(found._flushed(*each) for each in found._written.items())
    found.flush()
    assert all(found._flushed(*each) for each in found._written.items())

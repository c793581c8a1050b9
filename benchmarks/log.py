"""What the node's log costs: entries per second with every append synced before the next.

Each shard appends one entry, waits until it is durable, and appends the next, so that `shards` are
in flight at a time and share each sync. CPU is that of the whole process.

python benchmarks/log.py [--json] [--seconds S] [--directory DIR]
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from figures import Options, report
from quorate.consensus.messages import Entry, EntryKind
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.shard_journal import ShardJournal
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import FileWitnesses
from systems.system import Meter

CASES: Final = [(size, shards) for size in (128, 128 << 10) for shards in (1, 4)]
#: A journal is cut when it holds so many bytes, as a node's is.
TAIL_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one case gave."""

    entry_bytes: int
    shards: int
    entries_per_s: float
    syncs_per_s: float
    #: Of one entry.
    cpu_us: float


class Writers:
    """One writer per shard on one log."""

    def __init__(self, directory: Path, shards: int, size: int) -> None:
        self._log: Final = NodeLog(
            RocksEngine(directory / "log", [FAMILY]), FileWitnesses(directory / "witness")
        )
        self._journals: Final = [self._log.journal(f"group/{shard}") for shard in range(shards)]
        self._payload: Final = bytes(size)
        self._kept: Final = TAIL_BYTES // size
        self._sync_loop: Final = SyncLoop(
            self._log, asyncio.get_running_loop(), self._synced, self._failed
        )
        self._ended: Final[asyncio.Future[None]] = asyncio.get_running_loop().create_future()
        self._deadline = 0.0
        self.entries = 0
        self.syncs = 0

    async def run(self, seconds: float) -> None:
        """Write until the time is up."""
        self._deadline = time.perf_counter() + seconds
        for journal in self._journals:
            self._append(journal)
        await self._ended
        await self._sync_loop.close()
        self._log.close()

    def _append(self, journal: ShardJournal) -> None:
        index = journal.last.index + 1
        journal.append([Entry(index, 1, EntryKind.COMMAND, self._payload)])
        if index % self._kept == 0:
            journal.compact_to(index - 1)
        self._sync_loop.request()

    def _synced(self, sequence: int) -> None:
        self.syncs += 1
        done = [each for each in self._journals if each.written <= sequence]
        self.entries += len(done)
        if time.perf_counter() < self._deadline:
            for journal in done:
                self._append(journal)
        elif not self._ended.done():
            self._ended.set_result(None)

    def _failed(self, error: Exception) -> None:
        self._ended.set_exception(error)


async def measure(directory: Path, size: int, shards: int, seconds: float) -> Row:
    """Run one case."""
    writers, meter = Writers(directory, shards, size), Meter(())
    await writers.run(seconds)
    used = meter.read()
    _, cpu_us = used.each_us(writers.entries)
    return Row(
        entry_bytes=size,
        shards=shards,
        entries_per_s=writers.entries / used.seconds,
        syncs_per_s=writers.syncs / used.seconds,
        cpu_us=cpu_us,
    )


def main() -> None:
    """Measure every case and print."""
    options = Options(__doc__, seconds=3.0).parse_args()
    rows: list[Row] = []
    for size, shards in CASES:
        with TemporaryDirectory(dir=options.directory) as directory:
            rows.append(asyncio.run(measure(Path(directory), size, shards, options.seconds)))
    report(rows, as_json=options.json)


if __name__ == "__main__":
    main()

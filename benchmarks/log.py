"""What the node's log costs: entries per second with every append synced before the next.

Each shard appends one entry, waits until it is durable, and appends the next, so that `shards` are
in flight at a time and share each sync. CPU is that of the whole process.

python benchmarks/log.py [--json] [--seconds S] [--directory DIR]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quorate.consensus.messages import Entry, EntryKind
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.shard_journal import ShardJournal
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import FileWitnesses

CASES: Final = [(size, shards) for size in (128, 128 << 10) for shards in (1, 4)]
#: A journal is cut when it holds so many bytes, as a node's is.
TAIL_BYTES: Final = 64 << 20


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


def measure(parent: Path | None, size: int, shards: int, seconds: float) -> dict[str, float]:
    """Run one case in a directory of its own."""

    async def run(directory: Path) -> dict[str, float]:
        writers = Writers(directory, shards, size)
        began, cpu = time.perf_counter(), time.process_time()
        await writers.run(seconds)
        took, used = time.perf_counter() - began, time.process_time() - cpu
        return {
            "entry_bytes": size,
            "shards": shards,
            "entries_per_s": round(writers.entries / took),
            "syncs_per_s": round(writers.syncs / took),
            "cpu_us_per_entry": round(used * 1e6 / writers.entries, 1),
        }

    with TemporaryDirectory(dir=parent) as directory:
        return asyncio.run(run(Path(directory)))


def main() -> None:
    """Measure every case and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--directory", type=Path, help="where the log is kept meanwhile")
    arguments = parser.parse_args()
    results = [
        measure(arguments.directory, size, shards, arguments.seconds) for size, shards in CASES
    ]
    if arguments.json:
        print(json.dumps({"python": platform.python_version(), "cases": results}, indent=2))
        return
    for each in results:
        print(
            f"{each['entry_bytes']:>7} bytes, {each['shards']} shards:"
            f" {each['entries_per_s']:>6} entries/s, {each['syncs_per_s']:>5} syncs/s,"
            f" {each['cpu_us_per_entry']:>6} us of CPU per entry"
        )


if __name__ == "__main__":
    main()

"""Reads all files of the node, slowly and forever, and compares rows with other replicas.

Files are compared with their sums from an earlier read; rows by digests. The leader has every
replica digest the same range right after the same entry, and each reports its digest to the shard:
a replica that differs from a majority of all replicas fences itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from google.protobuf.message import Message

from quorate.apply import checks
from quorate.apply.levels import CHECKED_FROM, CORE
from quorate.apply.outcomes import RowsDifferError
from quorate.healing.repairs import Repairs
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import REFUSALS
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import Submit
from quorate.shards.timing import end, pause, until_beat
from quorate.storage.data.digest import of_range
from quorate.storage.engine.port import DamagedError, Engine, EngineError
from quorate.storage.sums import FileSums
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.control_pb2 import CheckRows, ReportRows

_log = logging.getLogger(__name__)

#: Bytes of rows that one check covers, in one turn of the loop.
RANGE_BYTES: Final = 128 << 10
#: The pause between two passes over the files, and the bytes that a short file counts for.
_PASS_S: Final = 2.0
_SHORT_BYTES: Final = 128 << 10
_TURN_BYTES: Final = 1 << 20
#: How long a check waits for all replicas of a shard.
_PATIENCE_S: Final = 30.0
_LOOK_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class _Own:
    """The digest of this replica in a check, and the start of the next check."""

    index: int
    digest: bytes
    end: tuple[str, bytes] | None
    until: float


@dataclass(eq=False)
class Scrub:
    """Scrubs the files of the node and the rows that it leads, each at a bounded rate.

    Shards at rest are not woken: their files are read, and their rows checked once they are
    written again. `_log_damaged` gets damage of the log that all shards share.
    """

    _shards: NodeShards
    _repairs: Repairs
    _submit: Submit
    _log: Engine
    _loop: asyncio.AbstractEventLoop
    _file_bytes_per_s: int
    _row_bytes_per_s: int
    _log_damaged: Callable[[Exception], None]

    def __post_init__(self) -> None:
        #: Bytes of files read, passes over all files, and checks of rows that were decided.
        self.file_bytes = 0
        self.passes = 0
        self.checks = 0
        #: Shards whose replicas differ while no majority of them agrees.
        self.problems: dict[ShardId, str] = {}
        #: By open database: another one may have different files of the same names.
        self._sums = WeakKeyDictionary[Engine, FileSums]()
        #: Checks that are not decided yet, and the start of the next one of each shard.
        self._own: dict[ShardId, _Own] = {}
        self._next: dict[ShardId, tuple[str, bytes]] = {}
        self._reporting = set[asyncio.Task[None]]()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start to scrub."""
        for work in (self._read_files(), self._check_rows()):
            self._tasks.append(self._loop.create_task(work))

    async def stop(self) -> None:
        """Stop scrubbing."""
        await end(*self._tasks, *self._reporting)

    # Files.

    async def _read_files(self) -> None:
        while True:
            for shard in list(self._shards.all()):
                if shard.stopped is None:
                    await self._scan(shard.data.engine, shard)
            await self._scan(self._log, None)
            self.passes += 1
            await pause(self._loop, _PASS_S)

    async def _scan(self, engine: Engine, shard: Shard | None) -> None:
        """Read the files of a database once; `shard` is the owner of its rows, None for the log."""
        reading, over = self._reading(engine, shard), False
        try:
            while not over:
                count, weight, over = await self._loop.run_in_executor(None, _read_on, reading)
                self.file_bytes += count
                await pause(self._loop, weight / self._file_bytes_per_s)
        except DamagedError as error:
            if shard is None:
                self._log_damaged(error)
            elif shard.data.engine is engine and shard.stopped is None:
                self._repairs.fence(shard.id, error)
        except (EngineError, OSError) as error:
            # It was closed, or replaced by a snapshot.
            _log.debug("files could not be read: %s", error)

    def _reading(self, engine: Engine, shard: Shard | None) -> Iterator[int]:
        """Read the files through `FileSums`, after checking that none is missing."""
        tables = engine.tables()
        gone = next((path for path in tables if not path.exists()), None)
        # A compaction may have removed it.
        if gone is not None and gone in engine.tables():
            raise DamagedError(f"The file {gone} is gone.")
        if shard is not None:
            shard.data.check_pointer()
        for directory in {path.parent for path in tables}:
            if engine not in self._sums:
                self._sums[engine] = FileSums(directory)
            yield from self._sums[engine].read()

    # Rows.

    async def _check_rows(self) -> None:
        turn, due = 0, self._loop.time()
        while True:
            for shard in list(self._own):
                self._decide(shard)
            if self._loop.time() >= due:
                due = self._loop.time() + RANGE_BYTES / self._row_bytes_per_s
                led = [each for each in self._shards.leading() if self._is_due(each)]
                if led and self._shards.level(CORE) >= CHECKED_FROM:
                    turn += 1
                    await self._begin(led[turn % len(led)])
            await until_beat(self._loop, _LOOK_S)

    def _is_due(self, shard: Shard) -> bool:
        if shard.resting or shard.id in self._own:
            return False
        configuration = shard.configuration
        return configuration is not None and len(configuration.peers) > 1

    async def _begin(self, shard: Shard) -> None:
        family, key = self._next.get(shard.id, ("", b""))
        check = CheckRows(family=family, key=key, bytes=RANGE_BYTES)
        await self._try(shard.id, check, "shard %s is not checked now: %s")

    def digest(self, shard: Shard, check: CheckRows) -> None:
        """Read the rows of a check that a replica has just applied, and report their digest."""
        try:
            found, end_ = of_range(shard.data.engine, check.family, check.key, check.bytes)
        except DamagedError as error:
            self._repairs.fence(shard.id, error)
            return
        until = self._loop.time() + _PATIENCE_S
        self._own[shard.id] = _Own(check.index, found, end_, until)
        report = ReportRows(index=check.index, node=self._shards.me.node, digest=found)
        failed = "shard %s does not learn what was found here: %s"
        task = self._loop.create_task(self._try(shard.id, report, failed))
        self._reporting.add(task)
        task.add_done_callback(self._reporting.discard)

    async def _try(self, shard: ShardId, command: Message, failed: str) -> None:
        try:
            await self._submit(shard, command)
        except REFUSALS as error:
            _log.debug(failed, shard, error)

    def _decide(self, name: ShardId) -> None:
        """Compare the reports of a check, once enough have arrived or the time is up."""
        own, shard = self._own[name], self._shards.replica(name)
        if shard is None or (configuration := shard.configuration) is None:
            del self._own[name]
            return
        nodes = {peer.node for peer in configuration.peers}
        try:
            found = checks.reports(shard.data, own.index)
        except EngineError:
            return
        counts = Counter(found[node] for node in nodes & found.keys())
        complete = nodes <= found.keys()
        agreed = next((each for each, count in counts.items() if 2 * count > len(nodes)), None)
        if not complete and self._loop.time() < own.until and agreed in (None, own.digest):
            return
        del self._own[name]
        self._next[name] = own.end or ("", b"")
        self.checks += 1
        if agreed is not None and agreed != own.digest:
            self._repairs.fence(
                name,
                RowsDifferError(
                    own.index,
                    f"The rows of shard {name} on this node differ from those of a majority of its"
                    f" replicas at index {own.index}.",
                ),
            )
        elif agreed is None and len(counts) > 1:
            self.problems[name] = (
                f"the replicas of shard {name} differ at index {own.index}, and no majority of them"
                " agrees: nothing is repaired; compare their rows with a backup, and recover the"
                " shard from the replica that is right with `quorate shard recover`"
            )
            _log.error("%s", self.problems[name])
        elif len(counts) == 1 and complete and own.end is None:
            self.problems.pop(name, None)

    def alarms(self) -> Iterator[str]:
        """Yield a text for each shard whose replicas differ without a majority that agrees."""
        return iter(self.problems.values())


def _read_on(reading: Iterator[int]) -> tuple[int, int, bool]:
    """Return the bytes read, their weight for the rate, and whether all were read; blocks.

    A thread reads all files of a small database in one turn: waking one for each costs more.
    """
    count, weight = 0, 0
    for part in reading:
        count, weight = count + part, weight + max(part, _SHORT_BYTES)
        if count >= _TURN_BYTES:
            return count, weight, False
    return count, weight + _SHORT_BYTES, True

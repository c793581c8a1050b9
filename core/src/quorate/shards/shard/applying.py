"""Applies the committed entries of a replica, and pauses while it cannot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from quorate.apply.outcomes import FilesNeededError
from quorate.consensus.driver import Driver
from quorate.consensus.messages import Entry, weight
from quorate.shards.shard.context import ReplicaContext, ShardHooks
from quorate.shards.shard.log_keeper import LogKeeper
from quorate.shards.shard.proposer import Proposer
from quorate.shards.shard.role_record import RoleRecord
from quorate.storage.engine.port import EngineError, FullError, StalledError
from quorate.v1.files_pb2 import FileSet

if TYPE_CHECKING:
    from quorate.shards.shard.shard import Shard

_log = logging.getLogger(__name__)

#: Delay before writes to the data are retried, after a stall and on a full disk.
_STALLED_S: Final = 0.05
_FULL_S: Final = 1.0
#: Delay before files that are on no node are looked for again.
_FILES_S: Final = 1.0


@dataclass(eq=False)
class ApplyLoop:
    """Applies entries in the turns of a driver.

    It pauses for a fork of the data, for files of an entry, for a disk, and for other shards.
    """

    _shard: Shard
    _context: ReplicaContext
    _hooks: ShardHooks
    _driver: Driver
    _proposer: Proposer
    _keeper: LogKeeper
    _record: RoleRecord | None
    _applied: Callable[[], None]

    def __post_init__(self) -> None:
        self._loop = self._context.loop
        self._clock = self._context.loop.time
        self._preparing: asyncio.Task[None] | None = None
        #: The copying of the data to new shards, if any.
        self.forking: asyncio.Task[None] | None = None
        #: When to resume applying while writes to the data are stopped.
        self._held_until = float("-inf")
        #: Whether other shards of the node may run between turns of applying, and do so now.
        self.may_yield = False
        self._yields = False

    def apply(self, entries: Sequence[Entry]) -> int:
        """Apply entries and return how many; 0 during a pause, after which it wakes the driver."""
        if self._yields or self.forking is not None or self._clock() < self._held_until:
            return 0
        shard = self._shard
        if self._record is not None:
            self._record.committed(entries)
        began = perf_counter()
        try:
            applied = shard.applier.apply(entries, shard.evaluator.evaluated)
        except (StalledError, FullError) as error:
            self._hold(error)
            return 0
        except FilesNeededError as needed:
            if self._preparing is None:
                self._preparing = self._loop.create_task(self._prepare(needed.files))
            return 0
        self._held_until = float("-inf")
        count = len(applied)
        self._proposer.stored(applied)
        self._keeper.applied(count, sum(map(weight, entries[:count])))
        self._applied()
        self.fork()
        if (check := shard.applier.check_here) is not None:
            self._hooks.check(shard, check)
        if self.may_yield and (budget := self._context.loop_budget) is not None:
            rest_s = budget.after(shard.id, perf_counter() - began)
            if rest_s:
                self._yields = True
                self._loop.call_later(rest_s, self._go_on)
        return count

    def fork(self) -> None:
        """Copy the data to new shards, if the newest applied entry cut this one."""
        cut, fork = self._shard.applier.cut_here, self._hooks.fork
        if cut is not None and fork is not None and self.forking is None:
            self.forking = self._loop.create_task(self._forked(fork(self._shard, cut)))

    def stop(self) -> None:
        """Stop waiting for files."""
        if self._preparing is not None:
            self._preparing.cancel()

    def _hold(self, error: StalledError | FullError) -> None:
        """Pause applying, and retry after a delay; refuse proposals until then."""
        shard = self._shard
        wait = _STALLED_S if isinstance(error, StalledError) else _FULL_S
        self._held_until = self._clock() + wait
        self._loop.call_later(wait, self._driver.wake)
        self._proposer.hold(
            f"shard {shard.id} writes nothing to its data for now: {error}", self._held_until
        )
        _log.warning(
            "shard %s paused applying after index %d: %s",
            shard.id,
            shard.applied,
            error,
            extra={"shard": str(shard.id), "index": shard.applied},
        )

    async def _prepare(self, files: FileSet) -> None:
        """Get the files of the next entry; nothing is applied until they are here."""
        shard = self._shard
        try:
            while (paths := self._paths(files)) is None:
                here = self._context.files
                if here is None or not await here.come(shard, files):
                    _log.warning(
                        "shard %s waits for files of %s at index %d, which no node gives it",
                        shard.id,
                        files.name,
                        files.ingested_at,
                        extra={"shard": str(shard.id), "index": files.ingested_at},
                    )
                    await asyncio.sleep(_FILES_S)
            await self._loop.run_in_executor(None, shard.data.sync)
            shard.applier.prepared(files, paths)
        except (FullError, StalledError) as error:
            self._hold(error)
        except (EngineError, OSError) as error:
            shard.fail(error)
        finally:
            self._preparing = None
            self._driver.wake()

    def _paths(self, files: FileSet) -> Mapping[str, Sequence[Path]] | None:
        here = self._context.files
        return None if here is None else here.paths(self._shard.id, files)

    async def _forked(self, forking: Awaitable[None]) -> None:
        try:
            await forking
        except (EngineError, OSError, ValueError) as error:
            self._shard.fail(error)
        else:
            self.forking = None
            self._driver.wake()

    def _go_on(self) -> None:
        self._yields = False
        self._driver.wake()

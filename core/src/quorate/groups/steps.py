"""Takes the steps of changes of shards where these are led."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from quorate.groups.refusals import NotProposedError
from quorate.groups.shard.shard import Shard
from quorate.groups.shard_creation import Submit
from quorate.groups.timing import end
from quorate.plugin import keys
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.storage.engine.port import EngineError
from quorate.storage.families import SHARDS
from quorate.storage.rows import value_of
from quorate.v1.control_pb2 import ShardRow

_log = logging.getLogger(__name__)

#: Timeout of a step.
STEP_S: Final = 5.0


class Steps:
    """Continues the changes in the rows of metadata/0: any later leader resumes them."""

    def __init__(
        self,
        get: Callable[[ShardId], Shard | None],
        rows: Callable[[], Mapping[ShardId, ShardRow]],
        submit: Submit,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._get: Final = get
        self._rows: Final = rows
        self._submit: Final = submit
        self._loop: Final = loop
        self._tasks: Final[dict[object, asyncio.Task[None]]] = {}
        #: The changes before which the data here was flushed.
        self._flushed: Final = set[int]()
        self._closed = False

    async def close(self) -> None:
        """Take no more steps."""
        self._closed = True
        await end(*self._tasks.values())

    def _begin(self, key: object, work: Coroutine[Any, Any, None]) -> None:
        if key in self._tasks or self._closed:
            work.close()
            return
        task = self._tasks[key] = self._loop.create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def _flush_before(self, change: int, shard: Shard) -> None:
        """Flush once before a change, so that commands need not wait for it."""
        if change not in self._flushed:
            self._flushed.add(change)
            self._begin(("flush", shard.id), self._flush(shard))

    async def _flush(self, shard: Shard) -> None:
        try:
            await self._loop.run_in_executor(None, shard.data.flush)
        except EngineError as error:
            _log.warning("the data of shard %s could not be flushed: %s", shard.id, error)

    async def _row(self, shard: ShardId) -> ShardRow:
        """Return the newest row of a shard."""
        metadata = self._get(METADATA)
        if metadata is None:
            raise NotProposedError(f"there is no replica of {METADATA} here")
        await metadata.read_barrier(STEP_S)
        stored = metadata.data.get(SHARDS, keys.pack(shard.group, shard.number))
        return ShardRow() if stored is None else ShardRow.FromString(value_of(stored))

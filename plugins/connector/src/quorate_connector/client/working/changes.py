"""A source for connectors: the changes of a family, divided among tasks by shard."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from quorate.client import AsyncClient, ChangeKind, WatchedChange
from quorate.v1.token_pb2 import WatchToken

from quorate_connector.client.working.assigned import AssignedTask

#: Rows of a snapshot in one batch.
_ROWS: Final = 500
_MARKS: Final = frozenset({ChangeKind.LISTED, ChangeKind.BOOKMARK})


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Changes in shard order, with the cursor to store once they are delivered."""

    changes: Sequence[WatchedChange]
    #: The resume token; empty within a snapshot, which is repeated as a whole.
    cursor: bytes
    task: AssignedTask[Any]

    async def store_cursor(self) -> None:
        """Store the cursor, so that the next run of the task resumes after these changes."""
        if self.cursor:
            await self.task.store_cursor(self.cursor)


async def changes_of(
    q: AsyncClient, task: AssignedTask[Any], family: str
) -> AsyncGenerator[ChangedRows, None]:
    """Yield the changes of a family in the shards of a task, after its cursor.

    Without a cursor the current rows come first, as they do after a change of kind `RESYNC` and
    when `tasks_max` has changed. By asking for more a caller confirms the changes it has received.
    """
    every = await _shards(q, family)
    shards = [each for each in every if each % task.tasks_max == task.number]
    if not shards:
        raise ValueError(
            f"{family} has {len(every)} shards, none of them for task {task.number}: set tasks_max"
            f" to at most {len(every)}"
        )
    token = await task.cursor()
    found: list[WatchedChange] = []
    watch = q.watch(family, token=token, shards=shards, marks=True)
    async with aclosing(watch):
        async for change in watch:
            if change.kind not in _MARKS:
                found.append(change)
            # Within a response the token is the previous one.
            moved = bool(change.token) and change.token != token
            if found and (moved or (not change.token and len(found) >= _ROWS)):
                yield ChangedRows(tuple(found), change.token, task)
                found.clear()
            elif moved:
                await task.store_cursor(change.token)
            token = change.token or token


async def _shards(q: AsyncClient, family: str) -> list[int]:
    """Return the numbers of the shards that hold rows of a family."""
    watch = q.watch(family, changes_only=True, marks=True)
    async with aclosing(watch):
        async for mark in watch:
            return [each.shard for each in WatchToken.FromString(mark.token).positions]
    raise ValueError(f"the watch of {family} has ended")

"""A source for connectors: the changes of a family, divided among the tasks by shard."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from quorate.client import AsyncClient, ChangeKind, WatchedChange
from quorate.v1.token_pb2 import WatchToken

from quorate_connector.client.working.assigned import AssignedTask

#: Rows of a snapshot that are given at a time.
_ROWS: Final = 500
_MARKS: Final = frozenset({ChangeKind.LISTED, ChangeKind.BOOKMARK})


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Changes in the order of their shards, and what to store when they have arrived."""

    changes: Sequence[WatchedChange]
    #: The resume token; empty within a snapshot, which is given again as a whole.
    cursor: bytes
    task: AssignedTask[Any]

    async def store_cursor(self) -> None:
        """Let the next run of the task go on after these changes."""
        if self.cursor:
            await self.task.store_cursor(self.cursor)


async def changes_of(
    q: AsyncClient, task: AssignedTask[Any], family: str
) -> AsyncGenerator[ChangedRows, None]:
    """Yield the changes of a family in the shards of a task, after its cursor.

    Without a cursor the current rows come first; so they do after a change of kind `RESYNC`, and
    when `tasks_max` has changed. A caller that asks for more has dealt with what was given.
    """
    every = await _shards(q, family)
    shards = [each for each in every if each % task.tasks_max == task.number]
    if not shards:
        raise ValueError(
            f"{family} has {len(every)} shards, none of them for task {task.number}: set tasks_max"
            f" to {len(every)} at most"
        )
    token = await task.cursor()
    found: list[WatchedChange] = []
    watch = q.watch(family, token=token, shards=shards, marks=True)
    async with aclosing(watch):
        async for change in watch:
            if change.kind not in _MARKS:
                found.append(change)
            # Within a response the token is the one before it.
            moved = bool(change.token) and change.token != token
            if found and (moved or (not change.token and len(found) >= _ROWS)):
                yield ChangedRows(tuple(found), change.token, task)
                found.clear()
            elif moved:
                await task.store_cursor(change.token)
            token = change.token or token


async def _shards(q: AsyncClient, family: str) -> list[int]:
    """Return the numbers of the shards that have rows of a family."""
    watch = q.watch(family, changes_only=True, marks=True)
    async with aclosing(watch):
        async for mark in watch:
            return [each.shard for each in WatchToken.FromString(mark.token).positions]
    raise ValueError(f"the watch of {family} has ended")

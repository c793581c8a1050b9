"""A task held by this worker: prepared, agreed with the cluster, run, and stopped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, quote_plus

from quorate_connector.v1 import connectors_pb2, tasks_pb2

#: The size limit of a reason, in bytes; the cluster stores no more.
LONGEST: Final = 4_096
_MASK: Final = "***"
#: A shorter secret occurs in too many words and protects nothing.
_SHORTEST_SECRET: Final = 4


def reason_of(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Return the text of an error, with the secrets that its task has read masked."""
    said = "; ".join(f"{type(each).__name__}: {_told(each)}" for each in _leaves(error))
    hidden = {
        spelling
        for secret in secrets
        if len(secret) >= _SHORTEST_SECRET
        for spelling in _spellings(secret)
    }
    for spelling in sorted(hidden, key=len, reverse=True):
        said = said.replace(spelling, _MASK)
    return said.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore")


def _told(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as failure:  # noqa: BLE001 - without a reason the task would never be reported
        return f"it cannot be shown, because of {type(failure).__name__}"


def _spellings(secret: str) -> Iterator[str]:
    """Yield the spellings of a text in errors: plain, as a literal, and as part of a URL."""
    yield secret
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield quote(secret, errors="replace")
    yield quote(secret, safe="", errors="replace")
    yield quote_plus(secret, errors="replace")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A task that is ready to run."""

    #: Runs it until it is cancelled.
    run: Callable[[], Awaitable[None]]
    #: Returns the secrets that it has read, which its errors must not show.
    secrets: Callable[[], frozenset[str]]


#: Prepares a task; its work calls `fenced` once it learns that another worker has the task.
Prepare = Callable[[tasks_pb2.Task, Callable[[], None]], Awaitable[Work]]
#: Starts a coroutine, and keeps a reference to it.
Begin = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class EndedError(Exception):
    """The code of a connector has returned."""

    def __init__(self) -> None:
        super().__init__("it has ended by itself; a task runs until it is cancelled")


class HeldTask:
    """A task under one epoch, which runs while its row wants it to and the lease holds.

    While the lease holds, the cluster has heard from this worker recently and assigns its tasks to
    no other. A run starts only after the cluster has agreed, during the lease, that the task runs
    under that epoch: the row that this worker has seen may be old.
    """

    def __init__(
        self,
        row: tasks_pb2.Task,
        *,
        prepare: Prepare,
        begin: Begin,
        changed: Callable[[], None],
        turn: asyncio.Lock,
    ) -> None:
        #: The row as last received from the cluster.
        self.row = row
        #: The time of the last report that the cluster agreed to, on the loop's clock.
        self.agreed_at = 0.0
        self._prepare: Final = prepare
        self._begin: Final = begin
        self._changed: Final = changed
        #: Acquired by each run: the run under an earlier epoch may not have ended yet.
        self._turn: Final = turn
        self._leased = False
        self._over = False
        self._failure = ""
        self._running: asyncio.Task[None] | None = None
        self._ready = False
        self._stopping = False
        #: The state that the cluster has agreed to.
        self._agreed = tasks_pb2.TASK_STATE_UNSPECIFIED
        self._may_run: Final = asyncio.Event()
        self._secrets: Callable[[], frozenset[str]] = frozenset

    @property
    def runs(self) -> bool:
        """Whether the task's code may be running."""
        return self._running is not None

    def update(self, row: tasks_pb2.Task) -> None:
        """Continue with a newer row of the same epoch."""
        self.row = row
        self._settle()

    def lease(self, holds: bool) -> None:
        """Record that the worker's lease has begun or ended."""
        self._leased = holds
        if not holds:
            # Earlier agreements of the cluster no longer count.
            self._agreed = tasks_pb2.TASK_STATE_UNSPECIFIED
            self._may_run.clear()
        self._settle()

    def end(self) -> None:
        """Stop the task for good: the epoch is over."""
        self._over = True
        self._settle()

    def report(self) -> tasks_pb2.TaskReport | None:
        """Return the report for the cluster; None if there is no state to report."""
        state = self._state()
        if self._over or state == tasks_pb2.TASK_STATE_UNSPECIFIED:
            return None
        row = self.row
        return tasks_pb2.TaskReport(task=row.id, epoch=row.epoch, state=state, reason=self._failure)

    def is_unsettled(self, report: tasks_pb2.TaskReport) -> bool:
        """Return whether the cluster has not agreed to a report yet."""
        return report.state != self._agreed

    def agree(self, state: tasks_pb2.TaskState, at: float) -> None:
        """Record that the cluster agreed to a report of that state; `at` is its send time."""
        self._agreed, self.agreed_at = state, at
        if state == tasks_pb2.TASK_STATE_RUNNING:
            self._may_run.set()
        else:
            self._may_run.clear()
        if state in (tasks_pb2.TASK_STATE_FAILED, tasks_pb2.TASK_STATE_STOPPED):
            self.end()

    def _state(self) -> tasks_pb2.TaskState:
        if self._failure:
            return tasks_pb2.TASK_STATE_FAILED
        if self._running is not None:
            runs = self._ready and not self._stopping
            return tasks_pb2.TASK_STATE_RUNNING if runs else tasks_pb2.TASK_STATE_UNSPECIFIED
        if self.row.release_by_ms:
            return tasks_pb2.TASK_STATE_STOPPED
        if self.row.target == connectors_pb2.TARGET_PAUSED:
            return tasks_pb2.TASK_STATE_PAUSED
        return tasks_pb2.TASK_STATE_UNSPECIFIED

    def _is_wanted(self) -> bool:
        row = self.row
        asked = row.target == connectors_pb2.TARGET_RUNNING and not row.release_by_ms
        return asked and self._leased and not self._over and not self._failure

    def _settle(self) -> None:
        """Start or cancel a run to match the wanted state."""
        wanted = self._is_wanted()
        if self._running is None and wanted:
            self._running = self._begin(self._run())
            self._running.add_done_callback(self._ended)
        elif self._running is not None and not wanted and not self._stopping:
            # Once: a second cancel would interrupt its cleanup.
            self._stopping = True
            self._running.cancel()
        self._changed()

    async def _run(self) -> None:
        async with self._turn:
            work = await self._prepare(self.row, self.end)
            self._secrets = work.secrets
            self._ready = True
            self._changed()
            await self._may_run.wait()
            await work.run()

    def _ended(self, run: asyncio.Task[None]) -> None:
        stopped = self._stopping
        self._running, self._ready, self._stopping = None, False, False
        error = None if run.cancelled() else run.exception()
        if error is not None or not stopped:
            self._failure = reason_of(error or EndedError(), self._secrets())
        self._settle()

"""The work under one registration: follows the worker's tasks, and reports their states."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing, suppress
from typing import Any, Final
from weakref import WeakValueDictionary

from quorate.client import (
    AsyncClient,
    ChangeKind,
    InvalidError,
    QuorateError,
    RejectedError,
    WatchedChange,
)
from quorate.plugin import keys
from quorate.plugin.batches import weighed_parts
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker

from quorate_connector.client.working.assigned import FENCED
from quorate_connector.client.working.held import HeldTask, Prepare
from quorate_connector.families import ASSIGNMENTS
from quorate_connector.v1.tasks_pb2 import ReportTasks, Task, TaskReport

#: Heartbeats per liveness timeout of a worker.
_BEATS: Final = 3
#: The part of the timeout after which a worker without an answer stops its tasks; they have the
#: rest of it to end.
_LEASE: Final = 0.9
#: Codes that refuse a report for good: the task no longer belongs to this worker.
_OVER: Final = frozenset({FENCED, "NOT_FOUND"})
_PAUSE_S: Final = 0.1
#: The most reports and bytes in one command: many tasks may fail at once, with long reasons.
_MOST: Final = (1_000, 256 << 10)


class Shift:
    """The tasks of a worker during one registration."""

    def __init__(self, q: AsyncClient, broker: Broker, prepare: Prepare) -> None:
        self._q: Final = q
        self._broker: Final = broker
        self._prepare: Final = prepare
        self._timeout_s: Final = broker.ttl_ms / 1_000
        self._beat_s: Final = self._timeout_s / _BEATS
        self._loop: Final = asyncio.get_running_loop()
        #: By the keys of their rows.
        self._held: Final[dict[bytes, HeldTask]] = {}
        #: The tasks that a restarted watch has not listed yet.
        self._unseen: set[bytes] = set()
        self._runs: Final[set[asyncio.Task[None]]] = set()
        #: One run of a task at a time, by the key of its row.
        self._turns: Final[WeakValueDictionary[bytes, asyncio.Lock]] = WeakValueDictionary()
        self._lease_end: asyncio.TimerHandle | None = None
        self._changed: Final = asyncio.Event()

    @property
    def running(self) -> list[Task]:
        """The tasks whose code may be running."""
        return [held.row for held in self._held.values() if held.runs]

    async def follow(self) -> None:
        """Follow the tasks that the cluster assigns to this worker, endlessly."""
        start, _ = keys.prefix(self._broker.name, self._broker.epoch)
        async with aclosing(self._q.watch(ASSIGNMENTS, prefix=start, marks=True)) as changes:
            async for change in changes:
                self._see(change)

    async def report(self) -> None:
        """Report the states of tasks, and send heartbeats, endlessly."""
        beat_at = 0.0
        while True:
            now = self._loop.time()
            self._changed.clear()
            reports = self._due(now)
            if reports or now >= beat_at:
                if not await self._report(reports):
                    await asyncio.sleep(min(_PAUSE_S, self._beat_s))
                    continue
                beat_at = now + self._beat_s
            with suppress(TimeoutError):
                async with asyncio.timeout_at(beat_at):
                    await self._changed.wait()

    async def end(self) -> None:
        """Stop all tasks, and wait until they have ended."""
        self._set_lease(False)
        for held in self._held.values():
            held.end()
        while self._runs:
            await asyncio.wait(self._runs)

    def _see(self, change: WatchedChange) -> None:
        match change.kind:
            case ChangeKind.RESYNC:
                self._unseen = set(self._held)
            case ChangeKind.LISTED:
                for key in self._unseen:
                    self._lose(key)
                self._unseen = set()
            case ChangeKind.DELETED:
                self._lose(change.key)
            case ChangeKind.BOOKMARK:
                pass
            case _:
                self._unseen.discard(change.key)
                self._hold(change.key, Task.FromString(change.value))

    def _hold(self, key: bytes, row: Task) -> None:
        held = self._held.get(key)
        if held is not None and held.row.epoch >= row.epoch:
            if held.row.epoch == row.epoch:
                held.update(row)
            return
        self._lose(key)
        turn = self._turns.setdefault(key, asyncio.Lock())
        held = HeldTask(
            row, prepare=self._prepare, begin=self._begin, changed=self._changed.set, turn=turn
        )
        self._held[key] = held
        held.lease(self._lease_end is not None)

    def _lose(self, key: bytes) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            held.end()

    def _begin(self, run: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(run)
        self._runs.add(task)
        task.add_done_callback(self._runs.discard)
        return task

    def _due(self, now: float) -> list[tuple[HeldTask, TaskReport]]:
        """Return the due reports: new states, and states agreed to longer than a timeout ago.

        Without the repetition a worker with a stalled watch would never learn that a task was
        taken from it.
        """
        return [
            (held, report)
            for held in self._held.values()
            if (report := held.report()) is not None
            and (held.is_unsettled(report) or now - held.agreed_at >= self._timeout_s)
        ]

    async def _report(self, reports: list[tuple[HeldTask, TaskReport]]) -> bool:
        """Send reports, or only a heartbeat; return whether all of them were settled."""
        settled = True
        # Without reports there is one part, a heartbeat.
        parts = weighed_parts(reports, lambda each: (1, each[1].ByteSize()), _MOST)
        for part in list(parts) or [[]]:
            left_at = self._loop.time()
            command = ReportTasks(
                worker=self._broker.name,
                worker_epoch=self._broker.epoch,
                timeout_ms=self._broker.ttl_ms,
                reports=[report for _, report in part],
            )
            try:
                reply = await self._q.execute(command, BatchReply, timeout_s=self._beat_s)
            except RejectedError as error:
                if error.code == FENCED:
                    for held in self._held.values():
                        held.end()
                return False
            except InvalidError:
                raise
            except QuorateError:
                return False
            if not self._renew(left_at):
                # The answer came too late to renew the lease.
                return False
            refused = {refusal.item: refusal.code for refusal in reply.refusals}
            for position, (held, report) in enumerate(part):
                if position not in refused:
                    held.agree(report.state, left_at)
                elif refused[position] in _OVER:
                    held.end()
                else:
                    settled = False
        return settled

    def _renew(self, left_at: float) -> bool:
        """Renew the lease from the send time of the heartbeat; return whether it still holds."""
        until = left_at + self._timeout_s * _LEASE
        if until <= self._loop.time():
            return False
        former = self._lease_end
        self._lease_end = self._loop.call_at(until, self._set_lease, False)
        if former is None:
            self._set_lease(True)
        else:
            former.cancel()
        return True

    def _set_lease(self, holds: bool) -> None:
        if not holds and self._lease_end is not None:
            self._lease_end.cancel()
            self._lease_end = None
        for held in self._held.values():
            held.lease(holds)

"""What must hold of tasks, their progress and those who act for them, whatever happened."""

from __future__ import annotations

from typing import Final

from quorate_connector.v1.connectors_pb2 import TARGET_STOPPED
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_FAILED,
    TASK_STATE_PAUSED,
    TASK_STATE_RESTARTING,
    TASK_STATE_RUNNING,
    TASK_STATE_STOPPED,
    Cursor,
    Task,
)

from tests.support.plugin_world import Violation

_HELD: Final = (TASK_STATE_ASSIGNED, TASK_STATE_RUNNING, TASK_STATE_PAUSED)


def check_form(task: Task) -> None:
    """A task has a worker in some states only, and waits and leaves with a deadline."""
    if (task.state in _HELD) != bool(task.worker) or bool(task.worker) != bool(task.worker_epoch):
        raise Violation(f"a state that does not go with the worker: {task}")
    if (task.state == TASK_STATE_RESTARTING) != bool(task.retry_at_ms):
        raise Violation(f"a wait after a failure without an end: {task}")
    if task.release_by_ms and not task.worker:
        raise Violation(f"nobody is to let go of it: {task}")
    if task.state == TASK_STATE_STOPPED and task.target != TARGET_STOPPED:
        raise Violation(f"stopped without being asked to: {task}")
    if task.state == TASK_STATE_FAILED and task.failures < task.failures_max:
        raise Violation(f"given up too early: {task}")


class Holders:
    """Who has had each task under which epoch, also tasks of connectors that are gone."""

    def __init__(self) -> None:
        self._newest: Final[dict[bytes, Task]] = {}

    def see(self, key: bytes, task: Task) -> None:
        """An epoch never goes back, and belongs to one worker."""
        before = self._newest.get(key)
        self._newest[key] = task
        if before is None:
            return
        if task.epoch < before.epoch:
            raise Violation(f"an epoch went back from {before} to {task}")
        holder = (task.worker, task.worker_epoch)
        if task.epoch == before.epoch and holder != (before.worker, before.worker_epoch):
            raise Violation(f"the same epoch for two: {before}, {task}")


def check_accepted(row: Task | None, worker_epoch: int, epoch: int) -> None:
    """Nothing is accepted of a process that does not have the task as its row was before."""
    if row is None or (row.worker_epoch, row.epoch) != (worker_epoch, epoch):
        raise Violation(f"worker epoch {worker_epoch} acted under epoch {epoch} for {row}")


def check_progress(before: Cursor, after: Cursor) -> None:
    """Progress never goes back, nor does the epoch of who stored it."""
    if after.version != before.version + 1:
        raise Violation(f"a version is left out from {before} to {after}")
    if after.epoch < before.epoch:
        raise Violation(f"an older epoch stored {after} over {before}")
    if int(after.value) < int(before.value or b"0"):
        raise Violation(f"progress went back from {before} to {after}")

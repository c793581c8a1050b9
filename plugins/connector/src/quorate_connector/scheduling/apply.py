"""The handlers: pure functions of a transaction and a command, run on every replica."""

from typing import Final

from quorate.plugin import Rejected, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.tasks import states
from quorate_connector.tasks.families import TASKS, key_of
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_UNASSIGNED,
    Assignment,
    AssignTasks,
    Reclaim,
    ReclaimTasks,
    Release,
    ReleaseTasks,
    Task,
    TaskId,
)
from quorate_connector.workers import brokers, standing

#: The task is not any more what the scheduler saw.
CHANGED: Final = "TASK_CHANGED"
#: The worker cannot be given tasks any more.
UNAVAILABLE: Final = "WORKER_UNAVAILABLE"


def assign_tasks(txn: Txn, command: AssignTasks) -> BatchReply:
    """Give tasks that wait to workers."""
    return answer_each(txn, command.assignments, _assign)


def release_tasks(txn: Txn, command: ReleaseTasks) -> BatchReply:
    """Ask workers to let go of tasks."""
    return answer_each(txn, command.releases, _release)


def reclaim_tasks(txn: Txn, command: ReclaimTasks) -> BatchReply:
    """Take tasks from workers that have left, or that are silent."""
    return answer_each(txn, command.reclaims, _reclaim)


def _assign(txn: Txn, assignment: Assignment) -> None:
    key, task = _seen(txn, assignment.task, assignment.expected_epoch)
    name, epoch = assignment.worker, assignment.worker_epoch
    if task.state != TASK_STATE_UNASSIGNED:
        raise Rejected(CHANGED, f"task {task.id.number} of {task.id.connector} does not wait")
    if standing.is_lost(txn, name, epoch) or standing.read(txn, name).draining:
        raise Rejected(UNAVAILABLE, f"worker {name} takes no tasks under epoch {epoch}")
    standing.count_on(txn, name, epoch, assignment.timeout_ms or standing.TIMEOUT_MS)
    states.give(txn, key, task, name, epoch)


def _release(txn: Txn, release: Release) -> None:
    key, task = _seen(txn, release.task, release.expected_epoch)
    if not task.worker or task.release_by_ms:
        raise Rejected(CHANGED, f"task {task.id.number} of {task.id.connector} leaves already")
    by_ms = txn.proposed_at_ms + release.timeout_ms
    states.order_release(txn, key, task, by_ms, release.reason)


def _reclaim(txn: Txn, reclaim: Reclaim) -> None:
    key, task = _seen(txn, reclaim.task, reclaim.expected_epoch)
    if not task.worker or not standing.is_lost(txn, task.worker, task.worker_epoch):
        raise Rejected(CHANGED, f"task {task.id.number} of {task.id.connector} has a live worker")
    gone = brokers.epoch_of(txn, task.worker) != task.worker_epoch
    reason = f"worker {task.worker} {'is gone' if gone else 'gave no sign in time'}"
    states.take(txn, key, task, states.at_rest(task), reason)


def _seen(txn: Txn, named: TaskId, expected_epoch: int) -> tuple[bytes, Task]:
    key = key_of(named)
    value = txn.get(TASKS, key)
    if value is not None:
        task = Task.FromString(value)
        if task.epoch == expected_epoch:
            return key, task
    raise Rejected(CHANGED, f"task {named.number} of {named.connector} has changed since")

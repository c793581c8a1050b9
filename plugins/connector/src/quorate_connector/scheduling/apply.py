"""The scheduler's verbs: assign, release and reclaim tasks."""

from collections.abc import Callable
from functools import cache, partial
from typing import Final

from quorate.plugin import Rejected, Txn
from quorate.plugin.advanced import answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector import counters
from quorate_connector.counters import Changes
from quorate_connector.families import TASKS, key_of
from quorate_connector.tasks import states
from quorate_connector.v1 import tasks_pb2 as pb
from quorate_connector.workers import registrations

#: The task has changed since the scheduler read it.
CHANGED: Final = "TASK_CHANGED"
#: The worker no longer accepts tasks.
UNAVAILABLE: Final = "WORKER_UNAVAILABLE"


def assign(txn: Txn, command: pb.AssignTasks) -> BatchReply:
    """Assign waiting tasks to workers."""
    takes = cache(partial(_takes, txn))
    with counters.counting(txn) as counts:
        return answer_each(
            txn, command.assignments, lambda txn, each: _assign(txn, counts, takes, each)
        )


def release(txn: Txn, command: pb.ReleaseTasks) -> BatchReply:
    """Order workers to release tasks."""
    with counters.counting(txn) as counts:
        return answer_each(txn, command.releases, lambda txn, each: _release(txn, counts, each))


def reclaim(txn: Txn, command: pb.ReclaimTasks) -> BatchReply:
    """Reclaim tasks from workers that have left or are silent."""
    loss = cache(partial(_loss, txn))
    with counters.counting(txn) as counts:
        return answer_each(
            txn, command.reclaims, lambda txn, each: _reclaim(txn, counts, loss, each)
        )


def _assign(
    txn: Txn, counts: Changes, takes: Callable[[str, int, int], bool], wanted: pb.Assignment
) -> None:
    key, task = _seen(txn, wanted.task, wanted.expected_epoch)
    name, epoch = wanted.worker, wanted.worker_epoch
    if task.state != pb.TASK_STATE_UNASSIGNED:
        raise Rejected(CHANGED, f"task {task.id.number} of {task.id.connector} is not waiting")
    if not takes(name, epoch, wanted.timeout_ms):
        raise Rejected(UNAVAILABLE, f"worker {name} accepts no tasks under epoch {epoch}")
    states.give(txn, counts, key, task, name, epoch)


def _release(txn: Txn, counts: Changes, wanted: pb.Release) -> None:
    key, task = _seen(txn, wanted.task, wanted.expected_epoch)
    if not task.worker or task.release_by_ms:
        raise Rejected(CHANGED, f"task {task.id.number} of {task.id.connector} is already leaving")
    by_ms = txn.proposed_at_ms + wanted.timeout_ms
    states.order_release(txn, counts, key, task, by_ms, wanted.reason)


def _reclaim(
    txn: Txn, counts: Changes, loss: Callable[[str, int], str], wanted: pb.Reclaim
) -> None:
    key, task = _seen(txn, wanted.task, wanted.expected_epoch)
    reason = task.worker and loss(task.worker, task.worker_epoch)
    if not reason:
        raise Rejected(CHANGED, f"task {task.id.number} of {task.id.connector} has a live worker")
    states.take(txn, counts, key, task, states.at_rest(task), reason)


def _takes(txn: Txn, name: str, epoch: int, timeout_ms: int) -> bool:
    """Return whether a registration accepts tasks; if so, start its liveness deadline."""
    if registrations.is_lost(txn, name, epoch) or registrations.read(txn, name).draining:
        return False
    registrations.count_on(txn, name, epoch, timeout_ms or registrations.TIMEOUT_MS)
    return True


def _loss(txn: Txn, name: str, epoch: int) -> str:
    """Return the reason to reclaim tasks from a registration; empty if it keeps them."""
    if not registrations.is_lost(txn, name, epoch):
        return ""
    gone = registrations.epoch_of(txn, name) != epoch
    return f"worker {name} {'is gone' if gone else 'gave no sign in time'}"


def _seen(txn: Txn, named: pb.TaskId, expected_epoch: int) -> tuple[bytes, pb.Task]:
    key = key_of(named)
    value = txn.get(TASKS, key)
    if value is not None:
        task = pb.Task.FromString(value)
        if task.epoch == expected_epoch:
            return key, task
    raise Rejected(CHANGED, f"task {named.number} of {named.connector} has changed since")

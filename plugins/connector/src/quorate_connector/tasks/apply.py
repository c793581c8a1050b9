"""The verbs of tasks: reports and cursors of workers, and commands of timers."""

from collections.abc import Iterable, Iterator
from typing import Final

from quorate.builtin.cluster.api import FENCED
from quorate.plugin import Rejected, Txn
from quorate.plugin.advanced import answer_each, still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector import counters
from quorate_connector.counters import Changes
from quorate_connector.families import CURSORS, RELEASE, RETRY, TASKS, key_of
from quorate_connector.tasks import states
from quorate_connector.v1 import tasks_pb2 as pb
from quorate_connector.workers import registrations

#: The stored cursor has another version than the expected one.
CONFLICT: Final = "CURSOR_CONFLICT"


def report(txn: Txn, command: pb.ReportTasks) -> BatchReply:
    """Record that a worker is alive, and the task states that it reports."""
    worker, epoch = command.worker, command.worker_epoch
    registrations.fence(txn, worker, epoch)
    registrations.renew(txn, worker, epoch, command.timeout_ms or registrations.TIMEOUT_MS)
    with counters.counting(txn) as counts:
        return answer_each(
            txn, command.reports, lambda txn, each: _take_report(txn, counts, epoch, each)
        )


def store_cursor(txn: Txn, command: pb.StoreCursor) -> pb.Cursor:
    """Store a task's cursor in place of the version that its worker has read."""
    key, _ = _held(txn, command.task, command.worker_epoch, command.epoch)
    kept = pb.Cursor.FromString(txn.get(CURSORS, key) or b"")
    _check_version(kept, command)
    cursor = pb.Cursor(
        value=command.value,
        version=kept.version + 1,
        epoch=command.epoch,
        stored_at_ms=txn.proposed_at_ms,
    )
    txn.put(CURSORS, key, cursor.SerializeToString(deterministic=True))
    return cursor


def retry(txn: Txn, command: pb.RetryTasks) -> BatchReply:
    """Make failed tasks assignable again once their backoff is over."""
    with counters.counting(txn) as counts:
        for key, task in _due(txn, RETRY, command.keys):
            states.take(txn, counts, key, task, states.at_rest(task), task.reason)
    return BatchReply(items=len(command.keys))


def take(txn: Txn, command: pb.TakeTasks) -> BatchReply:
    """Take tasks from workers that did not release them in time."""
    with counters.counting(txn) as counts:
        for key, task in _due(txn, RELEASE, command.keys):
            reason = f"{task.reason}; {task.worker} did not release it in time"
            states.take(txn, counts, key, task, states.at_rest(task), reason)
    return BatchReply(items=len(command.keys))


def _take_report(
    txn: Txn, counts: Changes, worker_epoch: int, report: pb.TaskReport
) -> pb.ReportReply:
    key, task = _held(txn, report.task, worker_epoch, report.epoch)
    if report.state == pb.TASK_STATE_FAILED:
        states.fail(txn, counts, key, task, report.reason)
    elif report.state == pb.TASK_STATE_STOPPED:
        states.take(txn, counts, key, task, states.at_rest(task), report.reason or task.reason)
    elif report.state != task.state:
        ordered = task.reason if task.release_by_ms else ""
        states.enter(txn, counts, key, task, report.state, report.reason or ordered)
    return pb.ReportReply(task=task)


def _check_version(kept: pb.Cursor, command: pb.StoreCursor) -> None:
    if kept.version != command.expected_version:
        raise Rejected(
            CONFLICT,
            f"the cursor of {_named(command.task)} has version {kept.version}, not "
            f"{command.expected_version}: read it again",
        )


def _held(txn: Txn, named: pb.TaskId, worker_epoch: int, epoch: int) -> tuple[bytes, pb.Task]:
    """Return a task; refuse a worker that does not hold it under that epoch."""
    key = key_of(named)
    value = txn.get(TASKS, key)
    if value is None:
        raise Rejected("NOT_FOUND", f"there is no {_named(named)}")
    task = pb.Task.FromString(value)
    if (task.worker_epoch, task.epoch) != (worker_epoch, epoch):
        if task.epoch != epoch:
            now = f"has epoch {task.epoch}, not {epoch}"
        elif task.worker_epoch:
            now = f"belongs to the worker with epoch {task.worker_epoch}, not {worker_epoch}"
        else:
            now = "belongs to no worker"
        raise Rejected(FENCED, f"{_named(named)} {now}: it was assigned anew; stop running it")
    return key, task


def _due(txn: Txn, timer: str, keys: Iterable[bytes]) -> Iterator[tuple[bytes, pb.Task]]:
    """Yield the tasks whose deadlines are still due: a change of the task moves its deadline."""
    for key in still_due(txn, timer, keys):
        yield key, pb.Task.FromString(txn.get(TASKS, key) or b"")


def _named(task: pb.TaskId) -> str:
    return f"task {task.number} of connector {task.connector} of tenant {task.tenant}"

"""The one place where a task changes its state or its worker, with whatever has to go with it.

`counts` is of `tallies.counting`, around the whole of a command.
"""

from typing import Final

from quorate.plugin import Txn

from quorate_connector import tallies
from quorate_connector.tallies import Changes
from quorate_connector.tasks import history
from quorate_connector.tasks.families import (
    ASSIGNMENTS,
    CURSORS,
    EPOCHS,
    RELEASE,
    RETRY,
    TASKS,
    WAITING,
    held_key,
    waiting_key,
)
from quorate_connector.tasks.kinds import kind_of
from quorate_connector.v1.connectors_pb2 import TARGET_STOPPED
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_RUNNING,
    TASK_STATE_STOPPED,
    TASK_STATE_UNASSIGNED,
    Task,
    TaskState,
)

#: Of a reason, in bytes.
LONGEST_REASON: Final = 4_096


def store(txn: Txn, key: bytes, task: Task) -> None:
    """Keep the row of a task, also among those of its worker."""
    row = task.SerializeToString(deterministic=True)
    txn.put(TASKS, key, row)
    if task.worker:
        txn.put(ASSIGNMENTS, held_key(task, key), row)


def give(txn: Txn, counts: Changes, key: bytes, task: Task, worker: str, worker_epoch: int) -> None:
    """Give a task that waits to a worker."""
    withdraw(txn, counts, key, task)
    task.worker, task.worker_epoch = worker, worker_epoch
    counts[tallies.of_held(worker, worker_epoch, kind_of(task))] += 1
    settle(txn, counts, key, task, TASK_STATE_ASSIGNED, "")


def take(
    txn: Txn,
    counts: Changes,
    key: bytes,
    task: Task,
    state: TaskState,
    reason: str,
    *,
    retry_at_ms: int = 0,
) -> None:
    """Bring a task into a state in which nobody has it."""
    withdraw(txn, counts, key, task)
    settle(txn, counts, key, task, state, reason, retry_at_ms=retry_at_ms)


def withdraw(txn: Txn, counts: Changes, key: bytes, task: Task) -> None:
    """Take a task out of all that it is found by; `settle` is to follow."""
    counts[tallies.of_state(task.state)] -= 1
    if task.worker:
        _part(txn, counts, key, task)
    if task.state == TASK_STATE_UNASSIGNED:
        kind = kind_of(task)
        counts[tallies.of_waiting(kind)] -= 1
        txn.delete(WAITING, waiting_key(kind, key))
    if task.retry_at_ms:
        txn.schedule(RETRY, key, None)
        task.retry_at_ms = 0


def settle(
    txn: Txn,
    counts: Changes,
    key: bytes,
    task: Task,
    state: TaskState,
    reason: str,
    *,
    retry_at_ms: int = 0,
) -> None:
    """Bring a task that is new, or withdrawn, into a state under a new epoch."""
    task.epoch = txn.next_id(EPOCHS)
    counts[tallies.of_state(state)] += 1
    if state == TASK_STATE_UNASSIGNED:
        kind = kind_of(task)
        counts[tallies.of_waiting(kind)] += 1
        txn.put(WAITING, waiting_key(kind, key), b"")
    if retry_at_ms:
        txn.schedule(RETRY, key, retry_at_ms)
        task.retry_at_ms = retry_at_ms
    _write(txn, key, task, state, reason)


def enter(txn: Txn, counts: Changes, key: bytes, task: Task, state: TaskState, reason: str) -> None:
    """Bring a task into another state while its worker keeps it."""
    counts[tallies.of_state(task.state)] -= 1
    counts[tallies.of_state(state)] += 1
    _write(txn, key, task, state, reason)


def at_rest(task: Task) -> TaskState:
    """Return the state of a task that nobody has, and that has not failed."""
    stopped = task.target == TARGET_STOPPED
    return TASK_STATE_STOPPED if stopped else TASK_STATE_UNASSIGNED


def order_release(
    txn: Txn, counts: Changes, key: bytes, task: Task, by_ms: int, reason: str
) -> None:
    """Have the worker of a task let go of it until a time; an earlier one stands."""
    if not task.release_by_ms:
        counts[tallies.of_leaving(task.worker, task.worker_epoch)] += 1
    elif task.release_by_ms <= by_ms:
        by_ms = task.release_by_ms
    task.release_by_ms, task.reason = by_ms, _shortened(reason)
    txn.schedule(RELEASE, key, by_ms)
    store(txn, key, task)


def cancel_release(txn: Txn, counts: Changes, key: bytes, task: Task) -> None:
    """Let the worker of a task keep it."""
    counts[tallies.of_leaving(task.worker, task.worker_epoch)] -= 1
    task.release_by_ms = 0
    txn.schedule(RELEASE, key, None)


def remove(txn: Txn, counts: Changes, key: bytes, task: Task) -> None:
    """Delete a task with everything that belongs to it."""
    withdraw(txn, counts, key, task)
    txn.delete(CURSORS, key)
    txn.delete(TASKS, key)
    history.forget(txn, key)


def _part(txn: Txn, counts: Changes, key: bytes, task: Task) -> None:
    """Part a task from its worker, which comes first when it is given out again."""
    counts[tallies.of_held(task.worker, task.worker_epoch, kind_of(task))] -= 1
    txn.delete(ASSIGNMENTS, held_key(task, key))
    if task.release_by_ms:
        cancel_release(txn, counts, key, task)
    task.preferred_worker, task.worker, task.worker_epoch = task.worker, "", 0


def _write(txn: Txn, key: bytes, task: Task, state: TaskState, reason: str) -> None:
    before = task.state
    task.state, task.reason = state, _shortened(reason)
    task.changed_at_ms = txn.proposed_at_ms
    task.running_since_ms = txn.proposed_at_ms if state == TASK_STATE_RUNNING else 0
    history.add(txn, key, task, before)
    store(txn, key, task)


def _shortened(reason: str) -> str:
    """Return as much of a reason as is kept."""
    return reason.encode()[:LONGEST_REASON].decode(errors="ignore")

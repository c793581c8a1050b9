"""The one place that changes the state or the worker of a task, with its indexes and counters.

`counts` comes from `counters.counting`, around the whole command.
"""

from typing import Final

from quorate.plugin import Txn, keys

from quorate_connector import counters, families
from quorate_connector.counters import Changes
from quorate_connector.v1 import tasks_pb2 as pb
from quorate_connector.v1.connectors_pb2 import TARGET_STOPPED

#: The size limit of a reason, in bytes.
LONGEST_REASON: Final = 4_096
#: The number of transitions kept for each task.
KEPT: Final = 100
#: Running time after which earlier failures of a task no longer count.
SOUND_MS: Final = 600_000
#: The longest backoff after a failure.
LONGEST_WAIT_MS: Final = 300_000
#: The most doublings of a backoff: without a limit an arbitrarily large number is computed first.
_MOST_DOUBLINGS: Final = 32


def store(txn: Txn, key: bytes, task: pb.Task) -> None:
    """Write the row of a task, and its copy among the assignments of its worker."""
    row = task.SerializeToString(deterministic=True)
    txn.put(families.TASKS, key, row)
    if task.worker:
        txn.put(families.ASSIGNMENTS, families.held_key(task, key), row)


def give(
    txn: Txn, counts: Changes, key: bytes, task: pb.Task, worker: str, worker_epoch: int
) -> None:
    """Assign a waiting task to a worker."""
    withdraw(txn, counts, key, task)
    task.worker, task.worker_epoch = worker, worker_epoch
    counts[counters.of_held(worker, worker_epoch, families.kind_of(task))] += 1
    settle(txn, counts, key, task, pb.TASK_STATE_ASSIGNED, "")


def take(
    txn: Txn, counts: Changes, key: bytes, task: pb.Task, state: pb.TaskState, reason: str
) -> None:
    """Bring a task into a state without a worker."""
    withdraw(txn, counts, key, task)
    settle(txn, counts, key, task, state, reason)


def withdraw(txn: Txn, counts: Changes, key: bytes, task: pb.Task) -> None:
    """Remove a task from its indexes, counters and timers; `settle` must follow."""
    counts[counters.of_state(task.state)] -= 1
    if task.worker:
        _part(txn, counts, key, task)
    if task.state == pb.TASK_STATE_UNASSIGNED:
        kind = families.kind_of(task)
        counts[counters.of_waiting(kind)] -= 1
        txn.delete(families.WAITING, families.waiting_key(kind, key))
    if task.retry_at_ms:
        txn.schedule(families.RETRY, key, None)
        task.retry_at_ms = 0


def settle(
    txn: Txn, counts: Changes, key: bytes, task: pb.Task, state: pb.TaskState, reason: str
) -> None:
    """Bring a new or withdrawn task into a state under a new epoch."""
    task.epoch = txn.next_id(families.EPOCHS)
    counts[counters.of_state(state)] += 1
    if state == pb.TASK_STATE_UNASSIGNED:
        kind = families.kind_of(task)
        counts[counters.of_waiting(kind)] += 1
        txn.put(families.WAITING, families.waiting_key(kind, key), b"")
    if task.retry_at_ms:
        txn.schedule(families.RETRY, key, task.retry_at_ms)
    _write(txn, key, task, state, reason)


def enter(
    txn: Txn, counts: Changes, key: bytes, task: pb.Task, state: pb.TaskState, reason: str
) -> None:
    """Change the state of a task that stays with its worker."""
    counts[counters.of_state(task.state)] -= 1
    counts[counters.of_state(state)] += 1
    _write(txn, key, task, state, reason)


def at_rest(task: pb.Task) -> pb.TaskState:
    """Return the state of a task that has no worker and has not failed."""
    stopped = task.target == TARGET_STOPPED
    return pb.TASK_STATE_STOPPED if stopped else pb.TASK_STATE_UNASSIGNED


def order_release(
    txn: Txn, counts: Changes, key: bytes, task: pb.Task, by_ms: int, reason: str
) -> None:
    """Order the worker of a task to release it by a deadline; an earlier deadline stays."""
    if not task.release_by_ms:
        counts[counters.of_leaving(task.worker, task.worker_epoch)] += 1
    elif task.release_by_ms <= by_ms:
        by_ms = task.release_by_ms
    task.release_by_ms, task.reason = by_ms, _shortened(reason)
    txn.schedule(families.RELEASE, key, by_ms)
    store(txn, key, task)


def cancel_release(txn: Txn, counts: Changes, key: bytes, task: pb.Task) -> None:
    """Cancel the release of a task: its worker keeps it."""
    counts[counters.of_leaving(task.worker, task.worker_epoch)] -= 1
    task.release_by_ms = 0
    txn.schedule(families.RELEASE, key, None)


def remove(txn: Txn, counts: Changes, key: bytes, task: pb.Task) -> None:
    """Delete a task with its cursor, history and index entries."""
    withdraw(txn, counts, key, task)
    txn.delete(families.CURSORS, key)
    txn.delete(families.TASKS, key)
    txn.delete_range(families.HISTORY, key, key + b"\xff")


def fail(txn: Txn, counts: Changes, key: bytes, task: pb.Task, reason: str) -> None:
    """Take a failed task from its worker, to restart after a backoff or to stay failed."""
    if task.target == TARGET_STOPPED:
        take(txn, counts, key, task, pb.TASK_STATE_STOPPED, reason)
        return
    sound = task.running_since_ms and txn.proposed_at_ms - task.running_since_ms >= SOUND_MS
    task.failures = 1 if sound else task.failures + 1
    if task.failures >= task.failures_max:
        take(txn, counts, key, task, pb.TASK_STATE_FAILED, reason)
    else:
        withdraw(txn, counts, key, task)
        task.retry_at_ms = txn.proposed_at_ms + wait_ms(task)
        settle(txn, counts, key, task, pb.TASK_STATE_RESTARTING, reason)


def wait_ms(task: pb.Task) -> int:
    """Return the backoff of a task after its last failure."""
    doublings = min(task.failures - 1, _MOST_DOUBLINGS)
    return min(task.backoff_ms << doublings, LONGEST_WAIT_MS)


def _part(txn: Txn, counts: Changes, key: bytes, task: pb.Task) -> None:
    """Detach a task from its worker, which is preferred at the next assignment."""
    counts[counters.of_held(task.worker, task.worker_epoch, families.kind_of(task))] -= 1
    txn.delete(families.ASSIGNMENTS, families.held_key(task, key))
    if task.release_by_ms:
        cancel_release(txn, counts, key, task)
    task.preferred_worker, task.worker, task.worker_epoch = task.worker, "", 0


def _write(txn: Txn, key: bytes, task: pb.Task, state: pb.TaskState, reason: str) -> None:
    before = task.state
    task.state, task.reason = state, _shortened(reason)
    task.changed_at_ms = txn.proposed_at_ms
    task.running_since_ms = txn.proposed_at_ms if state == pb.TASK_STATE_RUNNING else 0
    _remember(txn, key, task, before)
    store(txn, key, task)


def _remember(txn: Txn, key: bytes, task: pb.Task, before: pb.TaskState) -> None:
    """Append a transition to the history of a task, and drop the oldest beyond the limit."""
    task.transitions += 1
    transition = pb.Transition(
        number=task.transitions,
        to=task.state,
        reason=task.reason,
        worker=task.worker,
        epoch=task.epoch,
        at_ms=task.changed_at_ms,
    )
    # `from` is a keyword of Python.
    setattr(transition, "from", before)
    txn.put(
        families.HISTORY,
        key + keys.pack(task.transitions),
        transition.SerializeToString(deterministic=True),
    )
    if task.transitions > KEPT:
        txn.delete(families.HISTORY, key + keys.pack(task.transitions - KEPT))


def _shortened(reason: str) -> str:
    """Truncate a reason to the stored size."""
    return reason.encode()[:LONGEST_REASON].decode(errors="ignore")

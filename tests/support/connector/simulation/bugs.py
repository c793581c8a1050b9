"""Bugs that the simulation must find: each takes one rule out of the plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from unittest.mock import patch

from quorate.plugin import Reader, Rejected, Txn
from quorate_connector import counters
from quorate_connector.counters import Changes
from quorate_connector.families import LIVENESS, RELEASE, TASKS, WORKERS, key_of, worker_key
from quorate_connector.scheduling import apply as scheduling
from quorate_connector.tasks import apply as tasks, states
from quorate_connector.v1.tasks_pb2 import TASK_STATE_FAILED, Task, TaskId
from quorate_connector.workers import apply as workers, registrations

from tests.support.plugin_world import Bug, wrong

_settle: Final = states.settle
_withdraw: Final = states.withdraw
_order_release: Final = states.order_release
_read: Final = registrations.read
_write: Final = counters._write


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


def _anybody(txn: Txn, named: TaskId, worker_epoch: int, epoch: int) -> tuple[bytes, Task]:
    """Let anybody act for a task that somebody has."""
    value = txn.get(TASKS, key_of(named))
    if value is None:
        raise Rejected("NOT_FOUND")
    task = Task.FromString(value)
    if not task.worker:
        raise Rejected("FENCED")
    return key_of(named), task


def _same_worker(txn: Txn, named: TaskId, worker_epoch: int, epoch: int) -> tuple[bytes, Task]:
    """Take the word of the worker that has a task, also for an earlier time."""
    key, task = _anybody(txn, named, worker_epoch, epoch)
    if task.worker_epoch != worker_epoch:
        raise Rejected("FENCED")
    return key, task


def _same_epoch(txn: Txn, counts: Changes, key: bytes, task: Task, *args: Any, **more: Any) -> None:
    """Let a task keep its epoch when it changes hands."""
    _settle(_Frozen(txn, task.epoch), counts, key, task, *args, **more)


class _Frozen:
    """A transaction whose sequence stands still."""

    def __init__(self, txn: Txn, epoch: int) -> None:
        self._txn: Final = txn
        self._epoch: Final = epoch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._txn, name)

    def next_id(self, sequence: str) -> int:
        return self._epoch or 1


def _gone_by_name(reader: Reader, name: str, epoch: int) -> bool:
    """Overlook workers that have registered again."""
    worker = registrations.read(reader, name)
    return not registrations.epoch_of(reader, name) or registrations.is_silent(worker, epoch)


def _gone_alone(reader: Reader, name: str, epoch: int) -> bool:
    """Overlook workers that are registered and silent."""
    return registrations.epoch_of(reader, name) != epoch


def _undrained(reader: Reader, name: str) -> Any:
    """Overlook that a worker is drained."""
    worker = _read(reader, name)
    worker.draining = False
    return worker


def _changed_since(txn: Txn, named: TaskId, expected_epoch: int) -> tuple[bytes, Task]:
    """Carry out what the scheduler concluded from rows that have changed since."""
    value = txn.get(TASKS, key_of(named))
    if value is None:
        raise Rejected("TASK_CHANGED")
    return key_of(named), Task.FromString(value)


def _without_deadline(
    txn: Txn, counts: Changes, key: bytes, task: Task, by_ms: int, reason: str
) -> None:
    """Wait for ever until a worker lets go."""
    _order_release(txn, counts, key, task, by_ms, reason)
    txn.schedule(RELEASE, key, None)


def _keep_cursor(txn: Txn, counts: Changes, key: bytes, task: Task) -> None:
    """Forget a task, and not how far it has come."""
    _withdraw(txn, counts, key, task)
    txn.delete(TASKS, key)


def _for_ever(txn: Txn, counts: Changes, key: bytes, task: Task, reason: str) -> None:
    """Give a task up at its first failure."""
    task.failures += 1
    states.take(txn, counts, key, task, TASK_STATE_FAILED, reason)


def _never_less(txn: Txn, changes: Changes) -> None:
    """Count what comes and not what goes."""
    _write(txn, +changes)


def _forget(txn: Txn, name: str, epoch: int, key: bytes) -> None:
    """Forget a silent worker in place of calling it silent."""
    txn.delete(WORKERS, worker_key(name))
    txn.schedule(LIVENESS, key, None)


#: By what is wrong.
BUGS: Final[Mapping[str, Bug]] = {
    "anybody may act for a task": wrong(patch.object(tasks, "_held", _anybody)),
    "a worker may act under an epoch that has passed": wrong(
        patch.object(tasks, "_held", _same_worker)
    ),
    "a cursor replaces whatever is kept": wrong(patch.object(tasks, "_check_version", _nothing)),
    "a task keeps its epoch when it changes hands": wrong(
        patch.object(states, "settle", _same_epoch)
    ),
    "a worker that registered again is taken for the one before": wrong(
        patch.object(registrations, "is_lost", _gone_by_name)
    ),
    "a worker that is silent keeps its tasks": wrong(
        patch.object(registrations, "is_lost", _gone_alone)
    ),
    "a worker that never spoke is waited for": wrong(
        patch.object(registrations, "count_on", _nothing)
    ),
    "a silent worker is forgotten": wrong(patch.object(workers, "_expire", _forget)),
    "what the scheduler saw need not hold any more": wrong(
        patch.object(scheduling, "_seen", _changed_since)
    ),
    "a drained worker is given tasks": wrong(patch.object(registrations, "read", _undrained)),
    "a task that its worker holds on to is waited for": wrong(
        patch.object(states, "order_release", _without_deadline)
    ),
    "a connector that is created again goes on where the last one was": wrong(
        patch.object(states, "remove", _keep_cursor)
    ),
    "a task is given up at its first failure": wrong(patch.object(states, "fail", _for_ever)),
    "what goes is not counted": wrong(patch.object(counters, "_write", _never_less)),
}

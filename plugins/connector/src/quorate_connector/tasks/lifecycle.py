"""Creates, changes and deletes tasks along with their connector."""

from collections.abc import Iterable, Iterator
from typing import Final

from quorate.plugin import Txn

from quorate_connector import counters
from quorate_connector.counters import Changes
from quorate_connector.families import CURSORS, TASKS, task_key
from quorate_connector.tasks import states
from quorate_connector.v1 import tasks_pb2 as pb
from quorate_connector.v1.connectors_pb2 import TARGET_STOPPED, Connector

#: Time that a task has to stop cleanly when its connector is stopped.
RELEASE_MS: Final = 10_000


def found(txn: Txn, connector: Connector, numbers: range, reason: str) -> None:
    """Create tasks that do not exist yet."""
    with counters.counting(txn) as counts:
        for number in numbers:
            key = task_key(connector.tenant, connector.name, number)
            task = pb.Task(
                id=pb.TaskId(tenant=connector.tenant, connector=connector.name, number=number)
            )
            _adopt(task, connector)
            states.settle(txn, counts, key, task, states.at_rest(task), reason)


def renew(
    txn: Txn, connector: Connector, reason: str, numbers: Iterable[int] | None = None
) -> None:
    """Restart all or some tasks with the present definition of their connector."""
    if numbers is None:
        numbers = range(connector.definition.tasks_max)
    with counters.counting(txn) as counts:
        for key, task in _there(txn, connector, numbers):
            states.withdraw(txn, counts, key, task)
            _adopt(task, connector)
            task.failures = 0
            states.settle(txn, counts, key, task, states.at_rest(task), reason)


def aim(txn: Txn, connector: Connector) -> None:
    """Pass the target of a connector to all of its tasks."""
    with counters.counting(txn) as counts:
        for key, task in _there(txn, connector, range(connector.definition.tasks_max)):
            if task.target == connector.target:
                continue
            was_stopped = task.target == TARGET_STOPPED
            task.target = connector.target
            if connector.target == TARGET_STOPPED:
                _stop(txn, counts, key, task)
            elif was_stopped:
                _go_on(txn, counts, key, task)
            else:
                states.store(txn, key, task)


def remove(txn: Txn, connector: Connector, numbers: range) -> None:
    """Delete tasks with their progress and history."""
    with counters.counting(txn) as counts:
        for key, task in _there(txn, connector, numbers):
            states.remove(txn, counts, key, task)


def progressed(txn: Txn, connector: Connector, numbers: range) -> list[int]:
    """Return the tasks that have stored a cursor."""
    return [
        number
        for number in numbers
        if txn.get(CURSORS, task_key(connector.tenant, connector.name, number)) is not None
    ]


def forget_progress(txn: Txn, connector: Connector, numbers: range) -> None:
    """Delete the cursors of tasks."""
    for number in numbers:
        txn.delete(CURSORS, task_key(connector.tenant, connector.name, number))


def _there(
    txn: Txn, connector: Connector, numbers: Iterable[int]
) -> Iterator[tuple[bytes, pb.Task]]:
    for number in numbers:
        key = task_key(connector.tenant, connector.name, number)
        value = txn.get(TASKS, key)
        if value is not None:
            yield key, pb.Task.FromString(value)


def _adopt(task: pb.Task, connector: Connector) -> None:
    task.uid = connector.uid
    task.version = connector.version
    task.target = connector.target
    task.failures_max = connector.definition.failures_max
    task.backoff_ms = connector.definition.backoff_ms
    del task.labels[:]
    task.labels.extend(connector.definition.labels)


def _stop(txn: Txn, counts: Changes, key: bytes, task: pb.Task) -> None:
    reason = "the connector was stopped"
    if task.worker:
        states.order_release(txn, counts, key, task, txn.proposed_at_ms + RELEASE_MS, reason)
    elif task.state == pb.TASK_STATE_FAILED:
        # It stays failed until it is restarted.
        states.store(txn, key, task)
    else:
        states.take(txn, counts, key, task, pb.TASK_STATE_STOPPED, reason)


def _go_on(txn: Txn, counts: Changes, key: bytes, task: pb.Task) -> None:
    if task.state == pb.TASK_STATE_STOPPED:
        states.take(txn, counts, key, task, pb.TASK_STATE_UNASSIGNED, "the connector was resumed")
        return
    if task.release_by_ms:
        states.cancel_release(txn, counts, key, task)
    states.store(txn, key, task)

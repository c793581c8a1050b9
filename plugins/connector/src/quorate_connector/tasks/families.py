"""Where the tasks are, what finds them, and what belongs to them."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_connector.shard import GROUP, shard_key
from quorate_connector.v1.tasks_pb2 import Cursor, Task, TaskId

#: By tenant, connector and number, as everything that belongs to a task.
TASKS: Final = "connector.tasks"
CURSORS: Final = "connector.cursors"
#: Private: transitions, by the key of the task and their number.
HISTORY: Final = "connector.history"
#: The rows of the tasks that workers have, by worker, its epoch, and the key of the task.
ASSIGNMENTS: Final = "connector.assignments"
#: Private: the tasks that wait for a worker, by kind and the key of the task.
WAITING: Final = "connector.waiting"
#: The timer of the tasks that have failed: its deadlines have their keys.
RETRY: Final = "connector.task_retry"
#: The timer of the tasks that their workers are to let go of: its deadlines have their keys.
RELEASE: Final = "connector.task_release"
#: The sequence of the epochs of all tasks.
EPOCHS: Final = "connector.task_epochs"


def task_key(tenant: str, connector: str, number: int) -> bytes:
    """Return the key of a task."""
    return keys.pack(tenant, connector, number)


def key_of(task: TaskId) -> bytes:
    """Return the key of a task."""
    return keys.pack(task.tenant, task.connector, task.number)


def id_of(key: bytes) -> TaskId:
    """Return the task of a key."""
    tenant, connector, number = keys.unpack(key)
    assert isinstance(number, int)
    return TaskId(tenant=str(tenant), connector=str(connector), number=number)


def held_key(task: Task, key: bytes) -> bytes:
    """Return the key of a task among those of the worker that has it."""
    return keys.pack(task.worker, task.worker_epoch) + key


def waiting_key(kind: bytes, key: bytes) -> bytes:
    """Return the key of a task among those of its kind that wait."""
    return keys.pack(kind) + key


FAMILIES: Final = (
    ColumnFamily(name=TASKS, group=GROUP, row=Task, shard_key=shard_key),
    ColumnFamily(name=CURSORS, group=GROUP, row=Cursor, shard_key=shard_key),
    ColumnFamily(name=HISTORY, group=GROUP, shard_key=shard_key),
    ColumnFamily(name=ASSIGNMENTS, group=GROUP, row=Task, shard_key=shard_key),
    ColumnFamily(name=WAITING, group=GROUP, shard_key=shard_key),
)

"""The column families of the plugin, with their keys and private indexes.

All rows lie in one shard, because the scheduler needs them together.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_connector.v1 import connectors_pb2, tasks_pb2 as pb

#: Shared with the plugin `mqtt`, whose shards may be many.
GROUP: Final = "mqtt"
SHARD_KEY: Final = keys.pack("connector")

# Families whose rows resources declare.

CONNECTORS: Final = "connector.connectors"
#: By tenant, connector and number, as all rows of a task.
TASKS: Final = "connector.tasks"
#: By name.
WORKERS: Final = "connector.workers"

# Rows that belong to them.

VERSIONS: Final = "connector.versions"
CURSORS: Final = "connector.cursors"
#: Private: transitions, by the key of the task and their number.
HISTORY: Final = "connector.history"
#: Copies of the rows of assigned tasks, by worker, its epoch, and the key of the task.
ASSIGNMENTS: Final = "connector.assignments"
#: Private: the waiting tasks, by kind and the key of the task.
WAITING: Final = "connector.waiting"
#: Private: the non-zero counts of tasks, by the keys of `counters`.
TALLIES: Final = "connector.tallies"

#: The timer of failed tasks; a deadline has the key of its task.
RETRY: Final = "connector.task_retry"
#: The timer of tasks in release; a deadline has the key of its task.
RELEASE: Final = "connector.task_release"
#: The timer of the workers' liveness; a deadline has the key that `life_key` returns.
LIVENESS: Final = "connector.worker_liveness"
#: The sequence of the connectors' uids.
UIDS: Final = "connector.uids"
#: The sequence of the epochs of all tasks.
EPOCHS: Final = "connector.task_epochs"


def shard_key(_: object) -> bytes:
    """Return the shard key of every command, query and row of the plugin."""
    return SHARD_KEY


FAMILIES: Final = (
    ColumnFamily(name=VERSIONS, group=GROUP, row=connectors_pb2.Version, shard_key=shard_key),
    ColumnFamily(name=CURSORS, group=GROUP, row=pb.Cursor, shard_key=shard_key),
    ColumnFamily(name=HISTORY, group=GROUP, shard_key=shard_key),
    ColumnFamily(name=ASSIGNMENTS, group=GROUP, row=pb.Task, shard_key=shard_key),
    ColumnFamily(name=WAITING, group=GROUP, shard_key=shard_key),
    ColumnFamily(name=TALLIES, group=GROUP, shard_key=shard_key),
)


def connector_key(tenant: str, name: str) -> bytes:
    """Return the key of a connector: the connectors of a tenant are adjacent, by name."""
    return keys.pack(tenant, name)


def version_key(tenant: str, name: str, version: int) -> bytes:
    """Return the key of a version: the versions of a connector are adjacent, in order."""
    return keys.pack(tenant, name, version)


def task_key(tenant: str, connector: str, number: int) -> bytes:
    """Return the key of a task."""
    return keys.pack(tenant, connector, number)


def key_of(task: pb.TaskId) -> bytes:
    """Return the key of a task."""
    return keys.pack(task.tenant, task.connector, task.number)


def held_key(task: pb.Task, key: bytes) -> bytes:
    """Return the key of a task among the assignments of its worker."""
    return keys.pack(task.worker, task.worker_epoch) + key


def waiting_key(kind: bytes, key: bytes) -> bytes:
    """Return the key of a task among the waiting tasks of its kind."""
    return keys.pack(kind) + key


def worker_key(name: str) -> bytes:
    """Return the key of a worker."""
    return keys.pack(name)


def life_key(name: str, epoch: int) -> bytes:
    """Return the key of a registration's deadline, unique by name and epoch."""
    return keys.pack(name, epoch)


def kind_of(task: pb.Task) -> bytes:
    """Return the kind of a task, made of the labels it requires; empty if it requires none."""
    return of_labels((label.name, label.value) for label in task.labels) if task.labels else b""


def of_labels(labels: Iterable[tuple[str, str]]) -> bytes:
    """Return the kind of tasks whose workers must have these labels."""
    return keys.pack(*chain.from_iterable(sorted(labels)))


def labels_of(kind: bytes) -> frozenset[bytes]:
    """Return the labels of a kind, each as the kind of that label alone."""
    parts = keys.unpack(kind)
    return frozenset(map(keys.pack, parts[::2], parts[1::2]))

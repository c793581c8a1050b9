"""Where the rows are: the column families of the plugin, their keys, and the private indexes.

All of them lie in one shard, because scheduling needs them together.
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
#: By tenant, connector and number, as everything that belongs to a task.
TASKS: Final = "connector.tasks"
#: By name.
WORKERS: Final = "connector.workers"

# What goes with these rows.

VERSIONS: Final = "connector.versions"
CURSORS: Final = "connector.cursors"
#: Private: transitions, by the key of the task and their number.
HISTORY: Final = "connector.history"
#: The rows of the tasks that workers have, by worker, its epoch, and the key of the task.
ASSIGNMENTS: Final = "connector.assignments"
#: Private: the tasks that wait for a worker, by kind and the key of the task.
WAITING: Final = "connector.waiting"
#: Private: the numbers of tasks that are not zero, by the keys that `counters` makes.
TALLIES: Final = "connector.tallies"

#: The timer of the tasks that have failed: its deadlines have their keys.
RETRY: Final = "connector.task_retry"
#: The timer of the tasks that their workers are to let go of: its deadlines have their keys.
RELEASE: Final = "connector.task_release"
#: The timer of the workers' lives: its deadlines have the keys of `life_key`.
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
    """Return the key of a connector: those of a tenant lie together, by name."""
    return keys.pack(tenant, name)


def version_key(tenant: str, name: str, version: int) -> bytes:
    """Return the key of a version: those of a connector lie together, in their order."""
    return keys.pack(tenant, name, version)


def task_key(tenant: str, connector: str, number: int) -> bytes:
    """Return the key of a task."""
    return keys.pack(tenant, connector, number)


def key_of(task: pb.TaskId) -> bytes:
    """Return the key of a task."""
    return keys.pack(task.tenant, task.connector, task.number)


def held_key(task: pb.Task, key: bytes) -> bytes:
    """Return the key of a task among those of the worker that has it."""
    return keys.pack(task.worker, task.worker_epoch) + key


def waiting_key(kind: bytes, key: bytes) -> bytes:
    """Return the key of a task among those of its kind that wait."""
    return keys.pack(kind) + key


def worker_key(name: str) -> bytes:
    """Return the key of a worker."""
    return keys.pack(name)


def life_key(name: str, epoch: int) -> bytes:
    """Return the key of a registration's deadline: that of another one of the name differs."""
    return keys.pack(name, epoch)


def kind_of(task: pb.Task) -> bytes:
    """Return the kind of a task, by the labels of its workers: it is empty without any."""
    return of_labels((label.name, label.value) for label in task.labels) if task.labels else b""


def of_labels(labels: Iterable[tuple[str, str]]) -> bytes:
    """Return the kind of tasks whose workers must have these labels."""
    return keys.pack(*chain.from_iterable(sorted(labels)))


def labels_of(kind: bytes) -> frozenset[bytes]:
    """Return the labels of a kind, each as the kind of that label alone."""
    parts = keys.unpack(kind)
    return frozenset(map(keys.pack, parts[::2], parts[1::2]))

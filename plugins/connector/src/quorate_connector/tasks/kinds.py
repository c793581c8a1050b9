"""What tells apart for which workers tasks are: the labels that a worker must have."""

from collections.abc import Iterable
from itertools import chain

from quorate.plugin import keys

from quorate_connector.v1.tasks_pb2 import Task


def kind_of(task: Task) -> bytes:
    """Return the kind of a task, which most have in common: it is empty without labels."""
    return of_labels((label.name, label.value) for label in task.labels) if task.labels else b""


def of_labels(labels: Iterable[tuple[str, str]]) -> bytes:
    """Return the kind of tasks whose workers must have these labels."""
    return keys.pack(*chain.from_iterable(sorted(labels)))


def labels_of(kind: bytes) -> frozenset[bytes]:
    """Return the labels of a kind, each as the kind of that label alone."""
    parts = keys.unpack(kind)
    return frozenset(map(keys.pack, parts[::2], parts[1::2]))

"""What became of each task: its last hundred transitions."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, Txn, keys

from quorate_connector.tasks.families import HISTORY
from quorate_connector.v1.tasks_pb2 import Task, TaskState, Transition

#: So many transitions of a task are kept.
KEPT: Final = 100


def add(txn: Txn, key: bytes, task: Task, before: TaskState) -> None:
    """Tell how a task has come into its state, in place of the oldest that is kept."""
    task.transitions += 1
    transition = Transition(
        number=task.transitions,
        to=task.state,
        reason=task.reason,
        worker=task.worker,
        epoch=task.epoch,
        at_ms=task.changed_at_ms,
    )
    # A keyword of Python.
    setattr(transition, "from", before)
    txn.put(
        HISTORY,
        key + keys.pack(task.transitions),
        transition.SerializeToString(deterministic=True),
    )
    if task.transitions > KEPT:
        txn.delete(HISTORY, key + keys.pack(task.transitions - KEPT))


def newest_first(reader: Reader, key: bytes) -> Iterator[Transition]:
    """Yield the transitions of a task."""
    for row in reader.scan(HISTORY, key, key + b"\xff", limit=KEPT, reverse=True):
        yield Transition.FromString(row.value)


def forget(txn: Txn, key: bytes) -> None:
    """Forget the transitions of a task."""
    txn.delete_range(HISTORY, key, key + b"\xff")

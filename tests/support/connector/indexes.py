"""Compares what finds tasks with the tasks themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from struct import Struct
from typing import Final

from quorate.testing import MemoryNode
from quorate_connector import counters
from quorate_connector.families import (
    ASSIGNMENTS,
    TALLIES,
    TASKS,
    WAITING,
    held_key,
    kind_of,
    waiting_key,
)
from quorate_connector.v1.tasks_pb2 import TASK_STATE_UNASSIGNED, Task

_COUNT: Final = Struct(">Q")


def differences(node: MemoryNode) -> list[str]:
    """Return in a sentence each what finds other tasks than there are."""
    tasks = {key: Task.FromString(row) for key, row in node.rows(TASKS).items()}
    waiting = {
        waiting_key(kind_of(task), key): b""
        for key, task in tasks.items()
        if task.state == TASK_STATE_UNASSIGNED
    }
    held = {
        held_key(task, key): task.SerializeToString(deterministic=True)
        for key, task in tasks.items()
        if task.worker
    }
    found = {
        family: wanted
        for family, wanted in (
            (WAITING, waiting),
            (ASSIGNMENTS, held),
            (TALLIES, _tallies(tasks.values())),
        )
        if node.rows(family) != wanted
    }
    return [f"{family} holds {node.rows(family)}, not {wanted}" for family, wanted in found.items()]


def _tallies(tasks: Iterable[Task]) -> dict[bytes, bytes]:
    counts: Counter[bytes] = Counter()
    for task in tasks:
        counts[counters.of_state(task.state)] += 1
        if task.state == TASK_STATE_UNASSIGNED:
            counts[counters.of_waiting(kind_of(task))] += 1
        if task.worker:
            counts[counters.of_held(task.worker, task.worker_epoch, kind_of(task))] += 1
        if task.release_by_ms:
            counts[counters.of_leaving(task.worker, task.worker_epoch)] += 1
    return {key: _COUNT.pack(count) for key, count in counts.items()}

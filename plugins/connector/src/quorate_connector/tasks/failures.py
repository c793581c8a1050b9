"""What becomes of a task that has failed: it is given out again later, or stays as it is."""

from typing import Final

from quorate.plugin import Txn

from quorate_connector.tallies import Changes
from quorate_connector.tasks import states
from quorate_connector.v1.connectors_pb2 import TARGET_STOPPED
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_FAILED,
    TASK_STATE_RESTARTING,
    TASK_STATE_STOPPED,
    Task,
)

#: A task that has run for so long does not pay for failures before.
SOUND_MS: Final = 600_000
#: No wait after a failure is longer.
LONGEST_WAIT_MS: Final = 300_000
#: Of the doublings of a wait: a number of any size would be computed first otherwise.
_MOST_DOUBLINGS: Final = 32


def fail(txn: Txn, counts: Changes, key: bytes, task: Task, reason: str) -> None:
    """Take a task that has failed from its worker."""
    if task.target == TARGET_STOPPED:
        states.take(txn, counts, key, task, TASK_STATE_STOPPED, reason)
        return
    sound = task.running_since_ms and txn.proposed_at_ms - task.running_since_ms >= SOUND_MS
    task.failures = 1 if sound else task.failures + 1
    if task.failures >= task.failures_max:
        states.take(txn, counts, key, task, TASK_STATE_FAILED, reason)
    else:
        retry_at_ms = txn.proposed_at_ms + wait_ms(task)
        states.take(txn, counts, key, task, TASK_STATE_RESTARTING, reason, retry_at_ms=retry_at_ms)


def wait_ms(task: Task) -> int:
    """Return how long a task waits after its last failure."""
    doublings = min(task.failures - 1, _MOST_DOUBLINGS)
    return min(task.backoff_ms << doublings, LONGEST_WAIT_MS)

"""Messages as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Final, TypeVar

import click
from google.protobuf.message import Message

from quorate_connector.v1.connectors_pb2 import Connector, Definition, Target
from quorate_connector.v1.tasks_pb2 import Task, TaskState

R = TypeVar("R", bound=Message)

#: The largest page: each costs a call.
PAGE: Final = 1_000

_TARGETS: Final = {number: name.removeprefix("TARGET_").lower() for name, number in Target.items()}
_STATES: Final = {
    number: name.removeprefix("TASK_STATE_").lower() for name, number in TaskState.items()
}

#: The largest number of a task or a version: the fields have 32 bits.
LARGEST: Final = (1 << 32) - 1

limited = click.option(
    "--limit",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Show at most so many.",
)


def first(rows: Iterator[R], limit: int) -> Iterator[R]:
    """Yield the first rows, and say so when there are more."""
    yield from islice(rows, limit)
    if next(rows, None) is not None:
        click.echo(f"warning: there are more than {limit}; ask for more with --limit", err=True)


def connector_row(connector: Connector) -> dict[str, object]:
    """Return what is shown of a connector."""
    definition = connector.definition
    return {
        "tenant": connector.tenant,
        "name": connector.name,
        "type": definition.type,
        "version": connector.version,
        "target": target_word(connector.target),
        "tasks_max": definition.tasks_max,
        "labels": labels_of(definition),
        "updated_at": time_of(connector.updated_at_ms),
    }


def task_row(task: Task) -> dict[str, object]:
    """Return what is shown of a task."""
    return {
        "task": task.id.number,
        "state": state_word(task.state),
        "target": target_word(task.target),
        "version": task.version,
        "worker": task.worker,
        "epoch": task.epoch,
        "failures": task.failures,
        "reason": task.reason,
        "changed_at": time_of(task.changed_at_ms),
    }


def labels_of(definition: Definition) -> list[str]:
    """Return the labels that a worker must have."""
    return [f"{label.name}={label.value}" for label in definition.labels]


def target_word(target: int) -> str:
    """Return the word for a target."""
    return _TARGETS.get(target, str(target))


def state_word(state: int) -> str:
    """Return the word for a state."""
    return _STATES.get(state, str(state))


def time_of(ms: int) -> str:
    """Return a time for people; nothing for 0, which stands for never."""
    if not ms:
        return ""
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds")

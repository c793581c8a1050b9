"""Checks of requests and commands that need no rows; they run before anything is logged.

The resources check the names of connectors, which are keys.
"""

from collections.abc import Sequence
from typing import Any, Final

from quorate.plugin import Invalid
from quorate.plugin.advanced import Updates
from quorate.plugin.checking import (
    check_bytes,
    check_choice,
    check_count,
    check_each,
    check_most,
    check_name,
    check_range,
    check_text,
)

from quorate_connector.types.checking import LARGEST_CONFIG
from quorate_connector.v1 import connectors_pb2 as pb, tasks_pb2

#: The most connectors in one call.
MOST_CONNECTORS: Final = 1_000
#: Connectors deleted or changed by one command: each may have a thousand tasks.
AT_A_TIME: Final = 10
MOST_TASKS: Final = 1_000
MOST_LABELS: Final = 16
#: The size limit of a name or a value, in bytes.
LONGEST_LABEL: Final = 128
MOST_FAILURES: Final = 1_000
LONGEST_BACKOFF_MS: Final = 300_000
#: The defaults of numbers that are not given.
TASKS: Final = 1
FAILURES: Final = 10
BACKOFF_MS: Final = 1_000

#: The size limit of a worker's name, in bytes.
LONGEST_IDENTITY: Final = 512
#: The size limit of a cursor, in bytes.
LARGEST_CURSOR: Final = 65_536
#: The most reports in a command; longer lists are sent in several.
MOST_REPORTS: Final = 1_000
#: The longest timeout of a worker or a release.
LONGEST_MS: Final = 3_600_000

UPDATES: Final = Updates(
    fixed=frozenset({"tenant", "name", "expected_version", "discard_progress"})
)

_REPORTED: Final = (
    tasks_pb2.TASK_STATE_RUNNING,
    tasks_pb2.TASK_STATE_PAUSED,
    tasks_pb2.TASK_STATE_FAILED,
    tasks_pb2.TASK_STATE_STOPPED,
)


def complete(definition: pb.Definition) -> None:
    """Fill in the defaults of the numbers that are not given."""
    definition.tasks_max = definition.tasks_max or TASKS
    definition.failures_max = definition.failures_max or FAILURES
    definition.backoff_ms = definition.backoff_ms or BACKOFF_MS


def check_named(named: Any, path: str = "") -> None:
    """Refuse an invalid tenant or name of a connector; `path` is the item's path in a batch."""
    check_name(f"{path}tenant", named.tenant)
    check_name(f"{path}name", named.name)


def check_definition(
    item: pb.CreateConnectorRequest | pb.PutConnectorRequest | pb.UpdateConnectorRequest,
    path: str = "",
) -> None:
    """Refuse an invalid name, definition or target of a connector."""
    check_named(item, path)
    _check_definition(item.definition, f"{path}definition.")
    if not isinstance(item, pb.UpdateConnectorRequest) and item.target:
        check_choice(f"{path}target", item.target, pb.Target)


def check_roll_back(item: pb.RollBackConnectorRequest, path: str = "") -> None:
    """Refuse a rollback that names no connector or no version."""
    check_named(item, path)
    if item.version == 0:
        raise Invalid(f"{path}version", "must be one of the versions that are kept")


def check_deletions(command: pb.DeleteConnectorsRequest) -> None:
    """Refuse too many deletions for one command, and an invalid one."""
    check_count("connectors", command.connectors, AT_A_TIME)
    check_each("connectors", command.connectors, check_named)


def check_target(item: pb.SetConnectorTarget, path: str) -> None:
    """Refuse an unknown target."""
    check_choice(f"{path}target", item.target, pb.Target)


def check_restart(item: pb.RestartTasks, path: str) -> None:
    """Refuse a restart of more tasks than a connector can have."""
    check_count(f"{path}tasks", item.tasks, MOST_TASKS)


def check_listed_connectors(request: pb.ListConnectorsRequest) -> None:
    """Refuse a list request with an invalid name prefix or type."""
    for field in ("name_prefix", "type"):
        if getattr(request, field):
            check_name(field, getattr(request, field))


def check_listed_tasks(request: tasks_pb2.ListTasksRequest) -> None:
    """Refuse a list request with an invalid worker."""
    if request.worker:
        check_identity("worker", request.worker)


def check_task(task: tasks_pb2.TaskId, path: str = "task.") -> None:
    """Refuse an invalid task id."""
    check_name(f"{path}tenant", task.tenant)
    check_name(f"{path}connector", task.connector)


def check_reports(command: tasks_pb2.ReportTasks) -> None:
    """Refuse reports without a worker or epoch, and states that a worker cannot report."""
    check_identity("worker", command.worker)
    _check_epoch("worker_epoch", command.worker_epoch)
    check_most("timeout_ms", command.timeout_ms, LONGEST_MS)
    check_count("reports", command.reports, MOST_REPORTS)
    for position, report in enumerate(command.reports):
        path = f"reports[{position}]."
        check_task(report.task, f"{path}task.")
        _check_epoch(f"{path}epoch", report.epoch)
        if report.state not in _REPORTED:
            raise Invalid(f"{path}state", "must be running, paused, failed or stopped")


def check_cursor(item: tasks_pb2.StoreCursor, path: str) -> None:
    """Refuse a cursor without a task or epoch, and one that is too large."""
    check_task(item.task, f"{path}task.")
    _check_epoch(f"{path}worker_epoch", item.worker_epoch)
    _check_epoch(f"{path}epoch", item.epoch)
    check_bytes(f"{path}value", item.value, LARGEST_CURSOR)


def check_drain(item: tasks_pb2.DrainWorker, path: str) -> None:
    """Refuse a drain without a worker, and a release timeout above the limit."""
    check_identity(f"{path}worker", item.worker)
    check_most(f"{path}release_timeout_ms", item.release_timeout_ms, LONGEST_MS)


def check_undrain(item: tasks_pb2.UndrainWorker, path: str) -> None:
    """Refuse an undrain without a worker."""
    check_identity(f"{path}worker", item.worker)


def check_identity(field: str, identity: str) -> None:
    """Refuse an invalid worker name."""
    check_text(field, identity, LONGEST_IDENTITY)


def _check_definition(definition: pb.Definition, path: str) -> None:
    if not definition.type:
        raise Invalid(f"{path}type", "must not be empty")
    check_bytes(f"{path}config", definition.config, LARGEST_CONFIG)
    check_range(f"{path}tasks_max", definition.tasks_max, MOST_TASKS)
    check_range(f"{path}failures_max", definition.failures_max, MOST_FAILURES)
    check_range(f"{path}backoff_ms", definition.backoff_ms, LONGEST_BACKOFF_MS)
    _check_labels(f"{path}labels", definition.labels)


def _check_labels(field: str, labels: Sequence[pb.Label]) -> None:
    check_count(field, labels, MOST_LABELS)
    seen = set()
    for position, label in enumerate(labels):
        check_text(f"{field}[{position}].name", label.name, LONGEST_LABEL)
        if label.value:
            check_text(f"{field}[{position}].value", label.value, LONGEST_LABEL)
        if label.name in seen:
            raise Invalid(f"{field}[{position}].name", "must not occur twice")
        seen.add(label.name)


def _check_epoch(field: str, epoch: int) -> None:
    if epoch == 0:
        raise Invalid(field, "must be the epoch of the row")

"""What is wrong with a command whatever the rows say."""

from typing import Final

from quorate.plugin import Invalid

from quorate_connector.names import check_identity, check_name
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_FAILED,
    TASK_STATE_PAUSED,
    TASK_STATE_RUNNING,
    TASK_STATE_STOPPED,
    ReportTasks,
    StoreCursor,
    StoreCursors,
    TaskId,
    TaskReport,
)
from quorate_connector.workers.validation import check_time

#: Of a cursor, in bytes.
LARGEST_CURSOR: Final = 65_536
#: Of a command; longer lists are sent in several.
MOST_REPORTS: Final = 1_000

_REPORTED: Final = (
    TASK_STATE_RUNNING,
    TASK_STATE_PAUSED,
    TASK_STATE_FAILED,
    TASK_STATE_STOPPED,
)


def check_task(task: TaskId, path: str = "task.") -> None:
    """Refuse what can be no task."""
    check_name(f"{path}tenant", task.tenant)
    check_name(f"{path}connector", task.connector)


def check_reports(command: ReportTasks) -> None:
    """Refuse a report of nobody, and one that says what no worker can say."""
    check_identity("worker", command.worker)
    _check_epoch("worker_epoch", command.worker_epoch)
    check_time("timeout_ms", command.timeout_ms)
    if len(command.reports) > MOST_REPORTS:
        raise Invalid("reports", f"must be at most {MOST_REPORTS}, not {len(command.reports)}")
    for position, report in enumerate(command.reports):
        _check_report(report, f"reports[{position}].")


def check_cursor(command: StoreCursor, path: str = "") -> None:
    """Refuse a cursor of nothing, and one that is too large."""
    check_task(command.task, f"{path}task.")
    _check_epoch(f"{path}worker_epoch", command.worker_epoch)
    _check_epoch(f"{path}epoch", command.epoch)
    if len(command.value) > LARGEST_CURSOR:
        raise Invalid(
            f"{path}value", f"must have at most {LARGEST_CURSOR} bytes, not {len(command.value)}"
        )


def check_cursors(command: StoreCursors) -> None:
    """Refuse a batch with a wrong cursor, and say which one it is."""
    for position, cursor in enumerate(command.cursors):
        check_cursor(cursor, f"cursors[{position}].")


def _check_report(report: TaskReport, path: str) -> None:
    check_task(report.task, f"{path}task.")
    _check_epoch(f"{path}epoch", report.epoch)
    if report.state not in _REPORTED:
        raise Invalid(f"{path}state", "must be running, paused, failed or stopped")


def _check_epoch(field: str, epoch: int) -> None:
    if epoch == 0:
        raise Invalid(field, "must be the epoch that the row has")

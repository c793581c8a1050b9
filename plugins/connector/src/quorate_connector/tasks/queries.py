"""The reads: they run where the rows are."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, keys

from quorate_connector.tasks import history
from quorate_connector.tasks.families import CURSORS, TASKS, key_of
from quorate_connector.v1.task_queries_pb2 import (
    GetCursorQuery,
    GetTaskQuery,
    ListHistoryQuery,
    ListTasksQuery,
    TaskPage,
)
from quorate_connector.v1.tasks_pb2 import Cursor, Task, Transition

#: The most tasks of a page, and the most that are looked at for one.
LARGEST_PAGE: Final = 1_000


def get_task(reader: Reader, query: GetTaskQuery) -> Iterator[Task]:
    """Yield the task, if there is one."""
    value = reader.get(TASKS, key_of(query.task))
    if value is not None:
        yield Task.FromString(value)


def list_tasks(reader: Reader, query: ListTasksQuery) -> Iterator[TaskPage]:
    """Yield a page of tasks; it may be short before the last one."""
    page = TaskPage()
    if query.start >= query.end:
        yield page
        return
    rows = list(reader.scan(TASKS, query.start, query.end, limit=LARGEST_PAGE))
    for row in rows:
        task = Task.FromString(row.value)
        if query.worker in ("", task.worker) and query.state in (0, task.state):
            page.tasks.append(task)
        if len(page.tasks) == query.limit:
            page.next_start = keys.behind(row.key)
            break
    else:
        if len(rows) == LARGEST_PAGE:
            page.next_start = keys.behind(rows[-1].key)
    yield page


def list_history(reader: Reader, query: ListHistoryQuery) -> Iterator[Transition]:
    """Yield what became of a task, the newest first."""
    return history.newest_first(reader, key_of(query.task))


def get_cursor(reader: Reader, query: GetCursorQuery) -> Iterator[Cursor]:
    """Yield how far a task has come, if it has stored that."""
    value = reader.get(CURSORS, key_of(query.task))
    if value is not None:
        yield Cursor.FromString(value)

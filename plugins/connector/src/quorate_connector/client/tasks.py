"""Tasks: what became of them, and how far they have come."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Final

from quorate.client import AsyncClient, Blocking, blocking, iterating

from quorate_connector.client import reading
from quorate_connector.client.reading import Listing
from quorate_connector.v1.tasks_pb2 import (
    Cursor,
    GetCursorRequest,
    GetTaskRequest,
    ListHistoryRequest,
    ListHistoryResponse,
    ListTasksRequest,
    ListTasksResponse,
    Task,
    TaskId,
    Transition,
)

_SERVICE: Final = "/quorate_connector.v1.TaskService/"
_TASKS: Final[Listing[ListTasksRequest, ListTasksResponse, Task]] = Listing(
    f"{_SERVICE}List", ListTasksResponse, lambda page: (page.tasks, page.next_page_token)
)


class Tasks:
    """Reads tasks; `ConnectorWorker` is what runs them."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def get(self, tenant: str, connector: str, number: int) -> Task | None:
        """Return a task; None if there is none."""
        request = GetTaskRequest(task=_id(tenant, connector, number))
        return await reading.get(self._q, f"{_SERVICE}Get", request, Task)

    async def list(self, request: ListTasksRequest) -> AsyncGenerator[Task, None]:
        """Yield the tasks that fit, in the order of tenants, connectors and numbers."""
        async for task in _TASKS.read(self._q, request):
            yield task

    async def history(self, tenant: str, connector: str, number: int) -> Sequence[Transition]:
        """Return what became of a task, the newest first; at most 100."""
        request = ListHistoryRequest(task=_id(tenant, connector, number))
        method = f"{_SERVICE}ListHistory"
        page = await reading.call(self._q, method, request, ListHistoryResponse, read=True)
        return page.transitions

    async def cursor(self, tenant: str, connector: str, number: int) -> Cursor | None:
        """Return how far a task has come; None if it has stored nothing."""
        request = GetCursorRequest(task=_id(tenant, connector, number))
        return await reading.get(self._q, f"{_SERVICE}GetCursor", request, Cursor)


class SyncTasks(Blocking[Tasks]):
    """The same, without `await`."""

    get = blocking(Tasks.get)
    list = iterating(Tasks.list)
    history = blocking(Tasks.history)
    cursor = blocking(Tasks.cursor)


def _id(tenant: str, connector: str, number: int) -> TaskId:
    return TaskId(tenant=tenant, connector=connector, number=number)

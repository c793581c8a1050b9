"""Tasks and workers: what happened to the tasks, how far they have come, and who runs them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Final

from quorate.client import AsyncClient, Blocking, Records, RejectedError, blocking, iterating

from quorate_connector.resources import TASK
from quorate_connector.v1 import tasks_pb2 as pb


class Tasks:
    """Reads tasks; `ConnectorWorker` is what runs them."""

    def __init__(self, q: AsyncClient) -> None:
        self._records: Final[Records[pb.Task]] = Records(q, TASK)

    async def get(self, tenant: str, connector: str, number: int) -> pb.Task | None:
        """Return a task; None if there is none."""
        found: pb.Task | None = await self._records.get(tenant, connector, number)
        return found

    async def list(self, request: pb.ListTasksRequest) -> AsyncGenerator[pb.Task, None]:
        """Yield the tasks that fit, in the order of tenants, connectors and numbers."""
        conditions = {field.name: value for field, value in request.ListFields()}
        async for task in self._records.list(**conditions):
            yield task

    async def history(self, tenant: str, connector: str, number: int) -> Sequence[pb.Transition]:
        """Return what happened to a task, the newest first; at most 100."""
        request = pb.ListHistoryRequest(task=_id(tenant, connector, number))
        return (await self._records.ask("ListHistory", request, pb.ListHistoryResponse)).transitions

    async def cursor(self, tenant: str, connector: str, number: int) -> pb.Cursor | None:
        """Return how far a task has come; None if it has stored nothing."""
        request = pb.GetCursorRequest(task=_id(tenant, connector, number))
        try:
            return await self._records.ask("GetCursor", request, pb.Cursor)
        except RejectedError as error:
            if error.code == TASK.missing:
                return None
            raise


class Workers:
    """Lists workers, and drains them before they are stopped."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._records: Final[Records[pb.Task]] = Records(q, TASK)

    async def list(self) -> Sequence[pb.WorkerLoad]:
        """Return the workers that are registered, have tasks or are drained, by name."""
        request = pb.ListWorkersRequest()
        return (await self._records.ask("ListWorkers", request, pb.ListWorkersResponse)).workers

    async def drain(self, worker: str, *, release_timeout_ms: int = 0) -> pb.Worker:
        """Move the tasks of a worker to others, and give it no new ones until it is undrained.

        Each task has `release_timeout_ms` to stop in order; 0: 10,000.
        """
        item = pb.DrainWorker(worker=worker, release_timeout_ms=release_timeout_ms)
        return await self._q.execute(item, pb.Worker)

    async def undrain(self, worker: str) -> pb.Worker:
        """Let a worker be given tasks again."""
        return await self._q.execute(pb.UndrainWorker(worker=worker), pb.Worker)


class SyncTasks(Blocking[Tasks]):
    """The same, without `await`."""

    get = blocking(Tasks.get)
    list = iterating(Tasks.list)
    history = blocking(Tasks.history)
    cursor = blocking(Tasks.cursor)


class SyncWorkers(Blocking[Workers]):
    """The same, without `await`."""

    list = blocking(Workers.list)
    drain = blocking(Workers.drain)
    undrain = blocking(Workers.undrain)


def _id(tenant: str, connector: str, number: int) -> pb.TaskId:
    return pb.TaskId(tenant=tenant, connector=connector, number=number)

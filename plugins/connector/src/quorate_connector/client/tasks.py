"""Tasks with their history and cursors, and the workers that run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, Records, blocking, iterating
from quorate.client.errors import or_none

from quorate_connector.resources import TASK
from quorate_connector.v1 import tasks_pb2 as pb


class Tasks(Records[pb.Task]):
    """Reads tasks, as `Records` does; `ConnectorWorker` runs them."""

    def __init__(self, q: AsyncClient) -> None:
        super().__init__(q, TASK)

    async def history(self, tenant: str, connector: str, number: int) -> Sequence[pb.Transition]:
        """Return the last 100 transitions of a task, newest first."""
        request = pb.ListHistoryRequest(task=_id(tenant, connector, number))
        return (await self.ask("ListHistory", request, pb.ListHistoryResponse)).transitions

    async def cursor(self, tenant: str, connector: str, number: int) -> pb.Cursor | None:
        """Return the cursor of a task; None if it has stored none."""
        request = pb.GetCursorRequest(task=_id(tenant, connector, number))
        return await or_none(self.ask("GetCursor", request, pb.Cursor), TASK.serving.missing)


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
        """Move the tasks of a worker to others, and assign it no new ones until it is undrained.

        Each task has `release_timeout_ms` to stop cleanly; 0: 10,000.
        """
        item = pb.DrainWorker(worker=worker, release_timeout_ms=release_timeout_ms)
        return await self._q.execute(item, pb.Worker)

    async def undrain(self, worker: str) -> pb.Worker:
        """Assign tasks to a worker again."""
        return await self._q.execute(pb.UndrainWorker(worker=worker), pb.Worker)


class SyncTasks(Blocking[Any]):
    """`Tasks` without `await`."""

    get = blocking(Tasks.get)
    list = iterating(Tasks.list)
    count = blocking(Tasks.count)
    watch = iterating(Tasks.watch)
    history = blocking(Tasks.history)
    cursor = blocking(Tasks.cursor)


class SyncWorkers(Blocking[Workers]):
    """`Workers` without `await`."""

    list = blocking(Workers.list)
    drain = blocking(Workers.drain)
    undrain = blocking(Workers.undrain)


def _id(tenant: str, connector: str, number: int) -> pb.TaskId:
    return pb.TaskId(tenant=tenant, connector=connector, number=number)

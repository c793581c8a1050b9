"""Workers: what they carry, and whether they are given tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quorate.client import AsyncClient, Blocking, blocking

from quorate_connector.client import reading
from quorate_connector.v1.tasks_pb2 import (
    DrainWorker,
    ListWorkersRequest,
    ListWorkersResponse,
    UndrainWorker,
    Worker,
    WorkerLoad,
)

_SERVICE: Final = "/quorate_connector.v1.TaskService/"


class Workers:
    """Lists workers, and drains them before they are stopped."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def list(self) -> Sequence[WorkerLoad]:
        """Return the workers that are registered, have tasks or are drained, by name."""
        request = ListWorkersRequest()
        method = f"{_SERVICE}ListWorkers"
        page = await reading.call(self._q, method, request, ListWorkersResponse, read=True)
        return page.workers

    async def drain(self, worker: str, *, release_timeout_ms: int = 0) -> Worker:
        """Move the tasks of a worker to others, and give it no new ones until it is undrained.

        Each task has `release_timeout_ms` to stop in order; 0: 10,000.
        """
        command = DrainWorker(worker=worker, release_timeout_ms=release_timeout_ms)
        return await self._q.execute(command, Worker)

    async def undrain(self, worker: str) -> Worker:
        """Let a worker be given tasks again."""
        return await self._q.execute(UndrainWorker(worker=worker), Worker)


class SyncWorkers(Blocking[Workers]):
    """The same, without `await`."""

    list = blocking(Workers.list)
    drain = blocking(Workers.drain)
    undrain = blocking(Workers.undrain)

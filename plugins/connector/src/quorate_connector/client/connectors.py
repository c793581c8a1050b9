"""Connectors: their definitions, and the targets of their tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, Client, Records, blocking, iterating

from quorate_connector.client.tasks import SyncTasks, SyncWorkers, Tasks, Workers
from quorate_connector.resources import CONNECTOR
from quorate_connector.v1 import connectors_pb2 as pb


class Connectors(Records[Any]):
    """Defines connectors, and controls their tasks.

    `create`, `update`, `put`, `delete`, `get`, `list` and `watch` are those of `Records`; the first
    three take the requests of the service. A configuration that its type does not accept raises
    `InvalidError`; in a batch it is refused at its position in the reply.
    """

    def __init__(self, q: AsyncClient) -> None:
        super().__init__(q, CONNECTOR)
        #: The tasks, with their history and cursors.
        self.tasks: Final = Tasks(q)
        #: The workers that run the tasks.
        self.workers: Final = Workers(q)

    async def roll_back(
        self, tenant: str, name: str, version: int, *, discard_progress: bool = False
    ) -> pb.Connector:
        """Restore an earlier definition as the newest version."""
        request = pb.RollBackConnectorRequest(
            tenant=tenant, name=name, version=version, discard_progress=discard_progress
        )
        return await self.ask("RollBack", request, pb.Connector, read=False)

    async def versions(self, tenant: str, name: str) -> Sequence[pb.Version]:
        """Return the retained versions of a connector, newest first."""
        request = pb.ListVersionsRequest(tenant=tenant, name=name)
        page = await self.ask("ListVersions", request, pb.ListVersionsResponse)
        return page.versions

    async def types(self) -> Sequence[pb.ConnectorTypeInfo]:
        """Return the available connector types."""
        request = pb.ListTypesRequest()
        return (await self.ask("ListTypes", request, pb.ListTypesResponse)).types

    async def pause(self, tenant: str, name: str) -> pb.Connector:
        """Pause the tasks; they stay with their workers."""
        return await self._aim(tenant, name, pb.TARGET_PAUSED)

    async def resume(self, tenant: str, name: str) -> pb.Connector:
        """Resume the tasks after they were paused or stopped."""
        return await self._aim(tenant, name, pb.TARGET_RUNNING)

    async def stop(self, tenant: str, name: str) -> pb.Connector:
        """Take the tasks from their workers."""
        return await self._aim(tenant, name, pb.TARGET_STOPPED)

    async def restart(self, tenant: str, name: str, tasks: Iterable[int] = ()) -> pb.Connector:
        """Restart tasks, failed ones included; without numbers, all of them."""
        item = pb.RestartTasks(tenant=tenant, name=name, tasks=tasks)
        return await self._q.execute(item, pb.Connector)

    async def _aim(self, tenant: str, name: str, target: pb.Target) -> pb.Connector:
        item = pb.SetConnectorTarget(tenant=tenant, name=name, target=target)
        return await self._q.execute(item, pb.Connector)


class SyncConnectors(Blocking[Any]):
    """`Connectors` over a `Client`, without `await`."""

    def __init__(self, q: Client) -> None:
        connectors = Connectors(q.asynchronous)
        super().__init__(q.thread, connectors)
        #: The tasks, with their history and cursors.
        self.tasks: Final = SyncTasks(q.thread, connectors.tasks)
        #: The workers that run the tasks.
        self.workers: Final = SyncWorkers(q.thread, connectors.workers)

    create = blocking(Connectors.create)
    update = blocking(Connectors.update)
    put = blocking(Connectors.put)
    delete = blocking(Connectors.delete)
    roll_back = blocking(Connectors.roll_back)
    get = blocking(Connectors.get)
    list = iterating(Connectors.list)
    count = blocking(Connectors.count)
    watch = iterating(Connectors.watch)
    do = blocking(Connectors.do)
    ask = blocking(Connectors.ask)
    versions = blocking(Connectors.versions)
    types = blocking(Connectors.types)
    pause = blocking(Connectors.pause)
    resume = blocking(Connectors.resume)
    stop = blocking(Connectors.stop)
    restart = blocking(Connectors.restart)

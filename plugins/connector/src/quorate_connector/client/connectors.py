"""Connectors: their definitions, and what their tasks are to do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.client import AsyncClient, Blocking, Client, Records, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.client.tasks import SyncTasks, SyncWorkers, Tasks, Workers
from quorate_connector.resources import CONNECTOR
from quorate_connector.v1 import connectors_pb2 as pb


class Connectors:
    """Defines connectors, and tells their tasks what to do."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._records: Final[Records[pb.Connector]] = Records(q, CONNECTOR)
        #: What happened to the tasks, and how far they have come.
        self.tasks: Final = Tasks(q)
        #: Who runs the tasks.
        self.workers: Final = Workers(q)

    async def create(self, request: pb.CreateConnectorRequest) -> pb.Connector:
        """Create a connector, whose tasks begin at once unless `target` says something else.

        Raises `InvalidError` when its configuration is not what its type wants.
        """
        return await self._records.ask("Create", request, pb.Connector, read=False)

    async def create_many(self, requests: Iterable[pb.CreateConnectorRequest]) -> BatchReply:
        """Create at most 1,000; the reply names those that were refused by their positions."""
        request = pb.CreateConnectorsRequest(connectors=requests)
        return await self._records.ask("CreateBatch", request, BatchReply, read=False)

    async def update(self, request: pb.UpdateConnectorRequest) -> pb.Connector:
        """Change what is given of a definition, with which the tasks start again.

        Given is what is not empty, or what `update_mask` names.
        """
        return await self._records.ask("Update", request, pb.Connector, read=False)

    async def update_many(self, requests: Iterable[pb.UpdateConnectorRequest]) -> BatchReply:
        """Change at most 1,000; the reply names those that were refused."""
        request = pb.UpdateConnectorsRequest(connectors=requests)
        return await self._records.ask("UpdateBatch", request, BatchReply, read=False)

    async def put(self, request: pb.PutConnectorRequest) -> pb.Connector:
        """Create a connector, or replace the definition of the one of that name."""
        return await self._records.ask("Put", request, pb.Connector, read=False)

    async def put_many(self, requests: Iterable[pb.PutConnectorRequest]) -> BatchReply:
        """Create or replace at most 1,000; the reply names those that were refused."""
        request = pb.PutConnectorsRequest(connectors=requests)
        return await self._records.ask("PutBatch", request, BatchReply, read=False)

    async def delete(self, tenant: str, name: str, *, missing_ok: bool = False) -> None:
        """Delete a connector with its tasks, their progress and their history.

        CONNECTOR_NOT_FOUND if there is none, unless `missing_ok`.
        """
        item = pb.DeleteConnector(tenant=tenant, name=name, missing_ok=missing_ok)
        await self._q.execute(item, Empty)

    async def delete_many(
        self, names: Iterable[tuple[str, str]], *, missing_ok: bool = False
    ) -> BatchReply:
        """Delete at most 1,000 by tenant and name; the reply names those that were refused."""
        items = [
            pb.DeleteConnector(tenant=tenant, name=name, missing_ok=missing_ok)
            for tenant, name in names
        ]
        request = pb.DeleteConnectorsRequest(connectors=items)
        return await self._records.ask("DeleteBatch", request, BatchReply, read=False)

    async def roll_back(
        self, tenant: str, name: str, version: int, *, discard_progress: bool = False
    ) -> pb.Connector:
        """Make an earlier definition the newest again."""
        request = pb.RollBackConnectorRequest(
            tenant=tenant, name=name, version=version, discard_progress=discard_progress
        )
        return await self._records.ask("RollBack", request, pb.Connector, read=False)

    async def get(self, tenant: str, name: str) -> pb.Connector | None:
        """Return a connector; None if there is none."""
        found: pb.Connector | None = await self._records.get(tenant, name)
        return found

    async def list(self, request: pb.ListConnectorsRequest) -> AsyncGenerator[pb.Connector, None]:
        """Yield the connectors that fit, in the order of tenants and names."""
        conditions = {field.name: value for field, value in request.ListFields()}
        async for connector in self._records.list(**conditions):
            yield connector

    async def versions(self, tenant: str, name: str) -> Sequence[pb.Version]:
        """Return the definitions that are kept of a connector, the newest first."""
        request = pb.ListVersionsRequest(tenant=tenant, name=name)
        page = await self._records.ask("ListVersions", request, pb.ListVersionsResponse)
        return page.versions

    async def types(self) -> Sequence[pb.ConnectorTypeInfo]:
        """Return the types that a connector can have."""
        request = pb.ListTypesRequest()
        return (await self._records.ask("ListTypes", request, pb.ListTypesResponse)).types

    async def pause(self, tenant: str, name: str) -> pb.Connector:
        """Let the tasks do nothing, and stay with their workers."""
        return await self._aim(tenant, name, pb.TARGET_PAUSED)

    async def resume(self, tenant: str, name: str) -> pb.Connector:
        """Let the tasks run, after they were paused or stopped."""
        return await self._aim(tenant, name, pb.TARGET_RUNNING)

    async def stop(self, tenant: str, name: str) -> pb.Connector:
        """Take the tasks from their workers."""
        return await self._aim(tenant, name, pb.TARGET_STOPPED)

    async def restart(self, tenant: str, name: str, tasks: Iterable[int] = ()) -> pb.Connector:
        """Start tasks again, also those that have failed for good; without numbers all of them."""
        item = pb.RestartTasks(tenant=tenant, name=name, tasks=tasks)
        return await self._q.execute(item, pb.Connector)

    async def _aim(self, tenant: str, name: str, target: pb.Target) -> pb.Connector:
        item = pb.SetConnectorTarget(tenant=tenant, name=name, target=target)
        return await self._q.execute(item, pb.Connector)


class SyncConnectors(Blocking[Connectors]):
    """The same over a `Client`, without `await`."""

    def __init__(self, q: Client) -> None:
        connectors = Connectors(q.asynchronous)
        super().__init__(q.thread, connectors)
        #: What happened to the tasks, and how far they have come.
        self.tasks: Final = SyncTasks(q.thread, connectors.tasks)
        #: Who runs the tasks.
        self.workers: Final = SyncWorkers(q.thread, connectors.workers)

    create = blocking(Connectors.create)
    create_many = blocking(Connectors.create_many)
    update = blocking(Connectors.update)
    update_many = blocking(Connectors.update_many)
    put = blocking(Connectors.put)
    put_many = blocking(Connectors.put_many)
    delete = blocking(Connectors.delete)
    delete_many = blocking(Connectors.delete_many)
    roll_back = blocking(Connectors.roll_back)
    get = blocking(Connectors.get)
    list = iterating(Connectors.list)
    versions = blocking(Connectors.versions)
    types = blocking(Connectors.types)
    pause = blocking(Connectors.pause)
    resume = blocking(Connectors.resume)
    stop = blocking(Connectors.stop)
    restart = blocking(Connectors.restart)

"""Connectors: their definitions, and what their tasks are to do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.client import AsyncClient, Blocking, Client, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.client import reading
from quorate_connector.client.reading import Listing
from quorate_connector.client.tasks import SyncTasks, Tasks
from quorate_connector.client.workers import SyncWorkers, Workers
from quorate_connector.v1.connectors_pb2 import (
    TARGET_PAUSED,
    TARGET_RUNNING,
    TARGET_STOPPED,
    Connector,
    ConnectorName,
    ConnectorTypeInfo,
    CreateConnectorRequest,
    CreateConnectorsRequest,
    DeleteConnector,
    DeleteConnectorsRequest,
    GetConnectorRequest,
    ListConnectorsRequest,
    ListConnectorsResponse,
    ListTypesRequest,
    ListTypesResponse,
    ListVersionsRequest,
    ListVersionsResponse,
    PutConnectorRequest,
    PutConnectorsRequest,
    RestartTasks,
    RollBackConnectorRequest,
    SetConnectorTarget,
    Target,
    UpdateConnectorRequest,
    UpdateConnectorsRequest,
    Version,
)

_SERVICE: Final = "/quorate_connector.v1.ConnectorService/"
_CONNECTORS: Final[Listing[ListConnectorsRequest, ListConnectorsResponse, Connector]] = Listing(
    f"{_SERVICE}List",
    ListConnectorsResponse,
    lambda page: (page.connectors, page.next_page_token),
)


class Connectors:
    """Defines connectors, and tells their tasks what to do."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        #: What became of the tasks, and how far they have come.
        self.tasks: Final = Tasks(q)
        #: Who runs the tasks.
        self.workers: Final = Workers(q)

    async def create(self, request: CreateConnectorRequest) -> Connector:
        """Create a connector, whose tasks begin at once unless `target` says something else.

        Raises `InvalidError` when its configuration is not what its type wants.
        """
        return await reading.call(self._q, f"{_SERVICE}Create", request, Connector)

    async def update(self, request: UpdateConnectorRequest) -> Connector:
        """Change what is given of a definition, with which the tasks start again.

        Given is what is not empty, or what `update_mask` names.
        """
        return await reading.call(self._q, f"{_SERVICE}Update", request, Connector)

    async def put(self, request: PutConnectorRequest) -> Connector:
        """Create a connector, or replace the definition of the one of that name."""
        return await reading.call(self._q, f"{_SERVICE}Put", request, Connector)

    async def put_many(self, requests: Iterable[PutConnectorRequest]) -> BatchReply:
        """Create or replace at most 1,000; the reply names those that were refused."""
        request = PutConnectorsRequest(connectors=requests)
        return await reading.call(self._q, f"{_SERVICE}PutBatch", request, BatchReply)

    async def create_many(self, requests: Iterable[CreateConnectorRequest]) -> BatchReply:
        """Create at most 1,000; the reply names those that were refused by their positions."""
        request = CreateConnectorsRequest(connectors=requests)
        return await reading.call(self._q, f"{_SERVICE}CreateBatch", request, BatchReply)

    async def update_many(self, requests: Iterable[UpdateConnectorRequest]) -> BatchReply:
        """Change at most 1,000; the reply names those that were refused."""
        request = UpdateConnectorsRequest(connectors=requests)
        return await reading.call(self._q, f"{_SERVICE}UpdateBatch", request, BatchReply)

    async def delete_many(
        self, names: Iterable[tuple[str, str]], *, missing_ok: bool = False
    ) -> BatchReply:
        """Delete at most 1,000 by tenant and name; the reply names those that were refused."""
        named = [
            ConnectorName(tenant=tenant, name=name, missing_ok=missing_ok) for tenant, name in names
        ]
        request = DeleteConnectorsRequest(connectors=named)
        return await reading.call(self._q, f"{_SERVICE}DeleteBatch", request, BatchReply)

    async def roll_back(
        self, tenant: str, name: str, version: int, *, discard_progress: bool = False
    ) -> Connector:
        """Make an earlier definition the newest again."""
        request = RollBackConnectorRequest(
            tenant=tenant, name=name, version=version, discard_progress=discard_progress
        )
        return await reading.call(self._q, f"{_SERVICE}RollBack", request, Connector)

    async def delete(self, tenant: str, name: str, *, missing_ok: bool = False) -> None:
        """Delete a connector with its tasks, their progress and their history.

        CONNECTOR_NOT_FOUND if there is none, unless `missing_ok`.
        """
        command = DeleteConnector(tenant=tenant, name=name, missing_ok=missing_ok)
        await self._q.execute(command, Empty)

    async def get(self, tenant: str, name: str) -> Connector | None:
        """Return a connector; None if there is none."""
        request = GetConnectorRequest(tenant=tenant, name=name)
        return await reading.get(self._q, f"{_SERVICE}Get", request, Connector)

    async def list(self, request: ListConnectorsRequest) -> AsyncGenerator[Connector, None]:
        """Yield the connectors that fit, in the order of tenants and names."""
        async for connector in _CONNECTORS.read(self._q, request):
            yield connector

    async def versions(self, tenant: str, name: str) -> Sequence[Version]:
        """Return the definitions that are kept of a connector, the newest first."""
        request = ListVersionsRequest(tenant=tenant, name=name)
        method = f"{_SERVICE}ListVersions"
        page = await reading.call(self._q, method, request, ListVersionsResponse, read=True)
        return page.versions

    async def types(self) -> Sequence[ConnectorTypeInfo]:
        """Return the types that a connector can have."""
        method = f"{_SERVICE}ListTypes"
        page = await reading.call(self._q, method, ListTypesRequest(), ListTypesResponse, read=True)
        return page.types

    async def pause(self, tenant: str, name: str) -> Connector:
        """Let the tasks do nothing, and stay with their workers."""
        return await self._aim(tenant, name, TARGET_PAUSED)

    async def resume(self, tenant: str, name: str) -> Connector:
        """Let the tasks run, after they were paused or stopped."""
        return await self._aim(tenant, name, TARGET_RUNNING)

    async def stop(self, tenant: str, name: str) -> Connector:
        """Take the tasks from their workers."""
        return await self._aim(tenant, name, TARGET_STOPPED)

    async def restart(self, tenant: str, name: str, tasks: Iterable[int] = ()) -> Connector:
        """Start tasks again, also those that have failed for good; without numbers all of them."""
        command = RestartTasks(tenant=tenant, name=name, tasks=tasks)
        return await self._q.execute(command, Connector)

    async def _aim(self, tenant: str, name: str, target: Target) -> Connector:
        command = SetConnectorTarget(tenant=tenant, name=name, target=target)
        return await self._q.execute(command, Connector)


class SyncConnectors(Blocking[Connectors]):
    """The same over a `Client`, without `await`."""

    def __init__(self, q: Client) -> None:
        connectors = Connectors(q.asynchronous)
        super().__init__(q.thread, connectors)
        #: What became of the tasks, and how far they have come.
        self.tasks: Final = SyncTasks(q.thread, connectors.tasks)
        #: Who runs the tasks.
        self.workers: Final = SyncWorkers(q.thread, connectors.workers)

    create = blocking(Connectors.create)
    update = blocking(Connectors.update)
    put = blocking(Connectors.put)
    put_many = blocking(Connectors.put_many)
    create_many = blocking(Connectors.create_many)
    update_many = blocking(Connectors.update_many)
    delete_many = blocking(Connectors.delete_many)
    roll_back = blocking(Connectors.roll_back)
    delete = blocking(Connectors.delete)
    get = blocking(Connectors.get)
    list = iterating(Connectors.list)
    versions = blocking(Connectors.versions)
    types = blocking(Connectors.types)
    pause = blocking(Connectors.pause)
    resume = blocking(Connectors.resume)
    stop = blocking(Connectors.stop)
    restart = blocking(Connectors.restart)

"""Connectors on a node in memory, as its services are asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryNode
from quorate.v1.cluster_pb2 import Broker, RegisterBroker
from quorate_connector.v1.connectors_pb2 import (
    Connector,
    CreateConnectorRequest,
    Definition,
    DeleteConnector,
    GetConnectorRequest,
    ListVersionsRequest,
    SetConnectorTarget,
    UpdateConnectorRequest,
    Version,
)
from quorate_connector.v1.tasks_pb2 import (
    Cursor,
    GetCursorRequest,
    ListTasksRequest,
    StoreCursor,
    Task,
)

FILE = {"topic": "orders", "path": "/var/orders"}


@dataclass(frozen=True)
class Bench:
    """The connector `orders` of acme, and what its tests do with it."""

    node: MemoryNode

    @property
    def service(self) -> Any:
        return self.node.servicer("quorate_connector.v1.ConnectorService")

    @property
    def tasks_service(self) -> Any:
        return self.node.servicer("quorate_connector.v1.TaskService")

    def definition(self, tasks: int = 2, type: str = "file", **config: object) -> Definition:
        given = {**FILE, **config} if type == "file" else config
        return Definition(type=type, config=json.dumps(given).encode(), tasks_max=tasks)

    async def create(self, tasks: int = 2, name: str = "orders", **fields: Any) -> Connector:
        wanted = fields.pop("definition", None) or self.definition(tasks)
        fields = {"tenant": "acme", **fields}
        request = CreateConnectorRequest(name=name, definition=wanted, **fields)
        created: Connector = await self.service.Create(request, None)
        return created

    async def update(self, definition: Definition, **fields: Any) -> Connector:
        request = UpdateConnectorRequest(
            tenant="acme", name="orders", definition=definition, **fields
        )
        updated: Connector = await self.service.Update(request, None)
        return updated

    async def aim(self, target: Any) -> Connector:
        aimed: Connector = await self.service.SetTarget(
            SetConnectorTarget(tenant="acme", name="orders", target=target), None
        )
        return aimed

    async def get(self, name: str = "orders") -> Connector | None:
        try:
            found: Connector = await self.service.Get(
                GetConnectorRequest(tenant="acme", name=name), None
            )
        except Rejected:
            return None
        return found

    async def versions(self) -> Sequence[Version]:
        listed = await self.service.ListVersions(
            ListVersionsRequest(tenant="acme", name="orders"), None
        )
        return list(listed.versions)

    async def tasks(self, name: str = "orders") -> list[Task]:
        request = ListTasksRequest(tenant="acme", connector=name, page_size=1_000)
        return list((await self.tasks_service.List(request, None)).tasks)

    async def assign(self) -> None:
        """Have a worker, and let the scheduler give it the tasks."""
        broker = RegisterBroker(name="w", cluster_name="test", roles=["connector"], ttl_ms=60_000)
        await self.node.propose(broker, Broker)
        await self.node.run_woken()

    async def progress(self, *numbers: int) -> None:
        """Have a worker with the tasks, and store how far these have come."""
        await self.assign()
        for task in await self.tasks():
            if task.id.number in numbers:
                store = StoreCursor(
                    task=task.id, worker_epoch=task.worker_epoch, epoch=task.epoch, value=b"7"
                )
                await self.tasks_service.StoreCursor(store, None)

    async def progressed(self) -> list[int]:
        found = []
        for task in await self.tasks():
            try:
                cursor: Cursor = await self.tasks_service.GetCursor(
                    GetCursorRequest(task=task.id), None
                )
            except Rejected:
                continue
            assert cursor.value == b"7"
            found.append(task.id.number)
        return found

    def named(self, *names: str) -> list[DeleteConnector]:
        return [DeleteConnector(tenant="acme", name=name) for name in names]

    def rows(self) -> dict[str, int]:
        """Return how many rows each family of the plugin has."""
        return {
            name: len(rows)
            for name, family in self.node.catalog.families.items()
            if name.startswith("connector.") and (rows := self.node.rows(name))
        }


@pytest.fixture
def bench(node: MemoryNode) -> Bench:
    return Bench(node)

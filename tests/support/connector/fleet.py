"""A cluster in memory with workers that come and go, and the scheduler that serves them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import Rejected
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryNode
from quorate.testing.installed import catalog_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker, RegisterBroker, UnregisterBroker
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.families import (
    BROKERS,
    CONNECTORS,
    CURSORS,
    TASKS,
    WORKERS,
    connector_key,
    key_of,
    worker_key,
)
from quorate_connector.v1.connectors_pb2 import (
    Connector,
    CreateConnectorRequest,
    Definition,
    Label,
    SetConnectorTarget,
    Target,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_RUNNING,
    Cursor,
    DrainWorker,
    ReportReply,
    ReportTasks,
    StoreCursor,
    Task,
    TaskId,
    TaskReport,
    TaskState,
    Worker,
)
from quorate_connector.workers.registrations import ROLE

TENANT: Final = "acme"
SCHEDULING: Final = "connector.scheduling"


@cache
def _catalog() -> Catalog:
    return catalog_of(["cluster", "connector", "tenant"])


class ConnectorCluster:
    """Says in a word what a test or simulation has workers, operators and the scheduler do."""

    def __init__(self, config: Mapping[str, object] | None = None) -> None:
        self.node: Final = MemoryNode(
            catalog=_catalog(), config={"connector": dict(config or {})}, at_ms=1_000
        )

    async def found(self, workers: Iterable[str] = ()) -> None:
        """Create the tenant, and register workers in their order."""
        await self.node.propose(CreateTenant(name=TENANT), Tenant)
        for name in workers:
            await self.register(name)

    async def register(self, name: str, *, role: str = ROLE, **labels: str) -> int:
        """Register a worker, and return its epoch."""
        command = RegisterBroker(
            name=name, cluster_name="test", roles=[role], labels=labels, ttl_ms=3_600_000
        )
        return (await self.node.propose(command, Broker)).epoch

    async def unregister(self, name: str) -> None:
        """End the registration of a worker: it left, or its heartbeats stayed away."""
        await self.node.propose(UnregisterBroker(name=name, epoch=self.epoch(name)), Empty)

    def epoch(self, name: str) -> int:
        """Return the epoch of a worker's registration; zero when there is none."""
        row = self.node.rows(BROKERS).get(worker_key(name))
        return 0 if row is None else Broker.FromString(row).epoch

    async def create(
        self,
        name: str = "c",
        *,
        tasks: int = 1,
        failures: int = 3,
        backoff_ms: int = 1_000,
        labels: Mapping[str, str] | None = None,
    ) -> Connector:
        """Create a connector."""
        definition = self.definition(tasks, failures, backoff_ms, labels or {})
        command = CreateConnectorRequest(tenant=TENANT, name=name, definition=definition)
        return await self.node.propose(command, Connector)

    @staticmethod
    def definition(
        tasks: int = 1,
        failures: int = 3,
        backoff_ms: int = 1_000,
        labels: Mapping[str, str] | None = None,
    ) -> Definition:
        """Return what a connector is to do."""
        return Definition(
            type="file",
            config=b"{}",
            tasks_max=tasks,
            failures_max=failures,
            backoff_ms=backoff_ms,
            labels=[Label(name=each, value=value) for each, value in (labels or {}).items()],
        )

    async def aim(self, target: Target, name: str = "c") -> None:
        """Say what the tasks of a connector are to do."""
        command = SetConnectorTarget(tenant=TENANT, name=name, target=target)
        await self.node.propose(command, Connector)

    async def drain(self, worker: str, release_timeout_ms: int = 0) -> None:
        """Have the tasks of a worker go to others."""
        command = DrainWorker(worker=worker, release_timeout_ms=release_timeout_ms)
        await self.node.propose(command, Worker)

    async def schedule(self) -> None:
        """Run the scheduler once."""
        await self.node.run_controller(SCHEDULING)

    async def report(
        self,
        task: Task,
        state: TaskState = TASK_STATE_RUNNING,
        reason: str = "",
        *,
        timeout_ms: int = 0,
    ) -> Task:
        """Have the worker of a task, as it was then, report; raises `Rejected`."""
        command = ReportTasks(
            worker=task.worker,
            worker_epoch=task.worker_epoch,
            timeout_ms=timeout_ms,
            reports=[TaskReport(task=task.id, epoch=task.epoch, state=state, reason=reason)],
        )
        reply = await self.node.propose(command, BatchReply)
        for refusal in reply.refusals:
            raise Rejected(refusal.code, refusal.message)
        return ReportReply.FromString(reply.replies[0]).task

    async def beat(self, worker: str, timeout_ms: int = 0) -> None:
        """Have a worker say that it is alive."""
        command = ReportTasks(worker=worker, worker_epoch=self.epoch(worker), timeout_ms=timeout_ms)
        await self.node.propose(command, BatchReply)

    async def store(self, task: Task, value: bytes, expected_version: int = 0) -> Cursor:
        """Have the worker of a task, as it was then, keep how far it has come."""
        command = StoreCursor(
            task=task.id,
            worker_epoch=task.worker_epoch,
            epoch=task.epoch,
            expected_version=expected_version,
            value=value,
        )
        return await self.node.propose(command, Cursor)

    def tasks(self) -> list[Task]:
        """Return all tasks in their order."""
        return [Task.FromString(row) for row in self.node.rows(TASKS).values()]

    def task(self, number: int = 0, connector: str = "c") -> Task:
        """Return a task; raises `KeyError`."""
        named = TaskId(tenant=TENANT, connector=connector, number=number)
        return Task.FromString(self.node.rows(TASKS)[key_of(named)])

    def cursor(self, number: int = 0, connector: str = "c") -> Cursor | None:
        """Return how far a task has come."""
        named = TaskId(tenant=TENANT, connector=connector, number=number)
        row = self.node.rows(CURSORS).get(key_of(named))
        return None if row is None else Cursor.FromString(row)

    def connector(self, name: str = "c") -> Connector | None:
        """Return a connector."""
        row = self.node.rows(CONNECTORS).get(connector_key(TENANT, name))
        return None if row is None else Connector.FromString(row)

    def workers(self) -> dict[str, Worker]:
        """Return the rows of the workers, by name."""
        rows = map(Worker.FromString, self.node.rows(WORKERS).values())
        return {worker.name: worker for worker in rows}

    def loads(self) -> Counter[str]:
        """Return how many tasks each worker has; those of nobody stand under the empty name."""
        return Counter(task.worker for task in self.tasks())

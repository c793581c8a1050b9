"""A cluster in memory on virtual time, and clients of it that can be cut off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeVar, cast

import pytest
from google.protobuf.message import Message
from pydantic import BaseModel, ConfigDict
from quorate.client import (
    AsyncClient,
    ChangeKind,
    DeadlineError,
    InvalidError,
    OutcomeUnknownError,
    RejectedError,
    WatchedChange,
)
from quorate.client.brokers import Brokers
from quorate.plugin import Invalid, Rejected, RowEvent
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryNode
from quorate.v1.cluster_pb2 import SendHeartbeat
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.api import ConnectorType, SecretRef
from quorate_connector.client import AssignedTask, Connectors, ConnectorWorker, Runner
from quorate_connector.v1.connectors_pb2 import Connector, CreateConnectorRequest, Definition
from quorate_connector.v1.tasks_pb2 import ReportTasks, StoreCursor, Task, TaskState

R = TypeVar("R", bound=Message)

TICK_MS = 50
LATENCY_S = 0.001
SCHEDULER = "connector.scheduling"
SCHEDULER_TICKS = 20


class VirtualTime:
    """The time of a loop that waits for nothing but its timers: it moves on to the next one."""

    def __init__(self, select: Callable[[float], list[Any]]) -> None:
        self._select = select
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> list[Any]:
        assert timeout is not None, "everything waits, and nothing will ever happen"
        self._now += timeout
        return self._select(0)


@pytest.fixture
async def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the loop of a test get to the next timer at once when nothing else is left to do."""
    loop: Any = asyncio.get_running_loop()
    time = VirtualTime(loop._selector.select)
    monkeypatch.setattr(loop, "time", time.now)
    monkeypatch.setattr(loop._selector, "select", time.select)


class Nonsense(BaseModel):
    """The configuration of the connectors of these tests."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    say: str = ""
    password: SecretRef | None = None


class MemoryClient:
    """Asks a node in memory what a client asks a cluster."""

    def __init__(self, node: MemoryNode) -> None:
        self._node = node
        self.brokers = Brokers(self.as_client)
        self._reached = asyncio.Event()
        self._writes = asyncio.Event()
        self._sees = asyncio.Event()
        self.heal()
        #: So many commands are carried out whose answers are lost.
        self.losing = 0
        #: So late is the next answer to a report, whatever its deadline.
        self.late_s = 0.0
        #: Whether heartbeats of brokers are lost.
        self.heartless = False
        #: What was sent, in order.
        self.sent: list[Message] = []

    @property
    def as_client(self) -> AsyncClient:
        return cast(AsyncClient, self)

    def cut(self) -> None:
        """Let nothing through."""
        self._reached.clear()
        self._sees.clear()

    def mute(self) -> None:
        """Let no commands through, and everything else."""
        self._writes.clear()

    def blind(self) -> None:
        """Let no events through, and everything else."""
        self._sees.clear()

    def heal(self) -> None:
        """Let everything through that waits, and comes."""
        for way in (self._reached, self._writes, self._sees):
            way.set()

    async def execute(
        self, command: Message, reply: type[R], *, timeout_s: float | None = None
    ) -> R:
        await self._way(timeout_s, self._writes)
        if self.heartless and isinstance(command, SendHeartbeat):
            raise DeadlineError("nothing was done")
        self.sent.append(command)
        done = await told(self._node.propose(command, reply))
        if self.losing and isinstance(command, StoreCursor):
            self.losing -= 1
            raise OutcomeUnknownError("the answer was lost")
        if self.late_s and isinstance(command, ReportTasks) and command.reports:
            late_s, self.late_s = self.late_s, 0.0
            await asyncio.sleep(late_s)
        await self._way(timeout_s, self._writes)
        return done

    async def call(
        self,
        method: str,
        request: Message,
        response: type[R],
        *,
        timeout_s: float | None = None,
        **others: object,
    ) -> R:
        await self._way(timeout_s)
        service, name = method.strip("/").split("/")
        same = type(request)()
        same.CopyFrom(request)
        return await told(getattr(self._node.servicer(service), name)(same, None))

    async def watch(
        self, family: str, *, prefix: bytes = b"", marks: bool = False
    ) -> AsyncGenerator[WatchedChange, None]:
        while True:
            listed = False
            async for watched in self._node.watch(family, prefix=prefix):
                await self._sees.wait()
                event = watched.event
                if watched.resync:
                    yield WatchedChange(kind=ChangeKind.RESYNC)
                elif event is None:
                    listed = True
                    yield WatchedChange(kind=ChangeKind.LISTED)
                elif isinstance(event, RowEvent):
                    there = ChangeKind.PUT if listed else ChangeKind.ROW
                    kind = ChangeKind.DELETED if event.value is None else there
                    yield WatchedChange(kind=kind, key=event.key, value=event.value or b"")

    async def _way(self, timeout_s: float | None, *more: asyncio.Event) -> None:
        await asyncio.sleep(LATENCY_S)
        try:
            async with asyncio.timeout(30.0 if timeout_s is None else timeout_s):
                for way in (self._reached, *more):
                    await way.wait()
        except TimeoutError:
            raise DeadlineError("nothing was done") from None


async def told(answering: Awaitable[R]) -> R:
    """Return an answer; raise what a client does."""
    try:
        return await answering
    except Rejected as error:
        raise RejectedError(error.code, error.message) from None
    except Invalid as error:
        raise InvalidError(error.field, error.reason) from None


class VirtualCluster:
    """A node whose scheduler runs and whose time goes by, and the workers of a test."""

    def __init__(self, catalog: Catalog) -> None:
        self.node = MemoryNode(catalog=catalog, at_ms=1_000)
        self.q = self.client()
        self.connectors = Connectors(self.q.as_client)
        #: Runs that have begun and not ended, as (worker, connector, number, epoch).
        self.runs: list[tuple[str, str, int, int]] = []
        #: How many runs have begun.
        self.begun = 0
        #: Every run that began while another one of the same task had not ended.
        self.overlaps: list[tuple[str, str, int, int]] = []

    def client(self) -> MemoryClient:
        return MemoryClient(self.node)

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def tick_always(self) -> None:
        for tick in count():
            await asyncio.sleep(TICK_MS / 1_000)
            await self.node.advance(TICK_MS)
            await self.node.run_woken()
            if tick % SCHEDULER_TICKS == 0:
                await self.node.run_controller(SCHEDULER)

    async def create(self, name: str = "c", *, tasks: int = 1, config: bytes = b"{}") -> Connector:
        definition = Definition(
            type="nonsense", config=config, tasks_max=tasks, failures_max=3, backoff_ms=1_000
        )
        command = CreateConnectorRequest(tenant="acme", name=name, definition=definition)
        return await self.node.propose(command, Connector)

    async def task(self, name: str = "c", number: int = 0) -> Task:
        found: Task | None = await self.connectors.tasks.get("acme", name, number)
        assert found is not None
        return found

    async def until(self, holds: Callable[[], bool | Awaitable[bool]]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(120):
            while True:
                found = holds()
                if found is True or (not isinstance(found, bool) and await found):
                    return
                await asyncio.sleep(TICK_MS / 1_000)

    async def state(self, state: TaskState, name: str = "c", number: int = 0) -> Task:
        """Wait until a task is in a state, and return it."""
        await self.until(lambda: self._is(state, name, number))
        return await self.task(name, number)

    async def _is(self, state: TaskState, name: str, number: int) -> bool:
        return (await self.task(name, number)).state == state

    def runner(
        self,
        worker: str,
        run: Callable[[AssignedTask[Nonsense]], Awaitable[None]] | None = None,
        type_name: str = "nonsense",
    ) -> Runner[Nonsense]:
        """Return what notes the runs of a worker, and does something in each."""
        kind = ConnectorType(name=type_name, model=Nonsense)

        async def noted(task: AssignedTask[Nonsense]) -> None:
            noting = (worker, task.connector, task.number, task.epoch)
            if any(other[1:3] == noting[1:3] for other in self.runs):
                self.overlaps.append(noting)
            self.runs.append(noting)
            self.begun += 1
            try:
                await (forever() if run is None else run(task))
            finally:
                self.runs.remove(noting)

        return Runner(name=kind.name, model=Nonsense, run=noted)

    @asynccontextmanager
    async def worker(
        self,
        name: str,
        run: Callable[[AssignedTask[Nonsense]], Awaitable[None]] | None = None,
        *,
        client: MemoryClient | None = None,
        **options: Any,
    ) -> AsyncIterator[asyncio.Task[None]]:
        """Have a worker work meanwhile."""
        q = (client or self.client()).as_client
        worker = ConnectorWorker(q, name, "test", [self.runner(name, run)], **options)
        working = asyncio.create_task(worker.run())
        try:
            yield working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


@pytest.fixture
async def cluster(virtual_time: None, catalog: Catalog) -> AsyncIterator[VirtualCluster]:
    cluster = VirtualCluster(catalog)
    await cluster.node.propose(CreateTenant(name="acme"), Tenant)
    ticking = asyncio.create_task(cluster.tick_always())
    try:
        yield cluster
    finally:
        ticking.cancel()
        [ended] = await asyncio.gather(ticking, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), repr(ended)
    assert not cluster.overlaps

"""Thousands of connector tasks: given out, a worker's death, and its return.

`assign` creates connectors before there is any worker, lets all workers register, and takes the
time until every task has one, and until every task is said to run. `death` ends a worker without a
word: the time runs from its last sign of life until all its tasks run elsewhere, and the tasks of
others that have moved are counted. `return` registers it again, and takes the time until the
workers are even. Workers do nothing but follow their tasks and report; all of them share a process.

python benchmarks/connectors.py [--connectors 2000] [--tasks 5] [--workers 20] [--nodes 3]
                                [--timeout 10] [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final

from figures import Options, report, run, slices
from nodes import founded
from quorate.client import (
    AsyncClient,
    ChangeKind,
    OutcomeUnknownError,
    UnavailableError,
    connect,
)
from quorate.plugin import keys
from quorate.testing.cluster import Cluster
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker, RegisterBroker, RegisterBrokers
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.v1.connectors_pb2 import (
    CreateConnectorRequest,
    CreateConnectorsRequest,
    Definition,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_RUNNING,
    TASK_STATE_STOPPED,
    ListWorkersRequest,
    ListWorkersResponse,
    ReportTasks,
    Task,
    TaskReport,
)

TENANT: Final = "bench"
#: Connectors that are created in one call, and reports in one.
CREATED: Final = 100
REPORTS: Final = 500
#: Between two looks at what has changed, and between two reports of a worker.
LOOK_S: Final = 0.02
#: Of the timeout, after so much of it a worker says again that it is alive.
BEAT: Final = 0.3
ASSIGNMENTS: Final = "connector.assignments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step took."""

    step: str
    #: Until every task had a worker, and until every task was said to run.
    given_s: float
    running_s: float
    #: Tasks that changed their worker, and those of them that need not have.
    moved: int
    moved_in_vain: int
    #: Between the worker with the most tasks and the one with the fewest.
    imbalance: int


@dataclass(slots=True)
class BenchWorker:
    """A worker that says of its tasks what it is asked for, and does nothing."""

    q: AsyncClient
    name: str
    timeout_s: float
    epoch: int = 0
    tasks: dict[bytes, Task] = field(default_factory=dict)
    #: By task: the epoch under which it is known to run.
    running: dict[bytes, int] = field(default_factory=dict)
    heard_at: float = 0.0
    work: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Register, and begin to work."""
        self.begin(await self.q.execute(self.registration(), Broker))

    def registration(self) -> RegisterBroker:
        """Return the command that registers it."""
        ttl_ms = round(self.timeout_s * 1_000)
        return RegisterBroker(
            name=self.name, cluster_name="bench", roles=["connector"], ttl_ms=ttl_ms
        )

    def begin(self, broker: Broker) -> None:
        """Begin to work, as it was registered."""
        self.epoch, self.heard_at = broker.epoch, time.perf_counter()
        self.work = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """End without a word."""
        if self.work is not None:
            self.work.cancel()
            await asyncio.gather(self.work, return_exceptions=True)
        self.tasks.clear()
        self.running.clear()

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._report())

    async def _follow(self) -> None:
        start = keys.pack(self.name, self.epoch)
        async with aclosing(self.q.watch(ASSIGNMENTS, prefix=start)) as changes:
            async for change in changes:
                if change.kind is ChangeKind.DELETED:
                    self.tasks.pop(change.key, None)
                    self.running.pop(change.key, None)
                elif change.value:
                    self.tasks[change.key] = Task.FromString(change.value)

    async def _report(self) -> None:
        while True:
            due = [
                (key, task)
                for key, task in self.tasks.items()
                if task.release_by_ms or self.running.get(key) != task.epoch
            ][:REPORTS]
            now = time.perf_counter()
            if due or now - self.heard_at > BEAT * self.timeout_s:
                # What was lost on the way is said again at the next look.
                with suppress(OutcomeUnknownError, UnavailableError):
                    await self._say(due)
                    await self.q.brokers.heartbeat(self.name, self.epoch)
                    self.heard_at = now
            await asyncio.sleep(LOOK_S)

    async def _say(self, due: Sequence[tuple[bytes, Task]]) -> None:
        command = ReportTasks(
            worker=self.name,
            worker_epoch=self.epoch,
            timeout_ms=round(self.timeout_s * 1_000),
            reports=[
                TaskReport(
                    task=task.id,
                    epoch=task.epoch,
                    state=TASK_STATE_STOPPED if task.release_by_ms else TASK_STATE_RUNNING,
                )
                for _, task in due
            ],
        )
        reply = await self.q.execute(command, BatchReply)
        refused = {each.item for each in reply.refusals}
        for position, (key, task) in enumerate(due):
            if position not in refused and not task.release_by_ms:
                self.running[key] = task.epoch


async def measured(cluster: Cluster, options: argparse.Namespace) -> list[Step]:
    """Take the steps one after the other."""
    async with connect(cluster.endpoints, timeout_s=300.0) as q:
        await created(q, options.connectors, options.tasks)
        total = options.connectors * options.tasks
        workers = [
            BenchWorker(q, f"worker-{number:02}", options.timeout)
            for number in range(options.workers)
        ]
        try:
            return [
                await assigned(q, workers, total),
                await died(q, workers, total),
                await returned(q, workers, total),
            ]
        finally:
            await asyncio.gather(*(worker.stop() for worker in workers))


async def created(q: AsyncClient, connectors: int, tasks: int) -> None:
    """Create connectors, while there is nobody to run their tasks."""
    await q.execute(CreateTenant(name=TENANT), Tenant)
    config = json.dumps({"topic": "orders", "path": "/data/orders"}).encode()
    definition = Definition(
        type="file", config=config, tasks_max=tasks, failures_max=3, backoff_ms=1_000
    )
    requests = [
        CreateConnectorRequest(tenant=TENANT, name=f"connector-{number:06}", definition=definition)
        for number in range(connectors)
    ]
    for some in slices(requests, CREATED):
        reply = await q.call(
            "/quorate_connector.v1.ConnectorService/CreateBatch",
            CreateConnectorsRequest(connectors=some),
            BatchReply,
        )
        # A call that was tried again finds what its first try has made.
        refusals = [each for each in reply.refusals if each.code != "ALREADY_EXISTS"]
        if refusals:
            raise RuntimeError(f"a connector was refused: {refusals[0]}")


async def assigned(q: AsyncClient, workers: Sequence[BenchWorker], total: int) -> Step:
    """Let all workers register with one command: none is there before the others."""
    command = RegisterBrokers(brokers=[worker.registration() for worker in workers])
    began = time.perf_counter()
    reply = await q.execute(command, BatchReply)
    for worker, registered in zip(workers, reply.replies, strict=True):
        worker.begin(Broker.FromString(registered))
    return await step(q, workers, "assign", total, began, {})


async def died(q: AsyncClient, workers: Sequence[BenchWorker], total: int) -> Step:
    """Let the first worker fall silent."""
    before = places(workers)
    began = workers[0].heard_at
    await workers[0].stop()
    return await step(q, workers[1:], "death", total, began, before, lost=workers[0].name)


async def returned(q: AsyncClient, workers: Sequence[BenchWorker], total: int) -> Step:
    """Let it come back, and have its part again."""
    before = places(workers)
    began = time.perf_counter()
    await workers[0].start()
    return await step(q, workers, "return", total, began, before)


async def step(
    q: AsyncClient,
    workers: Sequence[BenchWorker],
    name: str,
    total: int,
    began: float,
    before: dict[bytes, str],
    *,
    lost: str = "",
) -> Step:
    """Wait until every task has a worker and runs, and the workers are even."""
    while not is_even(await loads(q, workers), total):
        await look_again(workers)
    given_s = time.perf_counter() - began
    while sum(len(worker.running) for worker in workers) < total:
        await look_again(workers)
    running_s = time.perf_counter() - began
    found = await loads(q, workers)
    after = places(workers)
    moved = [task for task, worker in before.items() if after[task] != worker]
    needed = [task for task in moved if before[task] == lost]
    # Where nobody has died, a newcomer's part has to move to it.
    wanted = len(needed) if lost else min(found)
    return Step(
        step=name,
        given_s=given_s,
        running_s=running_s,
        moved=len(moved),
        moved_in_vain=max(0, len(moved) - wanted) if before else 0,
        imbalance=max(found) - min(found),
    )


async def look_again(workers: Iterable[BenchWorker]) -> None:
    """Wait a little; raises what has ended the work of a worker: it would be waited for in vain."""
    await asyncio.sleep(LOOK_S)
    for worker in workers:
        if worker.work is not None and worker.work.done():
            worker.work.result()


def places(workers: Iterable[BenchWorker]) -> dict[bytes, str]:
    """Return which worker each task runs on."""
    return {
        task.id.SerializeToString(deterministic=True): worker.name
        for worker in workers
        for task in worker.tasks.values()
    }


def is_even(loads: Sequence[int], total: int) -> bool:
    """Tell whether all tasks have workers, none of which has two more than another."""
    return sum(loads) == total and max(loads) - min(loads) <= 1


async def loads(q: AsyncClient, workers: Sequence[BenchWorker]) -> list[int]:
    """Return how many tasks each of these workers has."""
    response = await q.call(
        "/quorate_connector.v1.TaskService/ListWorkers",
        ListWorkersRequest(),
        ListWorkersResponse,
        read=True,
    )
    found = {each.worker.name: each.tasks for each in response.workers}
    return [found.get(worker.name, 0) for worker in workers]


def main() -> None:
    """Measure, and print a line for each step."""
    parser = Options(
        __doc__,
        connectors=2_000,
        tasks=(5, "of each connector"),
        workers=20,
        nodes=3,
        timeout=(10.0, "of the workers, in seconds"),
    )
    options = parser.parse_args()
    if options.workers < 2:
        parser.error("--workers must be two at least: one dies")
    releases = {"connector": {"releases": 500}}
    with founded(options.directory, options.nodes, "connector", plugins=releases) as cluster:
        steps = run(measured(cluster, options))
    report(steps, as_json=options.json)


if __name__ == "__main__":
    main()

"""The scheduler, which runs on the leader of the tasks' shard.

Each run reclaims the tasks of lost workers, orders drained workers to release theirs, assigns
waiting tasks, and moves some tasks between unevenly loaded workers. A proposal is refused if its
row has changed since; the next run reads the row again.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Controller, Metric, NodeApi, ShardRef
from quorate.plugin.advanced import Alert
from quorate.plugin.batches import read_pages
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector import families
from quorate_connector.config import ConnectorConfig
from quorate_connector.scheduling.plan import Fleet, even_out, place
from quorate_connector.scheduling.queries import MOST
from quorate_connector.v1 import scheduling_pb2 as asked, tasks_pb2 as pb

ASSIGNED: Final = Metric(
    name="quorate_connector_assigned_total",
    kind="counter",
    help="Tasks that the scheduler assigned to workers.",
)
RELEASED: Final = Metric(
    name="quorate_connector_released_total",
    kind="counter",
    help="Tasks that the scheduler ordered workers to release.",
)
RECLAIMED: Final = Metric(
    name="quorate_connector_reclaimed_total",
    kind="counter",
    help="Tasks reclaimed from workers that had left or were silent.",
)
TASKS: Final = Metric(
    name="quorate_connector_tasks",
    kind="gauge",
    help="Tasks by state.",
    labels=("state",),
    alert=Alert(
        name="QuorateTasksFailed",
        expression='quorate_connector_tasks{state="failed"} > 0',
        meaning="Tasks of connectors have failed and are not restarted automatically.",
        action="`quorate connector task list` shows the reason; fix it and restart the connector.",
        for_s=0,
    ),
)
WORKERS: Final = Metric(
    name="quorate_connector_workers",
    kind="gauge",
    help="Workers that accept tasks.",
)

METRICS: Final = (ASSIGNED, RELEASED, RECLAIMED, TASKS, WORKERS)


I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference

#: Batches in flight: while one is applied, the next ones are written.
AT_A_TIME: Final = 4


async def schedule(node: NodeApi, shard: ShardRef) -> None:
    """Reclaim, release, assign and rebalance tasks, as far as is possible now."""
    run = _Run(node=node, shard=shard, config=node.config(ConnectorConfig))
    survey = await run.survey()
    lost = [holding for holding in survey.holdings if holding.lost]
    if lost:
        await run.reclaim(lost)
        survey = await run.survey()
    # A lost holding that was not reclaimed counts for no worker: the name may have a new owner.
    holdings = [holding for holding in survey.holdings if not holding.lost]
    await run.drain(
        each
        for each in holdings
        if each.draining and each.leaving < sum(kind.tasks for kind in each.tasks)
    )
    fleet = Fleet(survey.candidates)
    _observe(node, survey)
    if not await run.assign(fleet, holdings, [each.kind for each in survey.waiting]):
        await run.even_out(fleet, holdings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run of the scheduler."""

    node: NodeApi
    shard: ShardRef
    config: ConnectorConfig

    async def survey(self) -> asked.Survey:
        """Read the workers, their tasks and the waiting tasks."""
        [survey] = [each async for each in self.node.query(asked.SurveyQuery(), asked.Survey)]
        return survey

    async def reclaim(self, lost: Iterable[asked.Holding]) -> None:
        """Reclaim the tasks of lost workers."""
        reclaims = [
            pb.Reclaim(task=each.task, expected_epoch=each.epoch)
            for holding in lost
            async for each in self._held(holding)
        ]
        await self._carry_out(RECLAIMED, reclaims, lambda part: pb.ReclaimTasks(reclaims=part))

    async def drain(self, drained: Iterable[asked.Holding]) -> None:
        """Order drained workers to release their tasks."""
        releases = [
            pb.Release(
                task=each.task,
                expected_epoch=each.epoch,
                timeout_ms=holding.release_timeout_ms,
                reason=f"worker {holding.worker} is drained",
            )
            for holding in drained
            async for each in self._held(holding)
            if not each.leaving
        ]
        await self._carry_out(RELEASED, releases, lambda part: pb.ReleaseTasks(releases=part))

    async def assign(
        self, fleet: Fleet, holdings: Sequence[asked.Holding], kinds: Iterable[bytes]
    ) -> bool:
        """Assign waiting tasks; return whether any task had an eligible worker."""
        waiting = {
            kind: [task async for task in self._waiting(kind)]
            for kind in kinds
            if fleet.eligible(kind)
        }
        shares = _shares(fleet, holdings).items()
        loads = Counter({worker: share.total() for worker, share in shares})
        for holding in holdings:
            loads[holding.worker] -= holding.leaving
        placed = [
            pb.Assignment(
                task=task.task,
                expected_epoch=task.epoch,
                worker=slot.worker,
                worker_epoch=slot.worker_epoch,
                timeout_ms=round(self.config.worker_timeout_s * 1_000),
            )
            for task, slot in place(fleet, loads, waiting)
        ]
        await self._carry_out(ASSIGNED, placed, lambda part: pb.AssignTasks(assignments=part))
        return bool(placed)

    async def even_out(self, fleet: Fleet, holdings: Sequence[asked.Holding]) -> None:
        """Move some tasks off the fullest workers, unless earlier moves are still in progress."""
        if any(holding.leaving for holding in holdings):
            return
        leaving = even_out(fleet, _shares(fleet, holdings), self.config.releases)
        releases = [
            pb.Release(
                task=each.task,
                expected_epoch=each.epoch,
                timeout_ms=round(self.config.release_timeout_s * 1_000),
                reason="other workers have fewer tasks",
            )
            for worker, kinds in sorted(leaving.items())
            for each in await self._of_kinds(fleet.slot(worker), kinds)
        ]
        await self._carry_out(RELEASED, releases, lambda part: pb.ReleaseTasks(releases=part))

    async def _of_kinds(
        self, slot: asked.Candidate, wanted: Counter[bytes]
    ) -> list[asked.Placeable]:
        """Return the tasks that are to leave a worker, by the wanted number of each kind."""
        found = []
        async for task in self._held(slot):
            if wanted[task.kind]:
                wanted[task.kind] -= 1
                found.append(task)
            if not wanted.total():
                break
        return found

    async def _carry_out(
        self, counter: Metric, items: Sequence[I], command: Callable[[Sequence[I]], Message]
    ) -> None:
        """Propose distinct tasks in batches, a few at a time, and count the accepted ones.

        Raises the first failure; unanswered batches are left to the next run.
        """
        left = iter(range(0, len(items), self.config.batch))

        async def propose_in_turn() -> None:
            for first in left:
                batch = command(items[first : first + self.config.batch])
                reply = await self.node.propose(batch, BatchReply, if_leader=self.shard)
                self.node.count(counter.name, reply.items - len(reply.refusals))

        running = [asyncio.ensure_future(propose_in_turn()) for _ in range(AT_A_TIME)]
        try:
            await asyncio.gather(*running)
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _held(self, by: asked.Holding | asked.Candidate) -> AsyncIterator[asked.Placeable]:
        return self._found(
            lambda after: asked.FindHeldQuery(
                worker=by.worker, worker_epoch=by.worker_epoch, after=after, limit=MOST
            )
        )

    def _waiting(self, kind: bytes) -> AsyncIterator[asked.Placeable]:
        return self._found(lambda after: asked.FindWaitingQuery(kind=kind, after=after, limit=MOST))

    async def _found(self, query: Callable[[bytes], Message]) -> AsyncIterator[asked.Placeable]:
        """Yield the results of a query, fetched page by page."""
        pages = read_pages(
            self.node, lambda last: query(last.key if last else b""), asked.Placeable, MOST
        )
        async for page in pages:
            for each in page:
                yield each


def _shares(fleet: Fleet, holdings: Iterable[asked.Holding]) -> dict[str, Counter[bytes]]:
    """Return the number of tasks of each kind of every worker that accepts tasks."""
    shares: dict[str, Counter[bytes]] = {worker: Counter() for worker in fleet.eligible(b"")}
    for holding in holdings:
        if holding.worker in shares:
            shares[holding.worker].update({each.kind: each.tasks for each in holding.tasks})
    return shares


def _observe(node: NodeApi, survey: asked.Survey) -> None:
    counts: dict[int, int] = {each.state: each.tasks for each in survey.states}
    for name, state in pb.TaskState.items()[1:]:
        label = name.removeprefix("TASK_STATE_").lower()
        node.observe(TASKS.name, counts.get(state, 0), state=label)
    node.observe(WORKERS.name, sum(each.available for each in survey.candidates))


SCHEDULING: Final = Controller(
    name="connector.scheduling",
    group=families.GROUP,
    run_once=schedule,
    interval_s=lambda node: node.config(ConnectorConfig).scheduling_interval_s,
    wake_on=(families.TASKS, families.WORKERS, BROKERS),
)

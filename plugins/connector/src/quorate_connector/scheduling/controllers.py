"""The scheduler, which runs on the leader of the tasks' shard.

Each run takes what lost workers have, asks drained ones to let go, gives out what waits, and moves
some tasks where workers are uneven. Whatever it proposes is refused where a row has changed since:
the next run sees it anew.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from google.protobuf.message import Message
from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.config import ConnectorConfig
from quorate_connector.metrics import ASSIGNED, RECLAIMED, RELEASED, TASKS, WORKERS as AVAILABLE
from quorate_connector.scheduling.plan import Fleet, Move, Seat, even_out, place
from quorate_connector.scheduling.queries import MOST
from quorate_connector.shard import GROUP
from quorate_connector.tasks.families import TASKS as TASK_ROWS
from quorate_connector.v1.scheduling_pb2 import (
    FindHeldQuery,
    FindWaitingQuery,
    Holding,
    Placeable,
    Survey,
    SurveyQuery,
)
from quorate_connector.v1.tasks_pb2 import (
    Assignment,
    AssignTasks,
    Reclaim,
    ReclaimTasks,
    Release,
    ReleaseTasks,
    TaskState,
)
from quorate_connector.workers.brokers import BROKERS
from quorate_connector.workers.families import WORKERS


async def schedule(node: NodeApi, shard: ShardRef) -> None:
    """Bring tasks to where they are to be, as far as that can be done now."""
    config = node.config(ConnectorConfig)
    survey = await _survey(node)
    lost = [holding for holding in survey.holdings if holding.lost]
    for holding in lost:
        await _reclaim(node, shard, holding, config.batch)
    if lost:
        survey = await _survey(node)
    for holding in survey.holdings:
        if holding.draining and not holding.lost and holding.leaving < _total(holding):
            await _drain(node, shard, holding, config.batch)
    fleet = Fleet(
        Seat(
            worker=each.worker,
            worker_epoch=each.worker_epoch,
            labels=frozenset(each.labels),
        )
        for each in survey.candidates
        if each.available
    )
    _tell(node, survey)
    if not await _assign(node, shard, fleet, survey, config):
        await _even_out(node, shard, fleet, survey, config)


async def _survey(node: NodeApi) -> Survey:
    [survey] = [found async for found in node.query(SurveyQuery(), Survey)]
    return survey


async def _reclaim(node: NodeApi, shard: ShardRef, holding: Holding, batch: int) -> None:
    async for page in _held(node, holding.worker, holding.worker_epoch, batch):
        reclaims = [Reclaim(task=each.task, expected_epoch=each.epoch) for each in page]
        taken = await _carry_out(node, shard, ReclaimTasks(reclaims=reclaims))
        node.count(RECLAIMED.name, taken)


async def _drain(node: NodeApi, shard: ShardRef, holding: Holding, batch: int) -> None:
    async for page in _held(node, holding.worker, holding.worker_epoch, batch):
        staying = [each for each in page if not each.leaving]
        reason = f"worker {holding.worker} is drained"
        await _release(node, shard, staying, holding.release_timeout_ms, reason)


async def _assign(
    node: NodeApi, shard: ShardRef, fleet: Fleet, survey: Survey, config: ConnectorConfig
) -> bool:
    """Give out what waits; tell whether there was anything that a worker can have."""
    waiting = {
        each.kind: [task async for page in _waiting(node, each.kind) for task in page]
        for each in survey.waiting
        if fleet.eligible(each.kind)
    }
    loads = Counter({worker: kinds.total() for worker, kinds in _shares(fleet, survey).items()})
    for holding in survey.holdings:
        loads[holding.worker] -= holding.leaving
    placed = [
        Assignment(
            task=task.task,
            expected_epoch=task.epoch,
            worker=seat.worker,
            worker_epoch=seat.worker_epoch,
            timeout_ms=round(config.worker_timeout_s * 1_000),
        )
        for task, seat in place(fleet, loads, waiting)
    ]
    for first in range(0, len(placed), config.batch):
        command = AssignTasks(assignments=placed[first : first + config.batch])
        node.count(ASSIGNED.name, await _carry_out(node, shard, command))
    return bool(placed)


async def _even_out(
    node: NodeApi, shard: ShardRef, fleet: Fleet, survey: Survey, config: ConnectorConfig
) -> None:
    """Have some tasks leave workers that have more than others, once earlier ones have left."""
    if any(holding.leaving for holding in survey.holdings):
        return
    moves = even_out(fleet, _shares(fleet, survey), config.releases)
    for worker in sorted({move.worker for move in moves}):
        leaving = await _of_kinds(node, fleet.seat(worker), moves)
        timeout_ms = round(config.release_timeout_s * 1_000)
        await _release(node, shard, leaving, timeout_ms, "other workers have fewer tasks")


async def _of_kinds(node: NodeApi, seat: Seat, moves: Sequence[Move]) -> list[Placeable]:
    """Return as many tasks of each kind as are to leave a worker."""
    wanted = Counter(move.kind for move in moves if move.worker == seat.worker)
    found = []
    async for page in _held(node, seat.worker, seat.worker_epoch, MOST):
        for task in page:
            if wanted[task.kind]:
                wanted[task.kind] -= 1
                found.append(task)
        if not wanted.total():
            break
    return found


async def _release(
    node: NodeApi, shard: ShardRef, tasks: Sequence[Placeable], timeout_ms: int, reason: str
) -> None:
    releases = [
        Release(task=each.task, expected_epoch=each.epoch, timeout_ms=timeout_ms, reason=reason)
        for each in tasks
    ]
    if releases:
        released = await _carry_out(node, shard, ReleaseTasks(releases=releases))
        node.count(RELEASED.name, released)


async def _carry_out(node: NodeApi, shard: ShardRef, command: Message) -> int:
    """Propose a batch, and return how many of its items were carried out."""
    reply = await node.propose(command, BatchReply, if_leader=shard)
    return reply.items - len(reply.refusals)


def _shares(fleet: Fleet, survey: Survey) -> dict[str, Counter[bytes]]:
    """Return how many tasks of each kind the workers have that can be given some."""
    shares: dict[str, Counter[bytes]] = {worker: Counter() for worker in fleet.eligible(b"")}
    for holding in survey.holdings:
        if holding.worker in shares and not holding.lost:
            shares[holding.worker].update({each.kind: each.tasks for each in holding.tasks})
    return shares


def _total(holding: Holding) -> int:
    return sum(each.tasks for each in holding.tasks)


def _tell(node: NodeApi, survey: Survey) -> None:
    counts: dict[int, int] = {each.state: each.tasks for each in survey.states}
    for name, state in TaskState.items()[1:]:
        label = name.removeprefix("TASK_STATE_").lower()
        node.observe(TASKS.name, counts.get(state, 0), state=label)
    node.observe(AVAILABLE.name, sum(each.available for each in survey.candidates))


def _held(
    node: NodeApi, worker: str, worker_epoch: int, limit: int
) -> AsyncIterator[Sequence[Placeable]]:
    return _pages(
        node,
        lambda after: FindHeldQuery(
            worker=worker, worker_epoch=worker_epoch, after=after, limit=limit
        ),
        limit,
    )


def _waiting(node: NodeApi, kind: bytes) -> AsyncIterator[Sequence[Placeable]]:
    return _pages(node, lambda after: FindWaitingQuery(kind=kind, after=after, limit=MOST), MOST)


async def _pages(
    node: NodeApi, query: Callable[[bytes], Message], limit: int
) -> AsyncIterator[Sequence[Placeable]]:
    after = b""
    while True:
        page = [found async for found in node.query(query(after), Placeable)]
        if page:
            yield page
        if len(page) < limit:
            return
        after = page[-1].key


SCHEDULING: Final = Controller(
    name="connector.scheduling",
    group=GROUP,
    run_once=schedule,
    interval_s=lambda node: node.config(ConnectorConfig).scheduling_interval_s,
    wake_on=(TASK_ROWS, WORKERS, BROKERS),
)

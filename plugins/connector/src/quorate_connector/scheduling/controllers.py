"""The scheduler, which runs on the leader of the tasks' shard.

Each run takes what lost workers have, asks drained ones to let go, gives out what waits, and moves
some tasks where workers are uneven. Whatever it proposes is refused where a row has changed since:
the next run sees it anew.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Controller, Metric, NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector import families
from quorate_connector.config import ConnectorConfig
from quorate_connector.metrics import ASSIGNED, RECLAIMED, RELEASED, TASKS, WORKERS as AVAILABLE
from quorate_connector.scheduling.plan import Fleet, Move, Seat, even_out, place
from quorate_connector.scheduling.queries import MOST
from quorate_connector.v1 import scheduling_pb2 as asked, tasks_pb2 as pb

T = TypeVar("T")

#: Batches that are under way together: while one is carried out, the next ones are written.
AT_A_TIME: Final = 4


async def schedule(node: NodeApi, shard: ShardRef) -> None:
    """Bring tasks to where they are to be, as far as that can be done now."""
    config = node.config(ConnectorConfig)
    survey = await _survey(node)
    lost = [holding for holding in survey.holdings if holding.lost]
    if lost:
        await _reclaim(node, shard, lost, config.batch)
        survey = await _survey(node)
    # What is lost and could not be reclaimed counts for no worker: its name may be another's now.
    holdings = [holding for holding in survey.holdings if not holding.lost]
    drained = [each for each in holdings if each.draining and each.leaving < _total(each)]
    await _drain(node, shard, drained, config.batch)
    fleet = Fleet(
        Seat(
            worker=each.worker,
            worker_epoch=each.worker_epoch,
            labels=frozenset(each.labels),
        )
        for each in survey.candidates
        if each.available
    )
    _observe(node, survey)
    kinds = [each.kind for each in survey.waiting]
    if not await _assign(node, shard, fleet, holdings, kinds, config):
        await _even_out(node, shard, fleet, holdings, config)


async def _survey(node: NodeApi) -> asked.Survey:
    [survey] = [found async for found in node.query(asked.SurveyQuery(), asked.Survey)]
    return survey


async def _reclaim(
    node: NodeApi, shard: ShardRef, lost: Sequence[asked.Holding], batch: int
) -> None:
    reclaims = [
        pb.Reclaim(task=each.task, expected_epoch=each.epoch)
        for holding in lost
        async for page in _held(node, holding.worker, holding.worker_epoch)
        for each in page
    ]
    commands = [pb.ReclaimTasks(reclaims=part) for part in _parts(reclaims, batch)]
    await _carry_out(node, shard, RECLAIMED, commands)


async def _drain(
    node: NodeApi, shard: ShardRef, drained: Sequence[asked.Holding], batch: int
) -> None:
    releases = [
        pb.Release(
            task=each.task,
            expected_epoch=each.epoch,
            timeout_ms=holding.release_timeout_ms,
            reason=f"worker {holding.worker} is drained",
        )
        for holding in drained
        async for page in _held(node, holding.worker, holding.worker_epoch)
        for each in page
        if not each.leaving
    ]
    await _release(node, shard, releases, batch)


async def _assign(
    node: NodeApi,
    shard: ShardRef,
    fleet: Fleet,
    holdings: Sequence[asked.Holding],
    kinds: Sequence[bytes],
    config: ConnectorConfig,
) -> bool:
    """Give out what waits; tell whether there was anything that a worker can have."""
    waiting = {
        kind: [task async for page in _waiting(node, kind) for task in page]
        for kind in kinds
        if fleet.eligible(kind)
    }
    loads = Counter({worker: share.total() for worker, share in _shares(fleet, holdings).items()})
    for holding in holdings:
        loads[holding.worker] -= holding.leaving
    placed = [
        pb.Assignment(
            task=task.task,
            expected_epoch=task.epoch,
            worker=seat.worker,
            worker_epoch=seat.worker_epoch,
            timeout_ms=round(config.worker_timeout_s * 1_000),
        )
        for task, seat in place(fleet, loads, waiting)
    ]
    commands = [pb.AssignTasks(assignments=part) for part in _parts(placed, config.batch)]
    await _carry_out(node, shard, ASSIGNED, commands)
    return bool(placed)


async def _even_out(
    node: NodeApi,
    shard: ShardRef,
    fleet: Fleet,
    holdings: Sequence[asked.Holding],
    config: ConnectorConfig,
) -> None:
    """Have some tasks leave workers that have more than others, once earlier ones have left."""
    if any(holding.leaving for holding in holdings):
        return
    moves = even_out(fleet, _shares(fleet, holdings), config.releases)
    releases = [
        pb.Release(
            task=each.task,
            expected_epoch=each.epoch,
            timeout_ms=round(config.release_timeout_s * 1_000),
            reason="other workers have fewer tasks",
        )
        for worker in sorted({move.worker for move in moves})
        for each in await _of_kinds(node, fleet.seat(worker), moves)
    ]
    await _release(node, shard, releases, config.batch)


async def _of_kinds(node: NodeApi, seat: Seat, moves: Sequence[Move]) -> list[asked.Placeable]:
    """Return as many tasks of each kind as are to leave a worker."""
    wanted = Counter(move.kind for move in moves if move.worker == seat.worker)
    found = []
    async for page in _held(node, seat.worker, seat.worker_epoch):
        for task in page:
            if wanted[task.kind]:
                wanted[task.kind] -= 1
                found.append(task)
        if not wanted.total():
            break
    return found


async def _release(
    node: NodeApi, shard: ShardRef, releases: Sequence[pb.Release], batch: int
) -> None:
    commands = [pb.ReleaseTasks(releases=part) for part in _parts(releases, batch)]
    await _carry_out(node, shard, RELEASED, commands)


async def _carry_out(
    node: NodeApi, shard: ShardRef, counter: Metric, commands: Iterable[Message]
) -> None:
    """Propose batches of different tasks, a few at a time, and count what was carried out.

    The first that fails is raised, and what has not been answered then is left to the next run.
    """
    left = iter(commands)

    async def propose_in_turn() -> None:
        for command in left:
            reply = await node.propose(command, BatchReply, if_leader=shard)
            node.count(counter.name, reply.items - len(reply.refusals))

    running = [asyncio.ensure_future(propose_in_turn()) for _ in range(AT_A_TIME)]
    try:
        await asyncio.gather(*running)
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[first : first + size] for first in range(0, len(items), size))


def _shares(fleet: Fleet, holdings: Iterable[asked.Holding]) -> dict[str, Counter[bytes]]:
    """Return how many tasks of each kind the workers have that can be given some."""
    shares: dict[str, Counter[bytes]] = {worker: Counter() for worker in fleet.eligible(b"")}
    for holding in holdings:
        if holding.worker in shares:
            shares[holding.worker].update({each.kind: each.tasks for each in holding.tasks})
    return shares


def _total(holding: asked.Holding) -> int:
    return sum(each.tasks for each in holding.tasks)


def _observe(node: NodeApi, survey: asked.Survey) -> None:
    counts: dict[int, int] = {each.state: each.tasks for each in survey.states}
    for name, state in pb.TaskState.items()[1:]:
        label = name.removeprefix("TASK_STATE_").lower()
        node.observe(TASKS.name, counts.get(state, 0), state=label)
    node.observe(AVAILABLE.name, sum(each.available for each in survey.candidates))


def _held(
    node: NodeApi, worker: str, worker_epoch: int
) -> AsyncIterator[Sequence[asked.Placeable]]:
    return _pages(
        node,
        lambda after: asked.FindHeldQuery(
            worker=worker, worker_epoch=worker_epoch, after=after, limit=MOST
        ),
    )


def _waiting(node: NodeApi, kind: bytes) -> AsyncIterator[Sequence[asked.Placeable]]:
    return _pages(node, lambda after: asked.FindWaitingQuery(kind=kind, after=after, limit=MOST))


async def _pages(
    node: NodeApi, query: Callable[[bytes], Message]
) -> AsyncIterator[Sequence[asked.Placeable]]:
    after = b""
    while True:
        page = [found async for found in node.query(query(after), asked.Placeable)]
        if page:
            yield page
        if len(page) < MOST:
            return
        after = page[-1].key


SCHEDULING: Final = Controller(
    name="connector.scheduling",
    group=families.GROUP,
    run_once=schedule,
    interval_s=lambda node: node.config(ConnectorConfig).scheduling_interval_s,
    wake_on=(families.TASKS, families.WORKERS, families.BROKERS),
)

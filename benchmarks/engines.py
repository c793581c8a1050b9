"""Thousands of engine shards: created in batches, balanced, an engine's death, and one that leaves.

`create` sends shards of 3 replicas in batches and tells how evenly replicas and leaderships are
spread. `death` lets an engine fall silent and takes the time until none of its segments names it as
leader, from the end of its registration on; then it comes back, its segments take it in sync again,
and `balance` gives its leaderships back. `decommission` takes another engine out of service, with
leaders that take replicas in sync as soon as they are added, until it carries nothing; meanwhile
the segments with fewer in-sync replicas than wanted are counted.

python benchmarks/engines.py [--shards 10000] [--engines 12] [--nodes 3] [--batch 1000]
                             [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from figures import Options, report, run, slices
from nodes import founded
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import Cluster
from quorate_storage_engine.client import Engines, claim_of
from quorate_storage_engine.v1.commands_pb2 import (
    CreateShard,
    IsrMember,
    UpdateSegmentIsr,
)
from quorate_storage_engine.v1.rows_pb2 import Segment, ShardConfig
from quorate_storage_engine.v1.service_pb2 import ListSegmentsRequest

REPLICAS: Final = 3
#: Nobody falls silent by itself.
TTL_MS: Final = 3_600_000
#: Time between two looks at what is to change.
LOOK_S: Final = 0.02
CONFIG: Final = ShardConfig(
    replicas=REPLICAS, min_in_sync_replicas=2, storage="STORAGE_TYPE_SEGMENT"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step took."""

    step: str
    seconds: float
    #: Shards, leaderships or replicas.
    changed: int
    #: How far the engines that take part are from their mean at most.
    replicas_off_percent: float
    leaderships_off_percent: float
    #: The most segments at one time that had fewer in-sync replicas than wanted.
    under_replicated: int = 0


async def measured(cluster: Cluster, options: argparse.Namespace) -> list[Step]:
    """Take the steps one after the other."""
    async with connect(cluster.endpoints, timeout_s=300.0) as q:
        names = [f"engine-{number:02}" for number in range(options.engines)]
        epochs = {name: await registered(q, name) for name in names}
        dying, leaving = names[0], names[1]
        return [
            await created(q, options.shards, options.batch),
            await died(q, epochs, dying),
            await balanced(q, epochs, dying),
            await decommissioned(q, epochs, leaving, options.batch),
        ]


async def registered(q: AsyncClient, name: str) -> int:
    """Register an engine, and return its broker epoch."""
    return (await q.brokers.register(name, "bench", roles=["engine"], ttl_ms=TTL_MS)).epoch


async def created(q: AsyncClient, shards: int, batch: int) -> Step:
    """Create shards, one batch after the other."""
    commands = [CreateShard(name=f"shard-{number:06}", config=CONFIG) for number in range(shards)]
    began = time.perf_counter()
    for some in slices(commands, batch):
        reply = await Engines(q).create_shards(some)
        if reply.refusals:
            raise RuntimeError(f"a shard was refused: {reply.refusals[0]}")
    return await step(q, "create", time.perf_counter() - began, shards)


async def died(q: AsyncClient, epochs: Mapping[str, int], name: str) -> Step:
    """End the registration of an engine, as its silence does, until it leads nothing."""
    led = (await carried(q))[name][1]
    began = time.perf_counter()
    await q.brokers.unregister(name, epochs[name])
    while (await carried(q))[name][1]:
        await asyncio.sleep(LOOK_S)
    return await step(q, "death", time.perf_counter() - began, led, without=name)


async def balanced(q: AsyncClient, epochs: dict[str, int], name: str) -> Step:
    """Let an engine come back in sync, and give its leaderships back."""
    epochs[name] = await registered(q, name)
    await caught_up(q, epochs)
    began, moved = time.perf_counter(), 0
    while moves := await Engines(q).balance_leaders(most_moves=1_000):
        moved += len(moves)
    return await step(q, "balance", time.perf_counter() - began, moved)


async def decommissioned(q: AsyncClient, epochs: Mapping[str, int], name: str, batch: int) -> Step:
    """Take an engine out of service until it carries nothing."""
    held = (await carried(q))[name][0]
    worst = 0
    began = time.perf_counter()
    await Engines(q).decommission([name])
    async with catching_up(q, epochs):
        while (await carried(q))[name][0]:
            worst = max(worst, await lacking(q))
            await asyncio.sleep(LOOK_S)
    seconds = time.perf_counter() - began
    worst = max(worst, await lacking(q))
    return await step(q, "decommission", seconds, held, without=name, under_replicated=worst)


@asynccontextmanager
async def catching_up(q: AsyncClient, epochs: Mapping[str, int]) -> AsyncIterator[None]:
    """Have leaders take replicas in sync meanwhile."""

    async def run() -> None:
        while True:
            await caught_up(q, epochs)
            await asyncio.sleep(LOOK_S)

    working = asyncio.create_task(run())
    try:
        yield
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def caught_up(q: AsyncClient, epochs: Mapping[str, int]) -> None:
    """Have the leaders of all segments take every replica in sync that is not."""
    updates = [
        UpdateSegmentIsr(
            shard=segment.shard,
            segment=segment.number,
            claim=claim_of(segment),
            segment_epoch=segment.segment_epoch,
            isr=[IsrMember(engine=each, broker_epoch=epochs[each]) for each in segment.replicas],
        )
        async for segment in segments(q)
        if segment.leader and len(segment.isr) < len(segment.replicas)
    ]
    await Engines(q).update_isrs(updates)


async def lacking(q: AsyncClient) -> int:
    """Count the segments with fewer replicas or in-sync replicas than they are to have."""
    return len([each async for each in segments(q, under_replicated=True)])


def segments(q: AsyncClient, *, under_replicated: bool = False) -> AsyncIterator[Segment]:
    """Yield segments, in large pages."""
    request = ListSegmentsRequest(under_replicated=under_replicated, page_size=1_000)
    return Engines(q).segments(request)


async def carried(q: AsyncClient) -> dict[str, tuple[int, int]]:
    """Return replicas and leaderships of each engine."""
    return {
        state.engine.name: (state.engine.replicas, state.engine.leaderships)
        async for state in Engines(q).engines()
    }


async def step(
    q: AsyncClient,
    name: str,
    seconds: float,
    changed: int,
    *,
    without: str = "",
    under_replicated: int = 0,
) -> Step:
    """Tell what a step took, and how the engines stand after it."""
    loads = [each for engine, each in (await carried(q)).items() if engine != without]
    return Step(
        step=name,
        seconds=seconds,
        changed=changed,
        replicas_off_percent=100 * off([replicas for replicas, _ in loads]),
        leaderships_off_percent=100 * off([leaderships for _, leaderships in loads]),
        under_replicated=under_replicated,
    )


def off(loads: Sequence[int]) -> float:
    """Return how far the farthest is from the mean, as a part of it."""
    mean = sum(loads) / len(loads)
    return max(abs(load - mean) for load in loads) / mean if mean else 0.0


def main() -> None:
    """Measure, and print a line for each step."""
    parser = Options(__doc__, shards=10_000, engines=12, nodes=3, batch=1_000)
    options = parser.parse_args()
    if options.engines <= REPLICAS + 1:
        parser.error(f"--engines must be more than {REPLICAS + 1}: one dies and one leaves")
    # Leaders are given back when the benchmark says so, and no other time.
    moves = {"storage_engine": {"balance_moves": 0}}
    with founded(options.directory, options.nodes, "storage_engine", plugins=moves) as cluster:
        steps = run(measured(cluster, options))
    report(steps, as_json=options.json)


if __name__ == "__main__":
    main()

"""Batches that callers send to the leaders of shards, each its next one after the last answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import grpc.aio
from figures import percentiles
from nodes import pids
from quorate.testing.cluster import Cluster
from systems.closed_loop import channel
from systems.system import Meter


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What one kind of batch gave on one cluster."""

    nodes: int
    shards: int
    kind: str
    items_per_s: float
    #: Of a batch.
    p50_ms: float
    p99_ms: float
    #: Processor time for one item: of all nodes together, and of the process that asks.
    nodes_us: float
    asker_us: float


@asynccontextmanager
async def leader_channels(
    cluster: Cluster, group: str, shards: int
) -> AsyncIterator[list[grpc.aio.Channel]]:
    """Give a channel to the leader of each shard of a group; those to one node are the same."""
    led = [
        (await asyncio.to_thread(cluster.leader, f"{group}/{number}")).address
        for number in range(shards)
    ]
    async with AsyncExitStack() as exits:
        opened = {
            address: await exits.enter_async_context(channel(address))
            for address in dict.fromkeys(led)
        }
        yield [opened[address] for address in led]


async def send(
    channels: Sequence[grpc.aio.Channel],
    method: str,
    callers: Sequence[Sequence[bytes]],
    seconds: float = float("inf"),
) -> tuple[list[float], list[bytes]]:
    """Send what each caller has, one after the other; return how long each took, and answers.

    Requests that are left after these seconds are not sent.
    """
    took: list[float] = []
    answers: list[bytes] = []
    until = time.perf_counter() + seconds

    async def call(requests: Sequence[bytes], ask: Any) -> None:
        for request in requests:
            began = time.perf_counter()
            if began >= until:
                return
            answers.append(await ask(request, timeout=60))
            took.append(time.perf_counter() - began)

    methods: Any = cycle([each.unary_unary(method, None, None) for each in channels])
    await asyncio.gather(*map(call, callers, methods))
    return took, answers


async def rate(
    cluster: Cluster,
    channels: Sequence[grpc.aio.Channel],
    method: str,
    kind: str,
    callers: Sequence[Sequence[bytes]],
    *,
    items: int,
    check: Callable[[bytes], object],
    seconds: float = float("inf"),
) -> Rate:
    """Measure batches of a size; the first tenth of each caller's batches only warms up."""
    warm = max(1, len(callers[0]) // 10)
    _, answers = await send(channels, method, [requests[:warm] for requests in callers])
    meter = Meter(pids(cluster))
    took, more = await send(channels, method, [requests[warm:] for requests in callers], seconds)
    used = meter.read()
    for answer in answers + more:
        check(answer)
    count = len(took) * items
    p50_ms, p99_ms = percentiles(took)
    nodes_us, asker_us = used.each_us(count)
    return Rate(
        nodes=len(cluster.nodes),
        shards=len(channels),
        kind=kind,
        items_per_s=count / used.seconds,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        nodes_us=nodes_us,
        asker_us=asker_us,
    )

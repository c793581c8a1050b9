"""Kubernetes' use of etcd stays exact and bounded while nodes are killed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import grpc.aio
import pytest
from quorate.testing.cluster import Cluster
from quorate_etcd import errors
from quorate_etcd.wire import rpc_pb2 as rpc

from tests.support.etcd import ours
from tests.support.etcd.kubernetes import (
    PREFIX,
    Cache,
    Listing,
    Servers,
    Writer,
    judge,
    listed,
)

WRITERS = 10
#: Of two writers together: some of their changes meet.
OBJECTS = 20
PAGE = 30
#: What is kept for watches and for slow replicas has reached these bounds when the first half ends.
STORAGE = {"history_bytes": 16 << 20, "log_tail_bytes": 16 << 20}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much happens."""

    seconds: float
    #: Objects that are changed in a second.
    per_s: float
    compacted_every_s: float
    kills: int


@dataclass(frozen=True)
class Sizes:
    """What the largest node holds, after a compaction."""

    memory: int
    disk: int


class Run:
    """Writers, a cache, and an API server's compaction on a cluster."""

    def __init__(self, plan: Plan, cluster: Cluster, servers: Servers, began: Listing) -> None:
        self.plan = plan
        self.cluster = cluster
        self.servers = servers
        self.cache = Cache(servers, began)
        names = [
            [PREFIX + b"%d/%d" % (pair, number) for number in range(OBJECTS)]
            for pair in range(WRITERS // 2)
        ]
        self.writers = [Writer(servers, names[at // 2], at) for at in range(WRITERS)]
        self.listings = [began]
        self.compacted = 0
        self.sizes: list[Sizes] = []

    async def run(self) -> None:
        """Let everything happen beside each other."""
        following = asyncio.create_task(self.cache.run())
        others = asyncio.gather(self._compact_for_ever(), self._list_for_ever(), following)
        try:
            async with asyncio.TaskGroup() as working:
                for writer in self.writers:
                    rate = self.plan.per_s / WRITERS
                    working.create_task(writer.run(rate, self.plan.seconds))
                working.create_task(self._kill())
            if others.done():
                others.result()
            await self._list()
            assert self.cache.objects == self.listings[-1].objects
        finally:
            others.cancel()
            await asyncio.gather(others, return_exceptions=True)

    async def _list(self) -> None:
        listing = await listed(self.servers, PAGE)
        await self.cache.reached(listing.revision)
        self.listings.append(listing)

    async def _list_for_ever(self) -> None:
        while True:
            await self._list()
            await asyncio.sleep(self.plan.compacted_every_s / 10)

    async def _compact_for_ever(self) -> None:
        """Compact to where the store was an interval before, as an API server does."""
        revision = self.cache.revision
        while True:
            await asyncio.sleep(self.plan.compacted_every_s)
            # No further than lists and the cache are, which would have to begin anew.
            revision, until = self.listings[-1].revision, revision
            if until > self.compacted:
                await self._compact(until)
            self.sizes.append(await asyncio.to_thread(self._measured))

    async def _compact(self, revision: int) -> None:
        try:
            await self.servers.surely("Compact", rpc.CompactionRequest(revision=revision))
        except grpc.aio.AioRpcError as error:
            # An attempt that nobody answered may have been carried out.
            if error.details() != errors.COMPACTED.text:
                raise
        self.compacted = revision

    async def _kill(self) -> None:
        """Kill the leader and the node that the cache follows in turn, and start them again."""
        nodes = list(self.cluster.nodes.values())
        calm_s = self.plan.seconds / (self.plan.kills * 2 + 1)
        for number in range(self.plan.kills):
            await asyncio.sleep(calm_s)
            leader = await asyncio.to_thread(self.cluster.leader, "etcd/0")
            node = nodes[self.cache.node] if number % 2 else leader
            node.kill()
            await asyncio.sleep(calm_s / 2)
            node.start()
            await asyncio.to_thread(node.ready)

    def _measured(self) -> Sizes:
        nodes = [each for each in self.cluster.nodes.values() if each.runs]
        return Sizes(
            max(_resident(each.pid) for each in nodes),
            max(_size(each.directory) for each in nodes),
        )


def _resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) << 10


def _size(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            # It was deleted meanwhile.
            continue
    return total


async def lived(directory: Path, plan: Plan) -> Run:
    """Carry out a plan, and judge what was seen."""
    with ours.started(directory, 3, storage=STORAGE) as nodes:
        async with Servers(list(nodes.ports.values())) as servers:
            run = Run(plan, nodes.cluster, servers, await listed(servers, PAGE))
            began = time.monotonic()
            await run.run()
            judge(run.cache, run.listings, run.writers)
            changes = len(run.cache.events)
            print(
                f"{changes} changes, {changes / (time.monotonic() - began):.0f} a second, "
                f"{sum(each.refused for each in run.writers)} refused, "
                f"{sum(each.unknown for each in run.writers)} unknown, "
                f"{len(run.listings)} lists, {run.cache.streams} streams, "
                f"compacted to {run.compacted}, {run.sizes}"
            )
            await _refuses_the_past(run)
    return run


async def _refuses_the_past(run: Run) -> None:
    assert run.compacted > run.cache.began.revision
    past = rpc.RangeRequest(key=PREFIX, revision=run.compacted - 1)
    with pytest.raises(grpc.aio.AioRpcError, match=errors.COMPACTED.text):
        await run.servers.surely("Range", past)


@pytest.mark.ci
async def test_twenty_seconds(tmp_path: Path) -> None:
    plan = Plan(seconds=20, per_s=100, compacted_every_s=4, kills=2)
    run = await lived(tmp_path, plan)
    assert run.cache.streams > 1


@pytest.mark.full
@pytest.mark.timeout(2_400)
async def test_ten_minutes(tmp_path: Path) -> None:
    plan = Plan(seconds=600, per_s=200, compacted_every_s=60, kills=8)
    run = await lived(tmp_path, plan)
    half = len(run.sizes) // 2
    first, second = run.sizes[:half], run.sizes[half:]
    for later, sooner in (
        (max(each.memory for each in second), max(each.memory for each in first)),
        (max(each.disk for each in second), max(each.disk for each in first)),
    ):
        assert later < 1.5 * sooner + (64 << 20)

"""What many shards cost while nobody asks for them: start, processor, memory, and a first write.

Three nodes form a cluster with so many shards of the group `offset`, at one shard of every other
group. Told are how long forming takes until every node is ready, what share of a core each node
uses in a window at rest, what it holds in memory and how many files it has open, how long the first
write to a resting shard takes (each goes to another shard, one after the other, through one node,
and then by the Python client, which asks the leader) beside as many writes to a shard that is
awake, how long one node takes to come back, and how long all do that were killed together: until
they are ready, and until every shard has a leader, which the shards come to one after the other. In
between the same shards are written to again, as soon as all nodes are ready. Every shard that is
written to was written to once before it came to rest.

python benchmarks/rest.py [--shards 16,128] [--nodes 3] [--window 10] [--writes 200]
                          [--settle 90] [--seconds 300] [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc.aio
from figures import Options, numbers, percentiles, report, resident_each_mb, run, tell
from nodes import pids, restarted
from quorate.client import AsyncClient
from quorate.plugin import keys
from quorate.plugin.advanced import Stub
from quorate.testing.cluster import Cluster
from quorate.v1 import tenant_pb2
from quorate_offset.client import Offsets
from quorate_offset.v1 import service_pb2
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from systems.closed_loop import channel
from systems.system import server_cpu_s

TENANT: Final = "acme"
#: A node rests when it has used less than this part of a core, for as many seconds in a row.
RESTS: Final = 0.06
RESTS_S: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What a number of shards costs each node."""

    shards: int
    #: Until every node is ready: all of its shards have caught up with their leaders.
    formed_s: float
    #: In percent of a core, in the window.
    core: tuple[float, ...]
    resident_mb: tuple[float, ...]
    files: tuple[float, ...]
    #: Of a first write to a shard at rest.
    p50_ms: float
    p99_ms: float
    #: The same by the Python client.
    client_p50_ms: float
    client_p99_ms: float
    #: Of as many writes to one shard, which keep it awake.
    awake_p50_ms: float
    awake_p99_ms: float
    #: Until a node that was started again is ready.
    restarted_s: float
    #: Until all nodes are ready that were killed together.
    started_s: float
    #: Of a write to a shard that may not be open yet, from then on.
    after_p50_ms: float
    after_p99_ms: float
    #: Until every shard has a leader again.
    led_s: float


async def ready(cluster: Cluster, seconds: float) -> None:
    """Wait until all shards have caught up with their leaders on every node."""
    nodes = cluster.nodes.values()
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(lambda: all(each.is_ready for each in nodes)):
            await asyncio.sleep(0.2)


def kill_and_start(cluster: Cluster) -> float:
    """Kill all nodes and start them again; return when that began."""
    for node in cluster.nodes.values():
        node.kill()
    began = time.perf_counter()
    for node in cluster.nodes.values():
        node.start()
    return began


async def led(cluster: Cluster, shards: int, seconds: float) -> None:
    """Wait until this number of shards have a leader."""
    async with asyncio.timeout(seconds):
        while await asyncio.to_thread(leaders, cluster) < shards:
            await asyncio.sleep(1.0)


def leaders(cluster: Cluster) -> int:
    """Return how many shards the nodes lead."""
    reports = [node.report() for node in cluster.nodes.values()]
    return sum(
        shard.role == "leader" for each in reports if each is not None for shard in each.shards
    )


async def rested(processes: Sequence[int], seconds: float) -> None:
    """Wait until every node rests, for so long at most."""
    until, calm = time.perf_counter() + seconds, 0
    while calm < RESTS_S and time.perf_counter() < until:
        shares = await used(processes, 1.0)
        calm = calm + 1 if max(shares) < RESTS else 0


async def used(processes: Sequence[int], seconds: float) -> list[float]:
    """Return what part of a core each node uses in the coming seconds."""
    before, began = [server_cpu_s([each]) for each in processes], time.perf_counter()
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    return [
        (server_cpu_s([each]) - was) / took for each, was in zip(processes, before, strict=True)
    ]


async def one_of_each(client: AsyncClient, shards: int, wanted: int) -> list[str]:
    """Return consumer groups of different shards."""
    found: dict[str, str] = {}
    number = 0
    while len(found) < min(shards, wanted):
        group = f"group-{number}"
        found.setdefault(await client.shard_of("offset", keys.pack(TENANT, group)), group)
        number += 1
    chosen = list(found.values())
    random.Random(7).shuffle(chosen)
    return chosen


async def write(cluster: Cluster, groups: Sequence[str], offset: int) -> list[float]:
    """Write to shards one after the other, through the first node; return how long each took."""
    there = channel(next(iter(cluster.nodes.values())).address)
    stub = Stub(there, service_pb2.DESCRIPTOR.services_by_name["OffsetService"])
    took = []
    for group in groups:
        request = service_pb2.CommitOffsetsRequest(
            groups=[
                GroupCommit(
                    tenant=TENANT,
                    group=group,
                    commits=[OffsetCommit(topic="orders", partition=0, offset=offset)],
                )
            ]
        )
        began = time.perf_counter()
        while True:
            try:
                answer = await stub.CommitOffsets(request, timeout=10)
                break
            except grpc.aio.AioRpcError as error:
                # Without a leader nothing was proposed: callers ask again, and it counts.
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
        took.append(time.perf_counter() - began)
        if answer.refusals:
            raise RuntimeError(f"an offset was refused: {answer.refusals[0]}")
        # A caller who is gone before the next comes: each write meets a node at rest.
        await asyncio.sleep(0.02)
    await there.close(None)
    return took


async def write_by_client(cluster: Cluster, groups: Sequence[str], offset: int) -> list[float]:
    """Write to shards one after the other, each at its leader; return how long each took."""
    took = []
    async with AsyncClient(cluster.endpoints) as client:
        offsets = Offsets(client)
        # It learns where the leaders are.
        await offsets.fetch(TENANT, groups[0], "orders", 0)
        for group in groups:
            began = time.perf_counter()
            await offsets.commit(TENANT, group, "orders", 0, offset)
            took.append(time.perf_counter() - began)
            await asyncio.sleep(0.02)
    return took


async def measure(cluster: Cluster, shards: int, began: float, options: argparse.Namespace) -> Rest:
    """Wait until the shards rest, and look at them."""
    await ready(cluster, options.seconds)
    formed_s = time.perf_counter() - began
    tell(f"{shards} shards: formed in {formed_s:.1f} s")
    async with AsyncClient(cluster.endpoints) as client:
        # The shards learn of the tenant whose offsets are written, and rest again.
        await client.execute(tenant_pb2.CreateTenant(name=TENANT), tenant_pb2.Tenant)
        groups = await one_of_each(client, shards, options.writes)
    await write(cluster, groups, 1)
    processes = pids(cluster)
    await rested(processes, options.settle)
    core = await used(processes, options.window)
    resident, files = resident_each_mb(processes), tuple(map(open_files, processes))
    tell(f"{shards} shards: {[f'{100 * each:.1f} %' for each in core]} of a core, {resident} MB")
    p50_ms, p99_ms = percentiles(await write(cluster, groups, 2))
    awake_p50_ms, awake_p99_ms = percentiles(await write(cluster, groups[-1:] * len(groups), 3))
    await rested(processes, options.settle)
    client_p50_ms, client_p99_ms = percentiles(await write_by_client(cluster, groups, 4))
    restarted_s = await restarted(next(iter(cluster.nodes.values())))
    total = leaders(cluster)
    killed_at = kill_and_start(cluster)
    await ready(cluster, options.seconds)
    started_s = time.perf_counter() - killed_at
    tell(f"{shards} shards: all nodes ready in {started_s:.1f} s")
    after_p50_ms, after_p99_ms = percentiles(await write(cluster, groups, 5))
    await led(cluster, total, options.seconds)
    return Rest(
        shards=shards,
        formed_s=formed_s,
        core=tuple(100 * each for each in core),
        resident_mb=resident,
        files=files,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        client_p50_ms=client_p50_ms,
        client_p99_ms=client_p99_ms,
        awake_p50_ms=awake_p50_ms,
        awake_p99_ms=awake_p99_ms,
        restarted_s=restarted_s,
        started_s=started_s,
        after_p50_ms=after_p50_ms,
        after_p99_ms=after_p99_ms,
        led_s=time.perf_counter() - killed_at,
    )


def open_files(pid: int) -> float:
    """Return how many files and sockets a process has open."""
    return float(len(list(Path(f"/proc/{pid}/fd").iterdir())))


async def all_of(options: argparse.Namespace) -> list[Rest]:
    """Measure each number of shards on a cluster of its own."""
    found = []
    for shards in options.shards:
        began = time.perf_counter()
        settings = {"groups": {"offset": {"shards": shards}}}
        with (
            tempfile.TemporaryDirectory(dir=options.directory) as place,
            Cluster(
                Path(place), options.nodes, plugins=["offset"], settings=settings, forked=False
            ) as cluster,
        ):
            found.append(await measure(cluster, shards, began, options))
    return found


def main() -> None:
    """Measure, and print."""
    parser = Options(__doc__, nodes=3, window=10.0, writes=200, settle=90.0, seconds=300.0)
    parser.add_argument("--shards", type=numbers, default=[16, 128])
    options = parser.parse_args()
    report(run(all_of(options), 2 * options.seconds), as_json=options.json)


if __name__ == "__main__":
    main()

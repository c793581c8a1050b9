"""What a session, a pair, a write, a watch and a shard at rest cost: the figures of `quorate plan`.

Three nodes. `rows`: sessions of MQTT and pairs of 128 bytes are written in batches, then pairs one
by one with 100 in flight; memory, disk, log and processor time by the row. `watches`: watches of
one prefix are opened, and pairs are written that all of them see. `rest`: clusters with few and
with many shards do nothing. Processor time is that of the leader and of one of the others; what
other work takes of the machine does not count in it.

python benchmarks/scale.py [--only rows,watches,rest] [--sessions 200000] [--pairs 100000]
                           [--writes 10000] [--watches 1000] [--shards 100] [--seconds 5]
                           [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from figures import Options, report, resident_each_mb, run, slices, tell
from mqtt_net import netted
from nodes import disk_mb, founded, pids, quiet
from quorate.client import AsyncClient, connect
from quorate.plugin.advanced import Stub
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.kv_pb2 import DESCRIPTOR, PutPair
from systems.closed_loop import channel
from systems.system import Meter, server_cpu_s

VALUE: Final = bytes(range(128))
#: Pairs of a batch.
BATCH: Final = 1_000
BATCHES_AT_ONCE: Final = 8
IN_FLIGHT: Final = 100
#: Pairs that every watch sees.
SEEN: Final = 200
#: Of the smaller of the two clusters that rest.
FEW: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one of something costs."""

    of: str
    count: int
    #: Processor time, in microseconds: of the leader, and of one of the other replicas.
    leader_us: float = 0.0
    follower_us: float = 0.0
    #: On one node.
    memory_bytes: float = 0.0
    disk_bytes: float = 0.0
    #: What goes to each of the other replicas.
    log_bytes: float = 0.0


class Look:
    """What the nodes of a cluster have used until a moment; the leader comes first."""

    def __init__(self, cluster: Cluster, shard: str) -> None:
        self._cluster: Final = cluster
        self._shard: Final = shard
        leader = cluster.leader(shard)
        self._nodes: Final = [leader, *(each for each in cluster.nodes.values() if each != leader)]
        self._cpu: Final = [server_cpu_s([each.pid]) for each in self._nodes]
        self._memory: Final = resident_each_mb([each.pid for each in self._nodes])
        self._disk: Final = disk_mb(cluster)
        self._log: Final = self._log_bytes()

    def since(self, of: str, count: int) -> Cost:
        """Return what one of `count` has cost since then."""
        now = Look(self._cluster, self._shard)
        cpu = [after - before for before, after in zip(self._cpu, now._cpu, strict=True)]

        def mean(before: Sequence[float], after: Sequence[float]) -> float:
            return sum(a - b for a, b in zip(after, before, strict=True)) / len(before)

        return Cost(
            of=of,
            count=count,
            leader_us=cpu[0] / count * 1e6,
            follower_us=sum(cpu[1:]) / len(cpu[1:]) / count * 1e6,
            memory_bytes=mean(self._memory, now._memory) * 2**20 / count,
            disk_bytes=mean(self._disk, now._disk) * 2**20 / count,
            log_bytes=max(0, now._log - self._log) / count,
        )

    def _log_bytes(self) -> int:
        found = until(self._nodes[0].report)
        return next(each.log_bytes for each in found.shards if each.shard == self._shard)


async def rows(options: argparse.Namespace) -> list[Cost]:
    """Write, and return what a row and a write take."""
    found: list[Cost] = []
    with founded(options.directory, 3, "mqtt", shards=1) as cluster:
        async with netted(cluster) as net:
            await quiet(pids(cluster), 10)
            before = await asyncio.to_thread(Look, cluster, "mqtt/0")
            await net.connect([f"client-{number}" for number in range(options.sessions)])
            await quiet(pids(cluster), 20)
            found.append(
                await asyncio.to_thread(before.since, "session, in batches", options.sessions)
            )
        async with connect(cluster.endpoints) as q:
            before = await asyncio.to_thread(Look, cluster, "metadata/0")
            left = iter(slices(range(options.pairs), BATCH))

            async def write(some: Iterable[Sequence[int]]) -> None:
                for part in some:
                    await q.kv.put_many(PutPair(key=b"row/%d" % at, value=VALUE) for at in part)

            await asyncio.gather(*(write(left) for _ in range(BATCHES_AT_ONCE)))
            await quiet(pids(cluster), 20)
            found.append(await asyncio.to_thread(before.since, "pair, in batches", options.pairs))
            before = await asyncio.to_thread(Look, cluster, "metadata/0")
            await singles(cluster, options.writes)
            found.append(await asyncio.to_thread(before.since, "pair, single", options.writes))
    return found


async def singles(cluster: Cluster, writes: int) -> None:
    """Write pairs at the leader, each in a call of its own."""
    leader = await asyncio.to_thread(cluster.leader, "metadata/0")
    left = iter(range(writes))
    async with channel(leader.address) as opened:
        kv: Any = Stub(opened, DESCRIPTOR.services_by_name["KvService"])

        async def write() -> None:
            for number in left:
                await kv.Put(PutPair(key=b"one/%d" % number, value=VALUE), timeout=60)

        await asyncio.gather(*(write() for _ in range(IN_FLIGHT)))


async def watches(options: argparse.Namespace) -> list[Cost]:
    """Open watches at the leader, and return what one of them and one of their events takes."""
    found: list[Cost] = []
    with founded(options.directory, 3, "mqtt", shards=1) as cluster:
        leader = await asyncio.to_thread(cluster.leader, "metadata/0")
        async with connect(leader.address) as q, connect(cluster.endpoints) as writer:
            await quiet(pids(cluster), 10)
            seen = [0] * options.watches

            async def follow(client: AsyncClient, number: int) -> None:
                async for each in client.watch("kv", prefix=b"seen/"):
                    seen[number] += each.value is not None

            before = await asyncio.to_thread(Look, cluster, "metadata/0")
            following = [
                asyncio.create_task(follow(q, number)) for number in range(options.watches)
            ]
            await writer.kv.put("seen/0", VALUE)
            await all_have(seen, 1)
            opened = await asyncio.to_thread(before.since, "watch, open", options.watches)
            found.append(opened)
            began = await asyncio.to_thread(Look, cluster, "metadata/0")
            for number in range(SEEN):
                await writer.kv.put(f"seen/{number}", VALUE)
            await all_have(seen, SEEN + 1)
            found.append(
                await asyncio.to_thread(began.since, "event of a watch", SEEN * options.watches)
            )
            for each in following:
                each.cancel()
            await asyncio.gather(*following, return_exceptions=True)
    return found


async def all_have(seen: Sequence[int], count: int) -> None:
    """Wait until every watch has seen so many pairs."""
    async with asyncio.timeout(120):
        while min(seen) < count:
            await asyncio.sleep(0.05)


async def rest(options: argparse.Namespace) -> list[Cost]:
    """Return what one shard more takes of a node when nobody writes."""
    figures: list[tuple[float, float]] = []
    for shards in (FEW, FEW + options.shards):
        with founded(options.directory, 3, "mqtt", shards=shards) as cluster:
            await asyncio.sleep(5)
            processes = pids(cluster)
            meter = Meter(processes)
            await asyncio.sleep(options.seconds)
            used = meter.read()
            cores = used.servers_s / used.seconds / len(processes)
            memory = sum(resident_each_mb(processes)) / len(processes)
            figures.append((cores, memory))
            tell(f"{shards} shards: {cores:.3f} of a core, {memory:.0f} MB a node")
    (few_cpu, few_mb), (cpu, mb) = figures
    return [
        Cost(
            of="shard at rest, a second",
            count=options.shards,
            follower_us=(cpu - few_cpu) / options.shards * 1e6,
            memory_bytes=(mb - few_mb) * 2**20 / options.shards,
        ),
        Cost(of="node, a second", count=1, follower_us=few_cpu * 1e6, memory_bytes=few_mb * 2**20),
    ]


def main() -> None:
    """Measure, and print a table."""
    parts = {"rows": rows, "watches": watches, "rest": rest}
    parser = Options(
        __doc__,
        sessions=200_000,
        pairs=100_000,
        writes=10_000,
        watches=1_000,
        shards=100,
        seconds=(5.0, "of each rest"),
    )
    parser.add_names("--only", [*parts])
    options = parser.parse_args()
    found: list[Cost] = []
    for part in options.only:
        found += run(parts[part](options))
    report(found, as_json=options.json)


if __name__ == "__main__":
    main()

"""How long single writes of one group take while another group is flooded.

Three nodes in processes of their own, all with the plugin of `examples/greeting`. One process
floods the leader of the group `greeting` with batches, more of them than its queue has room for;
another process writes single pairs of the group `metadata`, one at a time and at an
even pace, before and meanwhile. Leaders are placed twice: those of the two groups on one node,
where they share a core, and on different nodes.

python benchmarks/flooded_group.py [--seconds N] [--in-flight N] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import platform
import sys
import tempfile
from collections.abc import Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

import grpc
import grpc.aio
from quorate.client import QuorateError, connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate_greeting.v1.service_pb2 import SayHelloBatchRequest, SayHelloRequest

#: Single writes a second.
PACE: Final = 100
HELLOS: Final = 1_000
#: What a node advises to wait that has no room for large requests.
RETRY_S: Final = 2.0
_FLOOD: Final = "/quorate_greeting.v1.GreetingService/SayHelloBatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the quiet group saw in one phase, and what the flooded one did."""

    leaders: str
    flooded: bool
    writes: int
    lost: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    hellos_a_second: float
    refused: int
    failed: int


async def write(endpoints: str, seconds: float) -> tuple[list[float], int]:
    """Write at an even pace; return how long each write took, in ms, and how many failed."""
    took: list[float] = []
    failed = 0
    async with connect(endpoints) as client:
        await client.kv.put("quiet", b"")
        loop = asyncio.get_running_loop()
        begun = loop.time()
        number = 0
        while (due := begun + number / PACE) < begun + seconds:
            await asyncio.sleep(max(0.0, due - loop.time()))
            at = loop.time()
            if at >= begun + seconds:
                # Writes that take longer than their pace are fewer.
                break
            try:
                await client.kv.put(f"quiet/{number}", b"x" * 128)
            except QuorateError:
                failed += 1
            took.append((loop.time() - at) * 1_000)
            number += 1
    return took, failed


def flood(address: str, in_flight: int, tally: MutableSequence[int], stop: Event) -> None:
    """Send batches until told to stop; what is refused is sent again as soon as that is allowed."""

    async def run() -> None:
        # Long names, so that what is under way fills the queue.
        hellos = [
            SayHelloRequest(town=f"{number:05}".ljust(100, "x"), name="n" * 100)
            for number in range(HELLOS)
        ]
        batch = SayHelloBatchRequest(hellos=hellos).SerializeToString()
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(send(batch))

    async def send(batch: bytes) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(address, options=options) as channel:
            say = channel.unary_unary(_FLOOD, None, None)
            while not stop.is_set():
                try:
                    await say(batch, timeout=60)
                    tally[0] += HELLOS
                except grpc.aio.AioRpcError as error:
                    full = error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                    tally[1 if full else 2] += 1
                    await asyncio.sleep(RETRY_S)

    asyncio.run(run())


class Flood:
    """What the process that floods has done."""

    def __init__(self, tally: Sequence[int]) -> None:
        self._tally: Final = tally

    def so_far(self) -> tuple[int, int, int]:
        """Return the hellos said, the batches that found no room, and those that failed."""
        said, refused, failed = self._tally
        return said, refused, failed


@contextmanager
def flooding(cluster: Cluster, in_flight: int) -> Iterator[Flood]:
    """Flood for as long as the block takes, which begins when the first batch has ended."""
    spawn = multiprocessing.get_context("spawn")
    stop, tally = spawn.Event(), spawn.Array("q", 3, lock=False)
    address = cluster.leader("greeting/0").address
    process = spawn.Process(target=flood, args=(address, in_flight, tally, stop), daemon=True)
    process.start()
    try:
        until(lambda: any(tally) or not process.is_alive() or None)
        yield Flood(tally)
        if not process.is_alive():
            raise RuntimeError("the process that floods has ended by itself; see above")
    finally:
        stop.set()
        process.join(90)
        process.kill()


def measure(cluster: Cluster, seconds: float, *, flooded: Flood | None) -> Row:
    """Measure single writes for some time."""
    before = flooded.so_far() if flooded else (0, 0, 0)
    took, lost = asyncio.run(write(cluster.endpoints, seconds))
    took.sort()
    after = flooded.so_far() if flooded else (0, 0, 0)
    leaders = [cluster.leader(shard).name for shard in ("metadata/0", "greeting/0")]
    return Row(
        leaders=" ".join(leaders),
        flooded=flooded is not None,
        writes=len(took),
        lost=lost,
        p50_ms=percentile(took, 50),
        p95_ms=percentile(took, 95),
        p99_ms=percentile(took, 99),
        max_ms=took[-1],
        hellos_a_second=(after[0] - before[0]) / seconds,
        refused=after[1] - before[1],
        failed=after[2] - before[2],
    )


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the value that so many of a hundred do not exceed."""
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def place(cluster: Cluster, *, together: bool) -> None:
    """Let one node lead both shards, or two."""
    quiet = cluster.leader("metadata/0")

    def placed() -> bool | None:
        leader = cluster.leader("greeting/0")
        if (leader is quiet) is together:
            return True
        others = [node for node in cluster.nodes.values() if node is not quiet]
        leader.transfer("greeting/0", quiet.name if together else others[0].name)
        return None

    until(placed)


def main() -> int:
    """Measure, and print a line for each phase."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--in-flight", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        Cluster(Path(directory), plugins=["greeting"]) as cluster,
    ):
        cluster.ready()
        for together in (False, True):
            place(cluster, together=together)
            rows.append(measure(cluster, asked.seconds, flooded=None))
            # The nodes spread their leaders, one in ten seconds.
            place(cluster, together=together)
            with flooding(cluster, asked.in_flight) as flooded:
                rows.append(measure(cluster, asked.seconds, flooded=flooded))
    if asked.json:
        found = {"python": platform.python_version(), "rows": [asdict(row) for row in rows]}
        print(json.dumps(found))
    else:
        print(
            "leaders       flood  writes  lost    p50    p95    p99    max ms"
            "  hellos/s  refused  failed"
        )
        for row in rows:
            print(
                f"{row.leaders:13} {'yes' if row.flooded else 'no':5} {row.writes:7} {row.lost:5}"
                f" {row.p50_ms:6.1f} {row.p95_ms:6.1f} {row.p99_ms:6.1f} {row.max_ms:6.1f}"
                f" {row.hellos_a_second:9.0f} {row.refused:8} {row.failed:7}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

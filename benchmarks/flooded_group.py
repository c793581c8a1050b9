"""How long single writes of one group take while another group is flooded.

Three nodes in processes of their own, all with the plugin of `examples/greeting`. One process
floods the leader of the group `greeting` with batches, more of them than its queue has room for;
another process writes single pairs of the group `metadata`, one at a time and at an
even pace, before and meanwhile. Leaders are placed twice: those of the two groups on one node,
where they share a core, and on different nodes.

python benchmarks/flooded_group.py [--seconds N] [--in-flight N] [--json]
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from statistics import quantiles
from typing import Final

import grpc
import grpc.aio
from figures import Options, percentiles, report, run
from nodes import beside, founded, paced_writes
from quorate.client import connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate_greeting.v1.service_pb2 import SayHelloBatchRequest, SayHelloRequest

#: Single writes a second.
PACE: Final = 100
HELLOS: Final = 1_000
#: What a node advises to wait that has no room for large requests.
RETRY_S: Final = 2.0
#: What a flood has done that there is not.
CALM: Final = (0, 0, 0)
_FLOOD: Final = "/quorate_greeting.v1.GreetingService/SayHelloBatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the quiet group saw in one phase, and what the flooded one did."""

    #: The leaders of both.
    metadata: str
    greeting: str
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


@contextmanager
def flooding(cluster: Cluster, in_flight: int) -> Iterator[Sequence[int]]:
    """Flood for as long as the block takes, which begins when the first batch has ended.

    Gives the hellos said so far, the batches that found no room, and those that failed.
    """
    spawn = multiprocessing.get_context("spawn")
    stop, tally = spawn.Event(), spawn.Array("q", 3, lock=False)
    with beside(flood, cluster.leader("greeting/0").address, in_flight, tally, stop) as process:
        try:
            until(lambda: any(tally) or not process.is_alive() or None)
            yield tally
            if not process.is_alive():
                raise RuntimeError("the process that floods has ended by itself; see above")
        finally:
            stop.set()


async def measure(cluster: Cluster, seconds: float, tally: Sequence[int] = CALM) -> Row:
    """Measure single writes for some time, while batches are counted or none are sent."""
    before, began = tuple(tally), time.perf_counter()
    async with connect(cluster.endpoints) as client:
        await client.kv.put("quiet", b"")
        took, lost = await paced_writes(client, seconds, PACE)
    said, refused, failed = (now - was for now, was in zip(tally, before, strict=True))
    passed_s = time.perf_counter() - began
    p50_ms, p99_ms = percentiles(took)
    return Row(
        metadata=cluster.leader("metadata/0").name,
        greeting=cluster.leader("greeting/0").name,
        flooded=tally is not CALM,
        writes=len(took),
        lost=lost,
        p50_ms=p50_ms,
        p95_ms=quantiles(took, n=20)[-1] * 1e3,
        p99_ms=p99_ms,
        max_ms=max(took) * 1e3,
        hellos_a_second=said / passed_s,
        refused=refused,
        failed=failed,
    )


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


def main() -> None:
    """Measure, and print a line for each phase."""
    options = Options(__doc__, seconds=8.0, in_flight=500).parse_args()
    rows: list[Row] = []
    with founded(options.directory, 3, "greeting") as cluster:
        for together in (False, True):
            place(cluster, together=together)
            rows.append(run(measure(cluster, options.seconds)))
            # The nodes spread their leaders, one in ten seconds.
            place(cluster, together=together)
            with flooding(cluster, options.in_flight) as tally:
                rows.append(run(measure(cluster, options.seconds, tally)))
    report(rows, as_json=options.json)


if __name__ == "__main__":
    main()

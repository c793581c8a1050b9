"""What looking after the rows costs: processor time of the nodes for each write, with and without.

python benchmarks/healing.py --seconds 240
python benchmarks/healing.py --of recorder --seconds 60

Two clusters take turns of a few seconds. Two figures are printed: of the time that nodes used in
their own turns alone, and with what they used in the other's turns too. The first misses what a
node puts off, and the second counts twice what it does all the time.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Final, NamedTuple

from figures import Options
from nodes import page, pids
from quorate.cli import archiving
from quorate.client import AsyncClient
from quorate.observe.recorder import PROPOSED, Recorder
from quorate.shards.timing import end
from quorate.testing.cluster import Cluster
from quorate.testing.cluster.cluster import Settings
from systems.system import server_cpu_s

_WRITERS: Final = 32
_RECORDS: Final = 200_000
#: How often metrics are asked for, as Prometheus does.
_SCRAPE_S: Final = 15.0
#: As near to none as the configuration gets.
WITHOUT: Final[dict[str, Settings]] = {
    "healing": {
        "scrub": {"file_bytes_per_s": 1, "row_bytes_per_s": 1},
        "canary": {"period_ms": 0},
    },
    "recorder": {"recorder": {"bytes": 0}},
}


class Turn(NamedTuple):
    """What the nodes did in a turn, and used in the other's turn before it."""

    writes: int
    used_s: float
    waiting_s: float

    def us(self, *, waiting: bool) -> float:
        """Return processor microseconds for each write, with those of the other's turn or not."""
        return (self.used_s + self.waiting_s * waiting) * 1e6 / self.writes


class Side:
    """A cluster and a client that writes to it in its turns."""

    def __init__(self, cluster: Cluster, client: AsyncClient) -> None:
        self._cluster: Final = cluster
        self._client: Final = client
        self._cpu_s = server_cpu_s(pids(cluster))
        self.writes = 0

    async def write(self, seconds: float) -> Turn:
        """Write for so long."""
        waiting_s, before = self.used_s(), self.writes
        until = time.perf_counter() + seconds
        await asyncio.gather(*(self._write(each, until) for each in range(_WRITERS)))
        return Turn(self.writes - before, self.used_s(), waiting_s)

    async def _write(self, writer: int, until: float) -> None:
        while time.perf_counter() < until:
            await self._client.kv.put(b"%d/%d" % (writer, self.writes % 500), b"v" * 200)
            self.writes += 1

    def used_s(self) -> float:
        """Return the processor time of the nodes since the last call."""
        before, self._cpu_s = self._cpu_s, server_cpu_s(pids(self._cluster))
        return self._cpu_s - before


@asynccontextmanager
async def founded(settings: Settings, *, looked_after: bool) -> AsyncIterator[Side]:
    """Found a cluster; one that is looked after is archived, and its metrics are read."""
    with (
        tempfile.TemporaryDirectory() as place,
        Cluster(Path(place), settings=settings, forked=False) as cluster,
    ):
        await asyncio.to_thread(cluster.ready)
        async with (
            AsyncClient(cluster.endpoints) as client,
            AsyncClient(cluster.endpoints) as archivist,
        ):
            tasks = []
            if looked_after:
                tasks = [
                    asyncio.create_task(_archive(archivist, Path(place) / "archive")),
                    asyncio.create_task(_scrape(cluster)),
                ]
            try:
                yield Side(cluster, client)
            finally:
                await end(*tasks)


async def _archive(client: AsyncClient, place: Path) -> None:
    # As `quorate backup --follow` does by default.
    await archiving.follow(
        client, place, every_s=5.0, backup_every_s=86_400.0, keep_s=None, say=print
    )


async def _scrape(cluster: Cluster) -> None:
    while True:
        for node in cluster.nodes.values():
            await asyncio.to_thread(page, node.http_address, "/metrics")
        await asyncio.sleep(_SCRAPE_S)


def record_us() -> float:
    """Return processor microseconds of a record of entries."""
    with tempfile.TemporaryDirectory() as place:
        recorder = Recorder(Path(place) / "recorder", 1 << 24)
        name, began = "quorate.v1.PutPair*32", time.process_time()
        for index in range(_RECORDS):
            recorder.entries(
                PROPOSED, "metadata/0", index=index, term=3, count=1, size=9_000, text=name
            )
        return (time.process_time() - began) * 1e6 / _RECORDS


async def turns(
    sides: tuple[Side, Side], seconds: float, turn_s: float, say: Callable[[str], None]
) -> list[tuple[Turn, Turn]]:
    """Return the pairs of turns, of the sides in their order."""
    found = []
    until, order = time.perf_counter() + seconds, list(sides)
    # The first turn of both is for caches and connections.
    for side in order:
        await side.write(turn_s)
    while time.perf_counter() < until:
        done = {side: await side.write(turn_s) for side in order}
        one, other = (done[side] for side in sides)
        say(f"with: {one.us(waiting=False):.1f}, without: {other.us(waiting=False):.1f} us/write")
        found.append((one, other))
    return found


async def main() -> None:
    """Let both take turns, and print by how much they differ."""
    parser = Options(__doc__, seconds=240.0, turn=(2.0, "seconds of a turn"))
    parser.add_argument("--of", choices=[*WITHOUT], default="healing")
    asked = parser.parse_args()
    of_recorder = asked.of == "recorder"
    async with AsyncExitStack() as stack:
        with_, without = [
            await stack.enter_async_context(founded(settings, looked_after=looked_after))
            for settings, looked_after in (({}, not of_recorder), (WITHOUT[asked.of], False))
        ]
        pairs = await turns((with_, without), asked.seconds, asked.turn, partial(print, flush=True))
    if of_recorder:
        print(f"a record: {record_us():.2f} us; a write has at most 4 on three nodes")
    for waiting, what in ((False, "own turns"), (True, "all turns")):
        low, middle, high = quantiles(
            (one.us(waiting=waiting) / other.us(waiting=waiting) for one, other in pairs), n=4
        )
        print(
            f"{asked.of}, {what}: {100 * (middle - 1):+.1f} % of processor time for each write"
            f" (quartiles {100 * (low - 1):+.1f} and {100 * (high - 1):+.1f} %,"
            f" {len(pairs)} pairs of turns, {with_.writes} and {without.writes} writes)"
        )


if __name__ == "__main__":
    asyncio.run(main())

"""What the scrub and the canary cost: processor time of the nodes for each write, with and without.

python benchmarks/healing.py --seconds 20 --rounds 3
python benchmarks/healing.py --of recorder --seconds 10 --rounds 3
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from nodes import pids
from quorate.client import AsyncClient
from quorate.observe.recorder import PROPOSED, Recorder
from quorate.testing.cluster import Cluster
from quorate.testing.cluster.cluster import Settings
from systems.system import server_cpu_s

_WRITERS: Final = 32
_RECORDS: Final = 200_000
#: As near to none as the configuration gets.
WITHOUT: Final[dict[str, Settings]] = {
    "healing": {
        "scrub": {"file_bytes_per_s": 1, "row_bytes_per_s": 1},
        "canary": {"period_ms": 0},
    },
    "recorder": {"recorder": {"bytes": 0}},
}


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


async def cost_us(settings: Settings, seconds: float) -> tuple[float, float]:
    """Return processor microseconds for each write, and writes per second."""
    with tempfile.TemporaryDirectory() as place, Cluster(Path(place), settings=settings) as cluster:
        cluster.ready()
        async with AsyncClient(cluster.endpoints) as client:
            done, until = 0, time.perf_counter() + seconds

            async def write(writer: int) -> None:
                nonlocal done
                number = 0
                while time.perf_counter() < until:
                    number += 1
                    await client.kv.put(b"%d/%d" % (writer, number % 500), b"v" * 200)
                    done += 1

            before = server_cpu_s(pids(cluster))
            await asyncio.gather(*map(write, range(_WRITERS)))
            return (server_cpu_s(pids(cluster)) - before) * 1e6 / done, done / seconds


async def main() -> None:
    """Measure both in turns, and print the medians."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--of", choices=[*WITHOUT], default="healing")
    arguments.add_argument("--seconds", type=float, default=20)
    arguments.add_argument("--rounds", type=int, default=3)
    asked = arguments.parse_args()
    found: dict[str, list[float]] = {"without": [], "with": []}
    cases: list[tuple[str, Settings]] = [("with", {}), ("without", WITHOUT[asked.of])]
    for _ in range(asked.rounds):
        # Neither is always the second one.
        cases.reverse()
        for name, settings in cases:
            each, rate = await cost_us(settings, asked.seconds)
            found[name].append(each)
            print(f"{name}: {each:.1f} us/write at {rate:.0f} writes/s", flush=True)
    ratio = median(found["with"]) / median(found["without"])
    if asked.of == "recorder":
        print(f"a record: {record_us():.2f} us; a write has at most 4 on three nodes")
    print(f"{asked.of}: {100 * (ratio - 1):+.1f} % of processor time for each write")


if __name__ == "__main__":
    asyncio.run(main())

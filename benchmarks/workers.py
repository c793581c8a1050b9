"""Offsets in batches on one machine with one worker and with several: what more cores give.

One process asks, with RPCs of 1,000 offsets made beforehand, each caller's next one after its last
answer. `leaders`: each RPC has groups of one shard and goes to the worker that leads it, as the
Python client sends them. `mixed`: its groups are of all shards, at the workers' own addresses in
turn. `port`: the same, at the one port of the machine, where the kernel chooses the worker of a
connection. The workers and the asker share the cores of this machine, so two figures are given:
offsets a second by the clock, and `capacity`: offsets for each second of processor time of the
busiest worker, which is what the workers do when each has a core and the asker has its own.

python benchmarks/workers.py [--workers 1,2] [--shards 4] [--seconds 5] [--rounds 3]
                             [--in-flight 8] [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import urlopen

import grpc.aio
from figures import Options, numbers, report, run, slices, tell
from offsets import TENANT, commits
from quorate.client import connect
from quorate.plugin import keys
from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_offset.v1.service_pb2 import CommitOffsetsResponse
from systems.system import server_cpu_s

#: Groups of one RPC, with four partitions each.
GROUPS: Final = 250
READY_S: Final = 60.0
MODES: Final = ("leaders", "mixed", "port")
_COMMIT: Final = "/quorate_offset.v1.OffsetService/CommitOffsets"
_SERVE: Final = """
import sys
from quorate.cli.main import main
from quorate.testing.program import end_with_parent
end_with_parent()
sys.exit(main())
"""


@dataclass(frozen=True, slots=True)
class Rate:
    """What one number of workers gave in one way of asking: the medians of the rounds."""

    workers: int
    mode: str
    offsets_per_s: float
    #: For each second of processor time of the busiest worker.
    capacity_per_s: float
    #: Processor time for one offset: of all workers together, and of the process that asks.
    workers_us: float
    asker_us: float
    #: The share of the busiest worker in the time of all.
    busiest: float


@contextmanager
def machine(directory: Path | None, workers: int, shards: int) -> Iterator[tuple[Program, int]]:
    """Start a machine, and yield its process and the port for clients."""
    ports = free_ports(*range(workers + 1), *(100 + each for each in range(workers + 1)))
    with tempfile.TemporaryDirectory(dir=directory) as place:
        file = Path(place) / "quorate.toml"
        file.write_text(
            f'[node]\nname = "q1"\nport = {ports[0]}\ndir = "{place}/data"\nworkers = {workers}\n'
            f"[groups.offset]\nshards = {shards}\nreplicas = 1\n"
            '[groups.metadata]\nreplicas = 1\n[plugins]\nenabled = ["offset"]\n'
        )
        program = Program("q1", Path(place) / "log")
        environment = {**os.environ, "GRPC_VERBOSITY": "ERROR"}
        program.start([sys.executable, "-c", _SERVE, "serve", "--config", str(file)], environment)
        try:
            until = time.perf_counter() + READY_S
            while not is_ready(ports[0] + 100):
                if time.perf_counter() > until or not program.runs:
                    raise RuntimeError(program.said)
                time.sleep(0.1)
            yield program, ports[0]
        finally:
            program.end(signal.SIGTERM)
            program.close()


def is_ready(port: int) -> bool:
    """Return whether a machine is."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def children(pid: int) -> list[int]:
    """Return the processes of the workers; a machine with one is that one."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in found] or [pid]


async def groups_by_leader(port: int) -> dict[str, list[str]]:
    """Return groups by the address of the worker that leads their shard, as many for each."""
    async with connect(f"127.0.0.1:{port}") as client:
        await client.call(
            "/quorate.v1.TenantService/Create", CreateTenant(name=TENANT), Tenant, timeout_s=30
        )
        topology = await client.topology()
        while not all(each.leader for each in topology.shards):
            await asyncio.sleep(0.1)
            topology = await client.topology()
        addresses = {each.node: each.address for each in topology.nodes}
        leaders = {
            f"{each.group}/{each.number}": addresses[each.leader] for each in topology.shards
        }
        found = defaultdict[str, list[str]](list)
        number = 0
        shards = [each for each in leaders if each.startswith("offset/")]
        by_shard = defaultdict[str, list[str]](list)
        while any(len(by_shard[each]) < 2 * GROUPS for each in shards):
            name = f"group-{number}"
            by_shard[await client.shard_of("offset", keys.pack(TENANT, name))].append(name)
            number += 1
        for shard in shards:
            found[leaders[shard]] += by_shard[shard][: 2 * GROUPS]
        return dict(found)


async def measure(port: int, pid: int, workers: int, options: argparse.Namespace) -> list[Rate]:
    """Ask in each way, in turns, and return the medians."""
    by_leader = await groups_by_leader(port)
    everybody = [name for found in zip(*by_leader.values(), strict=False) for name in found]
    processes = children(pid)
    found = defaultdict[str, list[tuple[float, ...]]](list)
    sequence = 1
    for number in range(options.rounds + 1):
        for mode in MODES:
            if mode == "leaders":
                ways = [
                    (address, part)
                    for address, groups in by_leader.items()
                    for part in slices(groups, GROUPS)
                ]
            else:
                addresses = cycle(by_leader if mode == "mixed" else [f"127.0.0.1:{port}"])
                ways = list(zip(addresses, slices(everybody, GROUPS), strict=False))
            sequence += 1_000_000
            figures = await ask(ways, processes, sequence, options)
            if number:
                found[mode].append(figures)
    return [
        Rate(workers, mode, *map(statistics.median, zip(*rows, strict=True)))
        for mode, rows in found.items()
    ]


async def ask(
    ways: Sequence[tuple[str, Sequence[str]]],
    processes: Sequence[int],
    sequence: int,
    options: argparse.Namespace,
) -> tuple[float, ...]:
    """Send for some seconds, and return the figures of a `Rate`."""
    # A connection for each caller: the kernel shares these between the workers.
    ways = [way for way, _ in zip(cycle(ways), range(options.in_flight), strict=False)]
    options_of = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(address, options=options_of) for address, _ in ways]
    calls = [each.unary_unary(_COMMIT, None, CommitOffsetsResponse.FromString) for each in channels]
    prepared = [
        [
            commits("unconditional", groups, sequence + number).SerializeToString()
            for number in range(20)
        ]
        for _, groups in ways
    ]
    sent = 0
    end = 0.0

    async def call(commit: Any, requests: Sequence[bytes]) -> None:
        nonlocal sent
        for request in cycle(requests):
            if time.perf_counter() > end:
                return
            answer = await commit(request, timeout=60)
            if answer.refusals:
                # The shard does not know the tenant yet.
                await asyncio.sleep(0.05)
                continue
            sent += 4 * GROUPS

    def used() -> list[float]:
        return [server_cpu_s([each]) for each in processes]

    before, asked, began = used(), time.process_time(), time.perf_counter()
    end = began + options.seconds
    await asyncio.gather(*map(call, calls, prepared))
    took, own = time.perf_counter() - began, time.process_time() - asked
    cpu = [after - first for after, first in zip(used(), before, strict=True)]
    for each in channels:
        await each.close(None)
    most = max(cpu)
    return sent / took, sent / most, sum(cpu) / sent * 1e6, own / sent * 1e6, most / sum(cpu)


def main() -> None:
    """Measure, and print a table."""
    parser = Options(__doc__, shards=4, seconds=(5.0, "of each measurement"), rounds=3, in_flight=8)
    parser.add_argument("--workers", type=numbers, default=[1, 2])
    options = parser.parse_args()
    found: list[Rate] = []
    for workers in options.workers:
        with machine(options.directory, workers, options.shards) as (program, port):
            found += run(measure(port, program.pid, workers, options))
        tell(f"{workers} workers measured")
    report(found, as_json=options.json)


if __name__ == "__main__":
    main()

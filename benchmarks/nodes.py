"""Nodes that a benchmark founds: their processes, their disks, their rest, and their return."""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.context import SpawnProcess
from pathlib import Path
from stat import S_ISREG
from typing import Final
from urllib.request import urlopen

from quorate.client import AsyncClient, QuorateError
from quorate.testing.cluster import Cluster, NodeProcess
from systems.system import Meter

#: Nodes are quiet when they use less than this of a processor.
QUIET: Final = 0.1
#: They are waited for no longer.
QUIET_S: Final = 120.0
#: A node that is not ready after this time is broken.
READY_S: Final = 120.0
#: A process beside the nodes that has been told to end does so in this time.
ENDED_S: Final = 90.0
#: Between two looks whether it is.
_LOOK_S: Final = 0.02
#: In bytes: what `stat` counts a file's room on disk in.
_BLOCK: Final = 512


@contextmanager
def founded(
    directory: Path | None,
    nodes: int,
    *plugins: str,
    shards: int = 0,
    **settings: Mapping[str, object],
) -> Iterator[Cluster]:
    """Found a cluster in a directory of its own; `shards` of the group with the plugin's name."""
    if shards:
        settings["groups"] = {plugins[0]: {"shards": shards}}
    with (
        tempfile.TemporaryDirectory(dir=directory) as place,
        Cluster(Path(place), nodes, plugins=plugins, settings=settings, forked=False) as cluster,
    ):
        yield cluster.ready()


@contextmanager
def beside(run: Callable[..., None], *arguments: object) -> Iterator[SpawnProcess]:
    """Run a function in a process of its own, which ends with the block when it has been told."""
    process = multiprocessing.get_context("spawn").Process(target=run, args=arguments, daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.join(ENDED_S)
        process.kill()


async def paced_writes(client: AsyncClient, seconds: float, pace: int) -> tuple[list[float], int]:
    """Write single pairs at a rate, one at a time; return their times, and the failures.

    When they take so long that three times the seconds are over, the others are left out.
    """
    took: list[float] = []
    failed = 0
    clock = asyncio.get_running_loop().time
    began = clock()
    for number in range(round(seconds * pace)):
        await asyncio.sleep(max(0.0, began + number / pace - clock()))
        at = clock()
        if at >= began + 3 * seconds:
            break
        try:
            await client.kv.put(f"quiet/{number}", b"x" * 128)
        except QuorateError:
            failed += 1
        took.append(clock() - at)
    return took, failed


def page(address: str, path: str) -> str:
    """Return a page that a node serves."""
    with urlopen(f"http://{address}{path}", timeout=120) as answer:
        text: str = answer.read().decode()
    return text


def pids(cluster: Cluster) -> list[int]:
    """Return the processes of the nodes."""
    return [node.pid for node in cluster.nodes.values()]


def disk_mb(cluster: Cluster) -> tuple[float, ...]:
    """Return what the files of each node take on disk."""
    return tuple(_bytes_below(node.directory) / 2**20 for node in cluster.nodes.values())


async def quiet(processes: Sequence[int], seconds: float = QUIET_S) -> None:
    """Wait until nodes have written and compacted what they were given, for so long at most."""
    until = time.perf_counter() + seconds
    cores = 1.0
    while cores > QUIET and time.perf_counter() < until:
        meter = Meter(processes)
        await asyncio.sleep(1)
        used = meter.read()
        cores = used.servers_s / used.seconds


async def restarted(node: NodeProcess) -> float:
    """Stop a node and start it again; return the seconds from its start until it was ready."""
    await asyncio.to_thread(node.stop)
    began = time.perf_counter()
    await asyncio.to_thread(node.start)
    async with asyncio.timeout(READY_S):
        while not await asyncio.to_thread(lambda: node.is_ready):
            await asyncio.sleep(_LOOK_S)
    return time.perf_counter() - began


def _bytes_below(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        try:
            status = path.stat()
        except FileNotFoundError:
            # Compacted away since it was listed.
            continue
        if S_ISREG(status.st_mode):
            total += status.st_blocks * _BLOCK
    return total

"""Nodes that a benchmark founds: their processes, their disks, their rest, and their return."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Final

from quorate.testing.cluster import Cluster, NodeProcess
from systems.system import server_cpu_s

#: Nodes are quiet when they use less than this of a processor.
QUIET: Final = 0.1
#: They are waited for no longer.
QUIET_S: Final = 120.0
#: A node that is not ready after this time is broken.
READY_S: Final = 120.0
#: Between two looks whether it is.
_LOOK_S: Final = 0.02
#: In bytes: what `stat` counts a file's room on disk in.
_BLOCK: Final = 512


@contextmanager
def founded(directory: Path | None, nodes: int, plugin: str, shards: int) -> Iterator[Cluster]:
    """Found a cluster in a directory of its own; the plugin's group has the plugin's name."""
    settings = {"groups": {plugin: {"shards": shards}}}
    with (
        tempfile.TemporaryDirectory(dir=directory) as place,
        Cluster(Path(place), nodes, plugins=[plugin], settings=settings) as cluster,
    ):
        yield cluster.ready()


def pids(cluster: Cluster) -> list[int]:
    """Return the processes of the nodes."""
    return [node.pid for node in cluster.nodes.values()]


def disk_mb(cluster: Cluster) -> tuple[float, ...]:
    """Return what the files of each node take on disk."""
    return tuple(_bytes_below(node.directory) / 2**20 for node in cluster.nodes.values())


async def quiet(processes: Sequence[int], seconds: float = QUIET_S) -> None:
    """Wait until nodes have written and compacted what they were given, for so long at most."""
    until = time.perf_counter() + seconds
    used = 1.0
    while used > QUIET and time.perf_counter() < until:
        before, began = server_cpu_s([*processes]), time.perf_counter()
        await asyncio.sleep(1)
        used = (server_cpu_s([*processes]) - before) / (time.perf_counter() - began)


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

"""What can happen to a node of a cluster, for as long as a `with` block takes."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Final

from quorate.testing.cluster import NodeProcess

from tests.support.proxied_cluster import ProxiedCluster

Fault = Callable[[ProxiedCluster, random.Random], AbstractContextManager[None]]


@contextmanager
def killed(cluster: ProxiedCluster, rng: random.Random) -> Iterator[None]:
    """Kill a node as `kill -9` does; start it again, and wait until it is ready."""
    node = _victim(cluster, rng)
    node.kill()
    try:
        yield
    finally:
        node.start()
        node.ready()


@contextmanager
def paused(cluster: ProxiedCluster, rng: random.Random) -> Iterator[None]:
    """Stop the clockwork of a node by SIGSTOP, and let it go on."""
    node = _victim(cluster, rng)
    node.pause()
    try:
        yield
    finally:
        node.resume()


@contextmanager
def partitioned(cluster: ProxiedCluster, rng: random.Random) -> Iterator[None]:
    """Cut a node off from the others, and sometimes from its clients too; heal all ways."""
    cluster.partition(_victim(cluster, rng).name, clients=rng.random() < 0.5)
    try:
        yield
    finally:
        cluster.heal()


@contextmanager
def deafened(cluster: ProxiedCluster, rng: random.Random) -> Iterator[None]:
    """Cut what one node opened to one other; heal it."""
    source, target = rng.sample(sorted(cluster.nodes), 2)
    cluster.proxy(source, target).cut()
    try:
        yield
    finally:
        cluster.heal()


@contextmanager
def transferred(cluster: ProxiedCluster, rng: random.Random) -> Iterator[None]:
    """Hand the leadership of the shard to another node."""
    leader = cluster.leader(cluster.shard)
    heirs = sorted(name for name, node in cluster.nodes.items() if node is not leader)
    leader.transfer(cluster.shard, rng.choice(heirs))
    yield


#: By name.
FAULTS: Final[Mapping[str, Fault]] = {
    "killed": killed,
    "paused": paused,
    "partitioned": partitioned,
    "deafened": deafened,
    "transferred": transferred,
}


@asynccontextmanager
async def beside_the_loop(fault: AbstractContextManager[None]) -> AsyncIterator[None]:
    """Begin and end a fault in a thread: a load in this loop goes on meanwhile."""
    await asyncio.to_thread(fault.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(fault.__exit__, None, None, None)


async def disturb(
    cluster: ProxiedCluster,
    reached: Callable[[int], Awaitable[None]],
    kinds: Sequence[str],
    operations: int,
    rng: random.Random,
) -> None:
    """Let one fault after the other begin and end at some of so many operations of a load."""
    moments = sorted(rng.sample(range(operations * 9 // 10), 2 * len(kinds)))
    for kind, begin, end in zip(kinds, moments[::2], moments[1::2], strict=True):
        await reached(begin)
        async with beside_the_loop(FAULTS[kind](cluster, rng)):
            await reached(end)


def _victim(cluster: ProxiedCluster, rng: random.Random) -> NodeProcess:
    """Choose the leader half of the time, and any node otherwise."""
    leader = cluster.leader(cluster.shard)
    return leader if rng.random() < 0.5 else cluster.nodes[rng.choice(sorted(cluster.nodes))]

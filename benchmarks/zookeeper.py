"""ZooKeeper's protocol on three nodes of ZooKeeper and on three of Quorate, both in one run.

A client that is written for this, and costs little itself, sends each the same frames: one request
at a time, many at a time, multis of 128; it holds watches and has them fired, and sessions that
say nothing but pings. Both write to disk before they answer. `cpu_us` is the processor time of all
three servers for one operation, and `memory_mb` what they have resident.

python benchmarks/zookeeper.py [--seconds 5] [--watches 10000] [--sessions 1000] [--znodes 50000]
    [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Final

from figures import percentiles, report, resident_each_mb, run, tell
from systems.system import MissingError, server_cpu_s
from systems.zookeeper import ZooKeeper

sys.path.append(str(Path(__file__).parents[1]))

from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Op

from tests.support.zookeeper.cluster import SHARD, ZooKeeperDoors
from tests.support.zookeeper.peers import Peer, create, multi, read, set_data

BATCH: Final = 128
MANY: Final = 100
DATA: Final = b"x" * 200
_SESSION_MS: Final = 30_000
#: Requests: the operation and its record.
Request = tuple[int, bytes]


@dataclass(frozen=True)
class System:
    """One of both: the clients' port of its leader, and its processes."""

    name: str
    address: str
    pids: Sequence[int]

    async def connect(self) -> Peer:
        """Open a connection with a session."""
        host, port = self.address.split(":")
        peer = Peer(*await asyncio.open_connection(host, int(port), limit=1 << 24))
        opening = jute.int32(0) + jute.int64(0) + jute.int32(_SESSION_MS) + jute.int64(0)
        peer.writer.write(jute.buffer(opening + jute.buffer(bytes(16)) + b"\x00"))
        await peer.frame()
        return peer

    def memory_mb(self) -> float:
        """Return what all its processes have resident."""
        return sum(resident_each_mb(self.pids))


@dataclass(frozen=True)
class Row:
    """What was measured of one of both."""

    load: str
    system: str
    per_s: float
    ratio: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    memory_mb: float


@dataclass
class Loop:
    """Requests that are sent again and again on one connection, `depth` of them at a time."""

    system: System
    requests: Iterator[Request]
    depth: int
    #: Operations of a request.
    weight: int = 1
    took: list[float] = field(default_factory=list)

    async def measure(self, load: str, seconds: float) -> Row:
        """Send for some seconds."""
        peer = await self.system.connect()
        sent: list[float] = []
        ends_s = time.perf_counter() + seconds
        cpu_s, began_s = server_cpu_s([*self.system.pids]), time.perf_counter()
        for _ in range(self.depth):
            self._send(peer, sent)
        done = 0
        while done < len(sent):
            reply = await peer.reply()
            assert not reply.error, reply
            now_s = time.perf_counter()
            self.took.append(now_s - sent[done])
            done += 1
            peer.seen.clear()
            if now_s < ends_s:
                self._send(peer, sent)
        passed_s = time.perf_counter() - began_s
        cpu_s = server_cpu_s([*self.system.pids]) - cpu_s
        peer.writer.close()
        return _row(load, self.system, self.took, done * self.weight, passed_s, cpu_s)

    def _send(self, peer: Peer, sent: list[float]) -> None:
        peer.send(*next(self.requests))
        sent.append(time.perf_counter())


async def watches(system: System, many: int) -> Row:
    """Fire watches that many connections have on one znode; the time is that until all know."""
    clients = [await system.connect() for _ in range(MANY)]
    paths = [f"/bench/w{number}" for number in range(many // MANY)]
    writer = await system.connect()
    for path in paths:
        await writer.ask(Op.CREATE, create(path))
    for client in clients:
        for path in paths:
            client.send(Op.EXISTS, read(path, watch=True))
        for _ in paths:
            await client.reply()
    took: list[float] = []
    cpu_s, began_s = server_cpu_s([*system.pids]), time.perf_counter()

    async def heard(client: Peer) -> None:
        for _ in paths:
            await client.event()
            took.append(time.perf_counter() - began_s)

    for path in paths:
        writer.send(Op.SET_DATA, set_data(path, DATA))
    await asyncio.gather(*map(heard, clients))
    passed_s, cpu_s = time.perf_counter() - began_s, server_cpu_s([*system.pids]) - cpu_s
    for client in (*clients, writer):
        client.writer.close()
    return _row(f"{many:,} watches fired", system, took, len(took), passed_s, cpu_s)


async def sessions(system: System, many: int, seconds: float) -> Row:
    """Hold sessions whose clients say nothing but pings."""
    began_s = time.perf_counter()
    clients: list[Peer] = []
    for start in range(0, many, MANY):
        opened = (system.connect() for _ in range(min(MANY, many - start)))
        clients += await asyncio.gather(*opened)
    opened_s = time.perf_counter() - began_s
    cpu_s, began_s = server_cpu_s([*system.pids]), time.perf_counter()
    pings = 0
    while time.perf_counter() - began_s < 2 * seconds:
        for client in clients:
            client.send(Op.PING, xid=-2)
            pings += 1
        for client in clients:
            await client.reply()
            client.seen.clear()
        await asyncio.sleep(1)
    cpu_s = server_cpu_s([*system.pids]) - cpu_s
    found = _row(f"{many:,} sessions", system, [opened_s / many], many, opened_s, 0)
    for client in clients:
        client.writer.close()
    return replace(found, cpu_us=cpu_s / pings * 1e6)


async def znodes(system: System, many: int) -> Row:
    """Create znodes of 200 bytes, and look at the memory that they take."""
    peer = await system.connect()
    parents = [f"/bench/p{number}" for number in range(-(-many // 10_000))]
    for parent in parents:
        await peer.ask(Op.CREATE, create(parent))
    cpu_s, began_s = server_cpu_s([*system.pids]), time.perf_counter()
    numbers = iter(range(many))
    flying = 0
    while True:
        batch = [number for number, _ in zip(numbers, range(BATCH), strict=False)]
        if batch:
            made = (f"{parents[number // 10_000]}/z{number}" for number in batch)
            peer.send(Op.MULTI, multi(*((Op.CREATE, create(path, DATA)) for path in made)))
            flying += 1
        if flying == 8 or (flying and not batch):
            await peer.reply()
            flying -= 1
            peer.seen.clear()
        elif not batch:
            break
    passed_s, cpu_s = time.perf_counter() - began_s, server_cpu_s([*system.pids]) - cpu_s
    peer.writer.close()
    return _row(f"{many:,} znodes", system, [passed_s], many, passed_s, cpu_s)


def loads() -> Iterator[tuple[str, Callable[[System, float], Awaitable[Row]]]]:
    """Yield what is measured, in its order."""
    numbers = count()

    def creates() -> Iterator[Request]:
        return ((Op.CREATE, create(f"/bench/c{number}", DATA)) for number in numbers)

    def sets() -> Iterator[Request]:
        return ((Op.SET_DATA, set_data("/bench/s", DATA)) for _ in count())

    def gets() -> Iterator[Request]:
        return ((Op.GET_DATA, read("/bench/s")) for _ in count())

    def multis() -> Iterator[Request]:
        body = multi(*[(Op.SET_DATA, set_data("/bench/s", DATA))] * BATCH)
        return ((Op.MULTI, body) for _ in count())

    def loop(
        load: str, requests: Iterator[Request], depth: int, weight: int = 1
    ) -> tuple[str, Callable[[System, float], Awaitable[Row]]]:
        async def measure(system: System, seconds: float) -> Row:
            return await Loop(system, requests, depth, weight).measure(load, seconds)

        return load, measure

    for name, requests in (("create", creates), ("set", sets), ("get", gets)):
        for depth in (1, MANY):
            yield loop(f"{name} x{depth}", requests(), depth)
    yield loop(f"multi of {BATCH} x4", multis(), 4, BATCH)


@contextmanager
def stock(directory: Path) -> Iterator[System | None]:
    """Start three nodes of ZooKeeper, if it is here."""
    servers = ZooKeeper(directory, ())
    try:
        servers.start()
    except MissingError as error:
        tell(str(error))
        yield None
        return
    try:
        leader = servers.leader()
        yield System(f"ZooKeeper {servers.version}", servers.address(leader), servers.pids())
    finally:
        servers.close()


@contextmanager
def quorate(directory: Path) -> Iterator[System]:
    """Start three nodes of Quorate."""
    with ZooKeeperDoors(directory) as cluster:
        cluster.ready()
        leader = cluster.leader(SHARD)
        [name] = [name for name, node in cluster.nodes.items() if node is leader]
        yield System("Quorate", cluster.doors[name], [each.pid for each in cluster.nodes.values()])


async def measure(system: System, options: argparse.Namespace) -> list[Row]:
    """Measure one of both."""
    peer = await system.connect()
    for path in ("/bench", "/bench/s"):
        await peer.ask(Op.CREATE, create(path, DATA))
    peer.writer.close()
    found: list[Row] = []
    for name, load in loads():
        tell(f"{system.name}: {name}")
        found.append(await load(system, options.seconds))
    tell(f"{system.name}: watches, sessions, znodes")
    found.append(await watches(system, options.watches))
    found.append(await sessions(system, options.sessions, options.seconds))
    found.append(await znodes(system, options.znodes))
    return found


def _row(
    load: str, system: System, took: Sequence[float], done: int, passed_s: float, cpu_s: float
) -> Row:
    p50_ms, p99_ms = percentiles([*took, *took])
    return Row(
        load,
        system.name,
        done / passed_s,
        0,
        p50_ms,
        p99_ms,
        cpu_s / done * 1e6,
        system.memory_mb(),
    )


async def compare(options: argparse.Namespace) -> list[Row]:
    """Measure both, one after the other."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as directory:
        for number, start in enumerate((stock, quorate)):
            with ExitStack() as alone:
                system = alone.enter_context(start(Path(directory, str(number))))
                if system is not None:
                    rows += await measure(system, options)
    rate = {row.load: row.per_s for row in rows if row.system != "Quorate"}
    return [
        replace(row, ratio=row.per_s / rate[row.load])
        if row.system == "Quorate" and row.load in rate
        else row
        for row in rows
    ]


def main() -> None:
    """Measure both, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--watches", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--znodes", type=int, default=50_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report(run(compare(options)), as_json=options.json)


if __name__ == "__main__":
    main()

"""ZooKeeper's protocol on three nodes of ZooKeeper and on three of Quorate, both in one run.

A client that is written for this, and costs little itself, sends each the same frames: one request
at a time and many at a time, on one connection and on ten; multis of 128; it holds watches and has
them fired, and sessions whose clients send nothing but pings, each every ten seconds. Both sync
their logs before they answer. `cpu_us` is the processor time of all three servers for one
operation, `longest_ms` the longest time without an answer, and `memory_mb` what the servers have
resident. A server that does not answer for a minute ends the run with its log.

python benchmarks/zookeeper.py [--only create,set,get,multi,watches,sessions,znodes] [--seconds 5]
    [--watches 10000] [--sessions 10000] [--znodes 100000] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, repeat
from pathlib import Path
from struct import Struct
from typing import Any, Final, cast

from figures import Options, compared, report, run, tell
from systems.asked import Asked, Row, row_of
from systems.system import Meter, MissingError
from systems.zookeeper import ZooKeeper

sys.path.append(str(Path(__file__).parents[1]))

from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Op

from tests.support.zookeeper.cluster import SHARD, ZooKeeperDoors
from tests.support.zookeeper.peers import Peer, create, multi, read, set_data

BATCH: Final = 128
MANY: Final = 100
SEVERAL: Final = 10
DATA: Final = b"x" * 200
_SESSION_MS: Final = 30_000
#: How often clients with such sessions send a ping.
_PING_S: Final = 10
_SLICES: Final = 100
#: A server that answers nothing for so long is given up.
_SILENCE_S: Final = 60.0
_LENGTH_BYTES: Final = 4
#: A reply begins with its request's id, a zxid and an error code.
_HEAD: Final = Struct(">iqi")
_OF_NO_REQUEST: Final = -1
LOADS: Final = ("create", "set", "get", "multi", "watches", "sessions", "znodes")
#: Requests: the operation and its record.
Request = tuple[int, bytes]


class System(Asked):
    """One of both: the clients' port of its leader, and its processes."""

    async def connect(self) -> Peer:
        """Open a connection with a session."""
        peer = Peer(*await self.open())
        peer.writer.write(_opening())
        async with asyncio.timeout(_SILENCE_S):
            await peer.frame()
        return peer


class Asker(asyncio.Protocol):
    """A connection that keeps a number of requests in flight until it is told to end."""

    def __init__(self, requests: Iterator[Request], depth: int, ends_s: float) -> None:
        self._requests: Final = requests
        self._depth: Final = depth
        self._ends_s: Final = ends_s
        self._received: Final = bytearray()
        self._sent: Final[deque[float]] = deque()
        self._last_s = 0.0
        self._xid = 0
        self._has_session = False
        self.took: Final[list[float]] = []
        self.longest_s = 0.0
        self.done: Final[asyncio.Future[None]] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Open a session."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(_opening())

    def connection_lost(self, error: Exception | None) -> None:
        """Fail, unless all was answered."""
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Take answers, and send a request for each."""
        received, start = self._received, 0
        received += data
        now_s = time.perf_counter()
        answered = 0
        while len(received) >= start + _LENGTH_BYTES:
            length = int.from_bytes(received[start : start + _LENGTH_BYTES])
            if len(received) < start + _LENGTH_BYTES + length:
                break
            if not self._has_session:
                self._has_session = True
                answered = self._depth
            else:
                _take(received, start + _LENGTH_BYTES)
                self.took.append(now_s - self._sent.popleft())
                self.longest_s = max(self.longest_s, now_s - self._last_s)
                answered += 1
            start += _LENGTH_BYTES + length
        del received[:start]
        if answered:
            self._last_s = now_s
        if now_s < self._ends_s:
            self._send(answered)
        elif not self._sent and not self.done.done():
            self.done.set_result(None)
            self._transport.close()

    def _send(self, count: int) -> None:
        frames: list[bytes] = []
        for _ in range(count):
            self._xid += 1
            op, body = next(self._requests)
            frames.append(jute.buffer(jute.int32(self._xid) + jute.int32(op) + body))
        self._transport.write(b"".join(frames))
        self._sent.extend([time.perf_counter()] * count)


@dataclass(frozen=True)
class Loop:
    """Requests that are sent again and again, on some connections, some at a time on each."""

    load: str
    #: Returns the requests of a connection, by its number.
    requests: Callable[[int], Iterator[Request]]
    depth: int
    connections: int = 1
    #: Operations of a request.
    weight: int = 1

    async def measure(self, system: System, seconds: float) -> Row:
        """Send for some seconds."""
        loop, meter, began_s = asyncio.get_running_loop(), Meter(system.pids), time.perf_counter()

        async def begin(number: int) -> Asker:
            asker = Asker(self.requests(number), self.depth, began_s + seconds)
            await loop.create_connection(lambda: asker, *system.host_and_port)
            return asker

        askers = [await begin(number) for number in range(self.connections)]
        async with asyncio.timeout(seconds + _SILENCE_S):
            await asyncio.gather(*(asker.done for asker in askers))
        used = meter.read()
        took = [each for asker in askers for each in asker.took]
        longest_s = max(asker.longest_s for asker in askers)
        done = len(took) * self.weight
        return row_of(self.load, system, took, used, done=done, longest_s=longest_s)


def _opening() -> bytes:
    opening = jute.int32(0) + jute.int64(0) + jute.int32(_SESSION_MS) + jute.int64(0)
    return jute.buffer(opening + jute.buffer(bytes(16)) + b"\x00")


async def answer(peer: Peer) -> None:
    """Take the answer of a request, of a connection without events."""
    async with asyncio.timeout(_SILENCE_S):
        _take(await peer.frame())


def _take(frame: bytes | bytearray, at: int = 0) -> None:
    """Demand that a frame, from its request's id on, is an answer without an error."""
    xid, _, error = _HEAD.unpack_from(frame, at)
    if error or xid == _OF_NO_REQUEST:
        raise RuntimeError(f"request {xid} was answered with error {error}")


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
            await client.frame()
    took: list[float] = []
    meter, began_s = Meter(system.pids), time.perf_counter()

    async def heard(client: Peer) -> None:
        for _ in paths:
            await client.event()
            took.append(time.perf_counter() - began_s)

    for path in paths:
        writer.send(Op.SET_DATA, set_data(path, DATA))
    await asyncio.gather(*map(heard, clients))
    used = meter.read()
    for client in (*clients, writer):
        client.writer.close()
    return row_of(f"{many:,} watches fired", system, took, used)


async def sessions(system: System, many: int) -> Row:
    """Hold sessions whose clients send nothing but pings, for longer than they live without."""
    due: deque[tuple[float, Peer]] = deque()

    async def ping() -> int:
        now_s, clients = time.perf_counter(), []
        while due and due[0][0] <= now_s:
            clients.append(due.popleft()[1])
        for client in clients:
            client.send(Op.PING, xid=-2)
        for client in clients:
            await answer(client)
        due.extend((now_s + _PING_S, client) for client in clients)
        return len(clients)

    opening = Meter(())
    for start in range(0, many, MANY):
        connecting = (system.connect() for _ in range(min(MANY, many - start)))
        now_s = time.perf_counter()
        due.extend((now_s + _PING_S, client) for client in await asyncio.gather(*connecting))
        await ping()
    opened = opening.read()
    ends_s = time.perf_counter() + _SESSION_MS / 1_000 + 5
    meter, pings = Meter(system.pids), 0
    while time.perf_counter() < ends_s:
        pings += await ping()
        await asyncio.sleep(0.1)
    cpu_us, _ = meter.read().each_us(pings)
    found = row_of(f"{many:,} sessions", system, [opened.seconds / many], opened, done=many)
    for _, client in due:
        client.writer.close()
    return replace(found, cpu_us=cpu_us)


async def znodes(system: System, many: int) -> Row:
    """Create znodes of 200 bytes, and look at the memory that they take."""
    peer = await system.connect()
    parents = [f"/bench/p{number}" for number in range(-(-many // 10_000))]
    for parent in parents:
        await peer.ask(Op.CREATE, create(parent))
    meter, numbers = Meter(system.pids), iter(range(many))
    flying = 0
    while True:
        batch = [number for number, _ in zip(numbers, range(BATCH), strict=False)]
        if batch:
            made = (f"{parents[number // 10_000]}/z{number}" for number in batch)
            peer.send(Op.MULTI, multi(*((Op.CREATE, create(path, DATA)) for path in made)))
            flying += 1
        if flying == 8 or (flying and not batch):
            await answer(peer)
            flying -= 1
        elif not batch:
            break
    used = meter.read()
    peer.writer.close()
    return row_of(f"{many:,} znodes", system, [used.seconds], used, done=many)


def loops(only: Collection[str]) -> Iterator[Loop]:
    """Yield what is sent again and again, in its order."""
    numbers = count()

    def creates(_: int) -> Iterator[Request]:
        return ((Op.CREATE, create(f"/bench/c{number}", DATA)) for number in numbers)

    def sets(connection: int) -> Iterator[Request]:
        return repeat((Op.SET_DATA, set_data(f"/bench/s{connection}", DATA)))

    def gets(connection: int) -> Iterator[Request]:
        return repeat((Op.GET_DATA, read(f"/bench/s{connection}")))

    def multis(connection: int) -> Iterator[Request]:
        operation = (Op.SET_DATA, set_data(f"/bench/s{connection}", DATA))
        return repeat((Op.MULTI, multi(*[operation] * BATCH)))

    for name, requests in (("create", creates), ("set", sets), ("get", gets)):
        if name in only:
            yield Loop(f"{name} x1", requests, 1)
            yield Loop(f"{name} x{MANY}", requests, MANY)
            yield Loop(f"{name} {SEVERAL} x{MANY // SEVERAL}", requests, MANY // SEVERAL, SEVERAL)
    if "multi" in only:
        yield Loop(f"multi of {BATCH} x4", multis, 4, weight=BATCH)
        yield Loop(f"multi of {BATCH} {SEVERAL} x2", multis, 2, SEVERAL, weight=BATCH)


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
        address = servers.address(servers.leader())
        name = f"ZooKeeper {servers.version}"
        yield System(name, address, servers.pids(), said=servers.said)
    finally:
        servers.close()


@contextmanager
def quorate(directory: Path) -> Iterator[System]:
    """Start three nodes of Quorate."""
    with ZooKeeperDoors(directory, connections=20_000) as cluster:
        cluster.ready()
        leader, nodes = cluster.leader(SHARD), cluster.nodes

        def said() -> str:
            return "\n".join(f"{name}: {node.said[-2_000:]}" for name, node in nodes.items())

        [name] = [name for name, node in nodes.items() if node is leader]
        pids = [node.pid for node in nodes.values()]
        yield System("Quorate", cluster.doors[name], pids, said)


async def measure(system: System, options: argparse.Namespace) -> list[Row]:
    """Measure one of both."""
    peer = await system.connect()
    for path in ("/bench", *(f"/bench/s{number}" for number in range(SEVERAL))):
        await peer.ask(Op.CREATE, create(path, DATA))
    peer.writer.close()
    only = options.only
    loads: list[tuple[str, Callable[[], Coroutine[Any, Any, Row]]]] = [
        (loop.load, partial(loop.measure, system, options.seconds)) for loop in loops(only)
    ]
    others = (watches, options.watches), (sessions, options.sessions), (znodes, options.znodes)
    for load, many in others:
        if load.__name__ in only:
            loads.append((load.__name__, partial(load, system, many)))
    found: list[Row] = []
    for name, run_load in loads:
        tell(f"{system.name}: {name}; the load of the machine is {os.getloadavg()[0]:.1f}")
        try:
            found.append(await run_load())
        except (TimeoutError, ConnectionError, EOFError, RuntimeError) as error:
            raise SystemExit(f"{system.name}: {name}: {error!r}\n{system.said()}") from error
    return found


async def compare(options: argparse.Namespace) -> list[Row]:
    """Measure both, one after the other."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        for number, start in enumerate((stock, quorate)):
            with ExitStack() as alone:
                system = alone.enter_context(start(Path(directory, str(number))))
                if system is not None:
                    rows += await measure(system, options)
    return compared(rows, "Quorate")


def main() -> None:
    """Measure both, and print what was found."""
    parser = Options(__doc__, seconds=5.0, watches=10_000, sessions=10_000, znodes=100_000)
    parser.add_names("--only", LOADS)
    options = parser.parse_args()
    report(run(compare(options)), as_json=options.json)


if __name__ == "__main__":
    main()

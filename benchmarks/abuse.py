"""What a node holds, and how long others wait, while clients misuse it.

One node, or several, in processes of their own. One process plays the clients that misuse the
first node, over bare sockets from many loopback addresses; another one writes single pairs, one at
a time and at an even pace, right before and meanwhile. In turn:

idle        connections that never call
watches     watches without events, many on a connection
slow        watches of large rows, whose clients open no window for them
unread      reads of large pairs, whose answers are not taken either
oversized   requests larger than a node reads, one after the other
half        requests of which half has come

Each is shown with the default bounds of `[limits]` and, with --unbounded, without any. `memory` is
what the node held at most meanwhile, as a multiple of what it held at rest: 3 is the aim.

python benchmarks/abuse.py [--scale 1.0] [--only NAMES] [--seconds N] [--unbounded] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import re
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Any, Final

from figures import Options, percentiles, report, resident_mb, run, tell
from google.protobuf.message import Message
from nodes import beside, founded, paced_writes, page
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import NodeProcess
from quorate.testing.waiting import until
from quorate.v1.kv_pb2 import GetPairRequest
from quorate.v1.watch_pb2 import WatchedFamily, WatchRequest

#: Single writes a second.
PACE: Final = 50
#: What each phase tries, with a scale of 1.
PHASES: Final = {
    "idle": 5_000,
    "watches": 10_000,
    "slow": 1_000,
    "unread": 1_000,
    "oversized": 8,
    "half": 200,
}
#: Addresses that they come from.
ADDRESSES: Final = 50
#: Calls on one connection.
STREAMS: Final = 100
#: Rows that slow readers are offered: 64 of 256 KiB.
LARGE: Final = 64
LARGE_BYTES: Final = 256 << 10

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WATCH: Final = "/quorate.v1.WatchService/Watch"
GET: Final = "/quorate.v1.KvService/Get"
PUT: Final = "/quorate.v1.KvService/Put"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was seen in one phase."""

    phase: str
    bounded: bool
    tried: int
    #: Of `limits`: connections, calls, watches that the node says it holds.
    held: str
    ended: str
    writes: int
    lost: int
    p50_ms: float
    p99_ms: float
    #: Of as many writes right before, and how many times as long the 99th of a hundred took.
    quiet_p50_ms: float
    quiet_p99_ms: float
    times: float
    #: At rest before all phases, at most during this one, and right after it.
    rest_mb: float
    node_mb: float
    memory: float
    after_mb: float


# What misuses a node.


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    """Return a frame of HTTP/2."""
    return (
        len(content).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + content
    )


def headers(path: str) -> bytes:
    """Return the headers of a call."""
    given = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    parts = [b"\0"]
    for name, value in given.items():
        parts += [bytes((len(name),)), name.encode(), bytes((len(value),)), value.encode(), b"\0"]
    return b"".join(parts[:-1])


def call(number: int, path: str, message: bytes, *, whole: bool = True, more: int = 0) -> bytes:
    """Return the frames of a call whose message has `more` bytes that may never come."""
    sent = b"\0" + (len(message) + more).to_bytes(4, "big") + message
    stream = 2 * number + 1
    return frame(1, 4, stream, headers(path)) + frame(0, int(whole), stream, sent)


class Abuser:
    """Opens connections from many addresses to one, and keeps them."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._to: Final = host, int(port)
        self._made = 0
        self._open: Final[list[asyncio.StreamWriter]] = []

    async def connect(
        self, window: int = 65_535
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection with a window for each answer."""
        self._made += 1
        source = f"127.0.1.{1 + self._made % ADDRESSES}"
        reader, writer = await asyncio.open_connection(*self._to, local_addr=(source, 0), limit=1)
        self._open.append(writer)
        writer.write(PREFACE + frame(4, 0, 0, b"\0\4" + window.to_bytes(4, "big")))
        return reader, writer

    async def calls(
        self, count: int, path: str, request: Message, *, window: int = 0, pause_s: float = 0.0
    ) -> None:
        """Make this many calls, on few connections, with a pause after each connection's."""
        message = request.SerializeToString()
        for first in range(0, count, STREAMS):
            reader, writer = await self.connect(window)
            # A server takes few calls of who does not acknowledge what it has set.
            await reader.read(1)
            writer.write(frame(4, 1, 0, b""))
            numbers = range(min(STREAMS, count - first))
            writer.write(b"".join(call(number, path, message) for number in numbers))
            with suppress(OSError):
                await writer.drain()
            await asyncio.sleep(pause_s)

    async def flood(self, size: int) -> None:
        """Send requests of a size that is refused, one after the other."""
        part = frame(0, 0, 1, b"x" * 16_384)
        while True:
            with suppress(OSError):
                _, writer = await self.connect()
                writer.write(call(0, PUT, b"", whole=False, more=size))
                for _ in range(size // 16_384):
                    writer.write(part)
                    await writer.drain()
                writer.close()
            await asyncio.sleep(0.1)


async def misuse(phase: str, address: str, scale: float, tried: Any, stop: Event) -> None:
    """Do what a phase is about until told to stop."""
    abuser, floods = Abuser(address), []
    count = max(1, round(PHASES[phase] * scale))
    match phase:
        case "idle":
            for _ in range(count):
                with suppress(OSError):
                    await abuser.connect()
        case "watches":
            nothing = WatchedFamily(name="kv.pairs", prefix=b"nothing")
            request = WatchRequest(families=[nothing], changes_only=True)
            # gRPC refuses calls by itself while a thousand wait to be taken.
            await abuser.calls(count, WATCH, request, window=65_535, pause_s=0.1)
        case "slow":
            request = WatchRequest(families=[WatchedFamily(name="kv.pairs")])
            await abuser.calls(count, WATCH, request)
        case "unread":
            await abuser.calls(count, GET, GetPairRequest(key=b"large/0"))
        case "oversized":
            floods = [asyncio.create_task(abuser.flood(64 << 20)) for _ in range(count)]
        case "half":
            for _ in range(count):
                with suppress(OSError):
                    _, writer = await abuser.connect()
                    writer.write(call(0, PUT, b"", whole=False, more=8 << 20))
                    for _ in range(128):
                        writer.write(frame(0, 0, 1, b"x" * 16_384))
    tried.value = count
    while not stop.is_set():
        await asyncio.sleep(0.1)
    for each in floods:
        each.cancel()


def misusing(phase: str, address: str, scale: float, tried: Any, stop: Event) -> None:
    """Run the process that misuses a node."""
    raise_files()
    asyncio.run(misuse(phase, address, scale, tried, stop))


@asynccontextmanager
async def misused(phase: str, node: NodeProcess, scale: float) -> AsyncIterator[int]:
    """Misuse a node for as long as the block takes; give what was tried."""
    spawn = multiprocessing.get_context("spawn")
    stop, tried = spawn.Event(), spawn.Value("q", -1, lock=False)
    with beside(misusing, phase, node.address, scale, tried, stop) as process:
        try:
            await asyncio.to_thread(
                until, lambda: tried.value >= 0 or not process.is_alive() or None
            )
            if tried.value < 0:
                raise RuntimeError(f"{phase} did not begin")
            yield tried.value
        finally:
            stop.set()


# What others see of it.


def figures_of(node: NodeProcess) -> tuple[str, str]:
    """Return what a node says that it holds for callers, and what it has ended."""
    text = page(node.http_address, "/metrics")

    def told(name: str) -> str:
        found = re.findall(rf'^{name}\{{\w+="(?:open_)?(\w+)"\}} (\S+)$', text, re.MULTILINE)
        return " ".join(f"{what}={float(value):.0f}" for what, value in found if float(value))

    slow = re.findall(r"^quorate_rpc_slow_readers_total (\S+)$", text, re.MULTILINE)
    ended = told("quorate_rpc_closed_connections_total"), told("quorate_limits_refused_total")
    return told("quorate_limits_used"), " ".join([*ended, f"slow={float(slow[0]):.0f}"]).strip()


async def measured(
    node: NodeProcess,
    client: AsyncClient,
    phase: str,
    asked: argparse.Namespace,
    *,
    bounded: bool,
    rest_mb: float,
) -> Row:
    """Measure one phase."""
    seconds, scale = asked.seconds, asked.scale
    quiet_p50, quiet_p99 = percentiles((await paced_writes(client, seconds, PACE))[0])
    async with sampled(node.pid) as samples, misused(phase, node, scale) as tried:
        took, lost = await paced_writes(client, seconds, PACE)
        held, ended = await asyncio.to_thread(figures_of, node)
        during = max(samples)
    await asyncio.sleep(5)
    p50, p99 = percentiles(took)
    return Row(
        phase=phase,
        bounded=bounded,
        tried=tried,
        held=held,
        ended=ended,
        writes=len(took),
        lost=lost,
        p50_ms=p50,
        p99_ms=p99,
        quiet_p50_ms=quiet_p50,
        quiet_p99_ms=quiet_p99,
        times=round(p99 / quiet_p99, 1),
        rest_mb=rest_mb,
        node_mb=during,
        memory=round(during / rest_mb, 1),
        after_mb=resident_mb([node.pid]),
    )


@asynccontextmanager
async def sampled(pid: int) -> AsyncIterator[list[float]]:
    """Give what a process holds in memory, ten times a second while the block takes."""
    samples = [resident_mb([pid])]

    async def sample() -> None:
        while True:
            samples.append(resident_mb([pid]))
            await asyncio.sleep(0.1)

    task = asyncio.create_task(sample())
    try:
        yield samples
    finally:
        task.cancel()


#: Each bound of `[limits]` taken away.
UNBOUNDED: Final = dict.fromkeys(
    (
        "connections",
        "open_calls",
        "open_watches",
        "open_views",
        "inflight_bytes",
        "idle_connection_s",
        "slow_reader_s",
    ),
    0,
)


async def measure(asked: argparse.Namespace, *, bounded: bool) -> list[Row]:
    """Found a cluster, and measure every phase on it."""
    rows = []
    limits = {} if bounded else UNBOUNDED
    with founded(asked.directory, asked.nodes, limits=limits) as cluster:
        async with connect(cluster.endpoints) as client:
            for number in range(LARGE):
                await client.kv.put(f"large/{number}", b"x" * LARGE_BYTES)
            await asyncio.sleep(5)
            [node, *_] = cluster.nodes.values()
            rest_mb = resident_mb([node.pid])
            for phase in asked.only:
                tell(f"{phase}, {'bounded' if bounded else 'unbounded'}")
                rows.append(
                    await measured(node, client, phase, asked, bounded=bounded, rest_mb=rest_mb)
                )
    return rows


def raise_files() -> None:
    """Let this process, and those that it starts, open as many files as the system lets it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Measure, and print a line for each phase."""
    parser = Options(__doc__, scale=1.0, seconds=10.0, nodes=1)
    parser.add_names("--only", [*PHASES])
    parser.add_argument("--unbounded", action="store_true")
    asked = parser.parse_args()
    raise_files()
    found = run(measure(asked, bounded=True))
    unbounded = run(measure(asked, bounded=False)) if asked.unbounded else []
    report(found, unbounded, as_json=asked.json)


if __name__ == "__main__":
    main()

"""An event that many watches see: how long until the last one has it, and what that takes.

Watches of one prefix, a hundred on each of some connections to one node; a pair is written beneath
it, and again when all have seen it. In turn for each engine; our client's channel asks for both.

python benchmarks/watching.py [--watches 10000] [--events 10] [--engines http2,grpcio] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from figures import Options, report, resident_mb, run
from nodes import founded
from quorate.http2.grpc.channel import Channel
from quorate.v1 import kv_pb2, watch_pb2
from systems.system import Meter

#: Watches of a connection.
TOGETHER: Final = 100
_PREFIX: Final = b"watched/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of one event, where nothing else is said."""

    engine: str
    watches: int
    opened_s: float
    last_ms: float
    node_ms: float
    asker_ms: float
    #: With all of them open.
    node_mb: float


async def measure(engine: str, options: argparse.Namespace) -> Figures:
    """Measure one engine."""
    limits = {"open_calls": 0, "open_watches": 0}
    with founded(options.directory, 1, rpc={"engine": engine}, limits=limits) as cluster:
        [node] = cluster.nodes.values()
        async with AsyncExitStack() as stack:
            return await _watched(
                engine, node.address, node.pid, options.watches, options.events, stack
            )


async def _watched(
    engine: str, address: str, pid: int, watches: int, events: int, stack: AsyncExitStack
) -> Figures:
    writer = Channel(address)
    stack.push_async_callback(writer.close, None)
    put = writer.unary_unary(
        "/quorate.v1.KvService/Put",
        kv_pb2.PutPair.SerializeToString,
        kv_pb2.PutPairReply.FromString,
    )
    opened, seen, all_seen = 0, 0, asyncio.Event()

    async def watch(channel: Channel) -> None:
        nonlocal opened, seen
        family = watch_pb2.WatchedFamily(name="kv.pairs", prefix=_PREFIX)
        calling = channel.unary_stream(
            "/quorate.v1.WatchService/Watch",
            watch_pb2.WatchRequest.SerializeToString,
            watch_pb2.WatchResponse.FromString,
        )
        async for response in calling(watch_pb2.WatchRequest(families=[family], changes_only=True)):
            if not response.events:
                opened += 1
            seen += len(response.events)
            if opened == watches and seen % watches == 0:
                all_seen.set()

    began = time.perf_counter()
    watching = []
    for first in range(0, watches, TOGETHER):
        channel = Channel(address)
        stack.push_async_callback(channel.close, None)
        watching += [
            asyncio.create_task(watch(channel)) for _ in range(min(TOGETHER, watches - first))
        ]
        while opened < first:
            await asyncio.sleep(0.005)
    await all_seen.wait()
    opened_s = time.perf_counter() - began
    took: list[float] = []
    meter = Meter([pid])
    for number in range(events):
        all_seen.clear()
        began = time.perf_counter()
        await put(kv_pb2.PutPair(key=_PREFIX + b"%d" % number, value=b"v" * 100), timeout=60)
        async with asyncio.timeout(120):
            await all_seen.wait()
        took.append(time.perf_counter() - began)
    used = meter.read()
    held_mb = resident_mb([pid])
    for each in watching:
        each.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    return Figures(
        engine=engine,
        watches=watches,
        opened_s=opened_s,
        last_ms=statistics.median(took) * 1e3,
        node_ms=used.servers_s / events * 1e3,
        asker_ms=used.asker_s / events * 1e3,
        node_mb=held_mb,
    )


async def measured(options: argparse.Namespace) -> list[Figures]:
    """Measure the engines in turn."""
    return [await measure(each, options) for each in options.engines]


def main() -> None:
    """Measure, and print."""
    parser = Options(__doc__, watches=10_000, events=10)
    parser.add_names("--engines", ("http2", "grpcio"))
    options = parser.parse_args()
    report(run(measured(options)), as_json=options.json)


if __name__ == "__main__":
    main()

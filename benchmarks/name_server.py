"""The name server beside RocketMQ's own, both in one run on the same cores.

Stock: one name server, in Java. Quorate: a cluster, of which one node is asked. Each gets full
registrations of brokers with many topics, twice the same again, and one changed topic of each; then
look-ups of routes on many connections; then a broker whose connection closes, until a client is
told. `ratio` is Quorate's rate divided by the other one, and `cpu_us` the processor time of the
processes that serve, for one request.

python benchmarks/name_server.py [--brokers 100] [--topics 10000] [--connections 100]
    [--seconds 10] [--nodes 3] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from figures import Options, compared, report, run, tell
from quorate.testing.ports import free_ports
from systems.asked import Asked, Row, row_of
from systems.system import Meter, Used

sys.path.append(str(Path(__file__).parents[1]))

from tests.support.rocketmq import stock
from tests.support.rocketmq.cluster import SHARD, Doors
from tests.support.rocketmq.peers import ROUTE, Peer, body, register, topic

#: Registrations that are sent at a time.
AT_A_TIME: Final = 4


class System(Asked):
    """One of both."""

    async def connect(self) -> Peer:
        """Open a connection."""
        return Peer(*await self.open())


class Asker(asyncio.Protocol):
    """Sends a request, and again when it is answered."""

    def __init__(self, requests: Sequence[bytes], took: list[float]) -> None:
        self._requests: Final = requests
        self._took: Final = took
        self._next = 0
        self._held = b""
        self._sent_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first."""
        self._transport: Any = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Send the next when an answer is complete."""
        self._held += data
        if len(self._held) < 4 or len(self._held) < 4 + int.from_bytes(self._held[:4], "big"):
            return
        self._held = b""
        self._took.append(time.perf_counter() - self._sent_s)
        self._send()

    def _send(self) -> None:
        self._sent_s = time.perf_counter()
        self._transport.write(self._requests[self._next])
        self._next = (self._next + 1) % len(self._requests)


async def look_up(system: System, topics: Sequence[str], connections: int, seconds: float) -> Row:
    """Ask for routes on many connections, a request at a time on each."""
    requests = [route_request(each) for each in topics]
    took: list[float] = []
    loop = asyncio.get_running_loop()
    opened = [
        await loop.create_connection(
            partial(Asker, [*requests[number:], *requests[:number]], took),
            *system.host_and_port,
        )
        for number in range(connections)
    ]
    await asyncio.sleep(min(1.0, seconds))
    took.clear()
    meter = Meter(system.pids)
    await asyncio.sleep(seconds)
    found = row_of(f"routes x{connections}", system, took, meter.read())
    for transport, _ in opened:
        transport.abort()
    return found


async def registrations(system: System, load: str, said: bytes, brokers: Sequence[Peer]) -> Row:
    """Register each broker by its connection, a few at a time."""
    took: list[float] = []
    room = asyncio.Semaphore(AT_A_TIME)

    async def one(number: int, peer: Peer) -> None:
        async with room:
            began_s = time.perf_counter()
            answer = await register(
                peer, said, f"broker-{number}", address=f"10.0.{number // 250}.{number % 250}:10911"
            )
            took.append(time.perf_counter() - began_s)
            if answer.code:
                raise RuntimeError(f"{system.name} refused a registration: {answer.header}")

    meter = Meter(system.pids)
    await asyncio.gather(*(one(number, peer) for number, peer in enumerate(brokers)))
    return row_of(load, system, took, meter.read())


async def death(system: System) -> Row:
    """Close the connection of a broker that does not listen, and ask until its route is gone."""
    [port] = free_ports(0)
    watching = await system.connect()
    took = []
    for number in range(5):
        dying = await system.connect()
        said = body(topic(f"dying-{number}"), topic(f"other-{number}"))
        await register(dying, said, f"dying-{number}", address=f"127.0.0.1:{port}")
        while (await watching.ask(ROUTE, topic=f"dying-{number}")).code:
            pass
        began_s = time.perf_counter()
        await dying.close()
        while not (await watching.ask(ROUTE, topic=f"dying-{number}")).code:
            pass
        took.append(time.perf_counter() - began_s)
    return row_of("death known", system, took, Used(sum(took), 0.0, 0.0))


def route_request(name: str) -> bytes:
    """Return the frame of a look-up as a Java client sends it."""
    said = {"code": 105, "extFields": {"topic": name}, "flag": 0, "language": "JAVA", "opaque": 1}
    header = json.dumps({**said, "serializeTypeCurrentRPC": "JSON", "version": 479}).encode()
    return (4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header


async def measure(asked: argparse.Namespace, systems: Sequence[System]) -> list[Row]:
    """Give both the same, one after the other."""
    names = [f"topic-{number:06}" for number in range(asked.topics)]
    full = body(*(topic(name) for name in names))
    changed = body(topic(names[0], perm=4), counter=2)
    rows: list[Row] = []
    for system in systems:
        # A broker whose connection closes is unregistered.
        brokers = [await system.connect() for _ in range(asked.brokers)]
        for load, said in (
            ("full", full),
            ("again", full),
            ("and again", full),
            ("one changed", changed),
        ):
            tell(f"{system.name}: {load}")
            rows.append(await registrations(system, load, said, brokers))
        tell(f"{system.name}: routes")
        sample = [f"small-{number}" for number in range(100)]
        small = await system.connect()
        await register(small, body(*map(topic, sample)), "small", address="10.1.0.1:10911")
        rows.append(await look_up(system, sample, asked.connections, asked.seconds))
        rows.append(await death(system))
    order = list(dict.fromkeys(each.load for each in rows))
    return sorted(compared(rows, "quorate"), key=lambda each: order.index(each.load))


def main() -> None:
    """Measure both and print the table."""
    parser = Options(__doc__, brokers=100, topics=10_000, connections=100, seconds=10.0, nodes=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.directory) as directory, ExitStack() as running:
        systems = []
        if why := stock.missing():
            tell(f"without the stock name server: {why}")
        else:
            part, address = stock.name_server(Path(directory, "stock"), heap_mb=1_024)
            running.enter_context(part)
            systems.append(System("stock", address, [part.pid]))
        cluster = running.enter_context(Doors(Path(directory, "quorate"), asked.nodes)).ready()
        leader = cluster.leader(SHARD)
        systems.append(System("quorate", cluster.doors[leader.name], [leader.pid]))
        report(run(measure(asked, systems)), as_json=asked.json)


if __name__ == "__main__":
    main()

"""Sessions of MQTT clients: how many a second, a storm of reconnects, and very many of them.

`apply` is what connecting and updating costs one replica, from the entry's bytes to RocksDB,
without the log, its sync and gRPC. `upserts` sends RPCs of 1,000 sessions, requests made
beforehand: plain ones connect clients that are known, conditional ones carry the generation. Each
caller has clients of its own, and its next request follows its last answer. `storm` makes many
sessions known, and lets coroutines reconnect clients to other brokers as fast as they can through
the client, which makes batches of them, while brokers send their heartbeats from the same process.
`memory` looks at what the nodes hold and have on disk while sessions and topics come, counts them,
and restarts a node. `expiry` lets many sessions expire at once beside single writes.

Each of the last three tells how far it has come, stops to load when three quarters of `--bound` are
over, and ends after `--bound` seconds.

python benchmarks/sessions.py [--only apply,upserts,storm,memory,expiry] [--nodes 3] [--shards 1]
                              [--requests 200] [--in-flight 4] [--known 1000000]
                              [--coroutines 2000] [--reconnects 100000] [--sessions 5000000]
                              [--topics 1000000] [--expiring 100000] [--expire-after 30]
                              [--quiet 5] [--writers 1] [--bound 360] [--directory DIR]
                              [--profile KIND] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import pstats
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import grpc.aio
from figures import names, percentiles, report, run
from google.protobuf.message import Message
from mqtt_net import (
    BROKERS,
    PAYLOAD,
    SESSIONS,
    TENANT,
    Net,
    arrivals,
    checked,
    clients_of,
    generations_of,
    netted,
)
from nodes import founded
from quorate.apply.program import families_of
from quorate.plugin import keys
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.testing.cluster import Cluster
from quorate.testing.installed import catalog_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.control_pb2 import AdoptMirror, MirroredRow
from quorate.v1.tenant_pb2 import Tenant
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectSessions,
    UpdateSession,
    UpdateSessions,
)
from replica import Replica, command_of
from session_scale import Expiry, Filled, Load, Storm, expiry, memory, storm
from systems.closed_loop import channel
from systems.system import server_cpu_s

PARTS: Final = ("apply", "upserts", "storm", "memory", "expiry")
KINDS: Final = ("plain", "conditional", "single")
#: Whose requests are applied in turn.
CALLERS: Final = 4
#: Of the requests of a measurement, so many more are sent before it.
WARM: Final = 0.1
_SERVICE: Final = "/quorate_mqtt.v1.SessionService/"
_METHODS: Final = {"plain": f"{_SERVICE}ConnectBatch", "conditional": f"{_SERVICE}UpdateBatch"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What applying one kind of command takes one replica."""

    kind: str
    sessions_per_s: float
    cpu_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What one kind of upsert gave."""

    nodes: int
    shards: int
    kind: str
    sessions_per_s: float
    #: Of an RPC.
    p50_ms: float
    p99_ms: float
    #: Processor time for one session: of all nodes together, and of the process that asks.
    nodes_us: float
    asker_us: float


def updates(clients: Sequence[str], generations: Sequence[int]) -> UpdateSessions:
    """Return the updates of clients whose sessions have these generations."""
    return UpdateSessions(
        sessions=[
            UpdateSession(
                tenant=TENANT, client_id=client, generation=generation, payload=PAYLOAD[::-1]
            )
            for client, generation in zip(clients, generations, strict=True)
        ]
    )


class Brokers:
    """A shard that knows the tenant and the broker."""

    def __init__(self, data: ShardData) -> None:
        self._replica: Final = Replica(catalog_of(["cluster", "mqtt", "tenant"]), _SHARD, data)
        for family, key, row in (
            ("tenant.tenants", TENANT, Tenant(name=TENANT)),
            ("cluster.brokers", BROKERS[0], Broker(name=BROKERS[0], epoch=1, roles=["mqtt"])),
        ):
            copied = MirroredRow(key=keys.pack(key), value=row.SerializeToString())
            self.apply(AdoptMirror(family=family, revision=1, rows=[copied], reset=True))

    def apply(self, *commands: Message) -> list[bytes]:
        """Evaluate and store commands as one entry, and return their replies."""
        outcomes = self._replica.apply(list(map(command_of, commands)))
        return [outcome.reply for outcome in outcomes]


_SHARD: Final = ShardId("mqtt", 0)


def applied(directory: Path | None, kind: str, requests: int) -> Cost:
    """Apply entries of 1,000 sessions each, those of several callers in turn."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        families = families_of(catalog_of(["cluster", "mqtt", "tenant"]), "mqtt")
        data = ShardData.open(DiskHome(Path(place) / "data"), families)
        replica = Brokers(data)
        commands: list[Sequence[Message]] = []
        for caller in range(CALLERS):
            clients = clients_of(caller)
            connects = connects_of(clients, 1)
            [reply] = replica.apply(connects)
            if kind == "conditional":
                generations = generations_of(BatchReply.FromString(reply))
                commands.append([updates(clients, generations)])
            elif kind == "single":
                commands.append(
                    [
                        ConnectSessions(broker=BROKERS[0], broker_epoch=1, connections=[each])
                        for each in connects.connections
                    ]
                )
            else:
                commands.append([connects])
        entries = list(islice(cycle(commands), requests))
        # As a node does when it has started.
        gc.collect()
        gc.freeze()
        began, cpu = time.perf_counter(), time.process_time()
        replies = [replica.apply(*entry) for entry in entries]
        took, used = time.perf_counter() - began, time.process_time() - cpu
        data.close()
    for [reply] in replies if kind != "single" else []:
        checked(BatchReply.FromString(reply))
    return Cost(
        kind=kind,
        sessions_per_s=requests * SESSIONS / took,
        cpu_us=used / (requests * SESSIONS) * 1e6,
    )


def connects_of(clients: Sequence[str], epoch: int) -> ConnectSessions:
    """Return the request that connects clients to the first broker."""
    return ConnectSessions(broker=BROKERS[0], broker_epoch=epoch, connections=arrivals(clients))


async def upserts(cluster: Cluster, options: argparse.Namespace) -> list[Rate]:
    """Connect and update in RPCs of 1,000."""
    led = [
        (await asyncio.to_thread(cluster.leader, f"mqtt/{number}")).address
        for number in range(options.shards)
    ]
    channels = [channel(address) for address in dict.fromkeys(led)]
    found = []
    async with netted(cluster) as net:
        callers = [clients_of(caller) for caller in range(options.in_flight)]
        plain = [connects_of(clients, net.epoch(0)) for clients in callers]
        await rate(channels, "plain", plain, 1)
        found.append(await rated(net, channels, "plain", plain, options))
        known = [updates(clients, await net.connect(clients)) for clients in callers]
        found.append(await rated(net, channels, "conditional", known, options))
    for each in channels:
        await each.close(None)
    return found


async def rated(
    net: Net,
    channels: Sequence[grpc.aio.Channel],
    kind: str,
    requests: Sequence[Message],
    options: argparse.Namespace,
) -> Rate:
    """Send one kind of request, after some that do not count."""
    each = max(1, options.requests // len(requests))
    await rate(channels, kind, requests, max(1, round(each * WARM)))
    servers, asker, began = server_cpu_s(net.pids), time.process_time(), time.perf_counter()
    took = await rate(channels, kind, requests, each)
    seconds = time.perf_counter() - began
    asker = time.process_time() - asker
    servers = server_cpu_s(net.pids) - servers
    p50_ms, p99_ms = percentiles(took)
    sessions = len(took) * SESSIONS
    return Rate(
        nodes=options.nodes,
        shards=options.shards,
        kind=kind,
        sessions_per_s=sessions / seconds,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        nodes_us=servers / sessions * 1e6,
        asker_us=asker / sessions * 1e6,
    )


async def rate(
    channels: Sequence[grpc.aio.Channel],
    kind: str,
    requests: Sequence[Message],
    times: int,
) -> list[float]:
    """Let each caller send its request so many times; return how long each took."""
    took: list[float] = []
    answers: list[bytes] = []

    async def call(request: bytes, method: Any) -> None:
        for _ in range(times):
            began = time.perf_counter()
            answers.append(await method(request, timeout=60))
            took.append(time.perf_counter() - began)

    methods: Any = cycle([each.unary_unary(_METHODS[kind], None, None) for each in channels])
    await asyncio.gather(*map(call, [each.SerializeToString() for each in requests], methods))
    for answer in map(BatchReply.FromString, answers):
        checked(answer)
    return took


def founded_for(options: argparse.Namespace) -> AbstractContextManager[Cluster]:
    """Found the cluster that is asked for."""
    return founded(options.directory, options.nodes, "mqtt", options.shards)


def main() -> int:
    """Measure, and print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=names, default=list(PARTS))
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--requests", type=int, default=200, help="of each kind of upsert")
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--known", type=int, default=1_000_000)
    parser.add_argument("--coroutines", type=int, default=2_000)
    parser.add_argument("--reconnects", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=5_000_000)
    parser.add_argument("--topics", type=int, default=1_000_000)
    parser.add_argument("--expiring", type=int, default=100_000)
    parser.add_argument("--expire-after", type=int, default=30, help="seconds")
    parser.add_argument("--quiet", type=float, default=5, help="seconds of writes before expiry")
    parser.add_argument("--writers", type=int, default=1)
    parser.add_argument("--bound", type=float, default=360, help="seconds of a part, at most")
    parser.add_argument("--directory", type=Path, help="a place on the disk that is measured")
    parser.add_argument("--profile", choices=KINDS, help="of applying that kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.profile:
        with cProfile.Profile() as profile:
            applied(options.directory, options.profile, options.requests)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return 0
    costs: list[Cost] = []
    if "apply" in options.only:
        costs = [applied(options.directory, kind, options.requests) for kind in KINDS]
    parts: list[Sequence[Cost | Rate | Storm | Load | Filled | Expiry]] = [costs]
    if "upserts" in options.only:
        with founded_for(options) as cluster:
            parts.append(run(upserts(cluster, options)))
    if "storm" in options.only:
        with founded_for(options) as cluster:
            parts.append([run(storm(cluster, options), options.bound)])
    if "memory" in options.only:
        with founded_for(options) as cluster:
            loads, filled = run(memory(cluster, options), options.bound)
        parts += [loads, [filled]]
    if "expiry" in options.only:
        with founded_for(options) as cluster:
            parts.append([run(expiry(cluster, options), options.bound)])
    report(*parts, as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

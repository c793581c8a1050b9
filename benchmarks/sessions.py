"""Sessions of MQTT clients: how many a second, a storm of reconnects, and many that expire.

`apply` is what connecting and updating costs one replica, from the entry's bytes to RocksDB,
without the log, its sync and gRPC. `upserts` sends RPCs of 1,000 sessions, requests made
beforehand: plain ones connect clients that are known, conditional ones carry the generation. Each
caller has clients of its own, and its next request follows its last answer. `storm` makes many
sessions known, and lets coroutines reconnect clients to other brokers as fast as they can through
the client, which makes batches of them, while brokers send their heartbeats from the same process.
`expiry` lets many sessions expire at once beside single writes.

python benchmarks/sessions.py [--only apply,upserts,storm,expiry] [--nodes 3] [--shards 1]
                              [--requests 200] [--in-flight 4] [--known 1000000]
                              [--coroutines 2000] [--reconnects 100000] [--expiring 100000]
                              [--expire-after 20] [--writers 4] [--directory DIR]
                              [--profile KIND] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import platform
import pstats
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import grpc.aio
from figures import names, percentiles, resident_mb, run, show, slices
from google.protobuf.message import Message
from quorate.apply.applier import Applier, families_of
from quorate.apply.entries import command_bytes, join
from quorate.client import AsyncClient, QuorateError, Registration, connect
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin import keys
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.testing.cluster import Cluster
from quorate.testing.installed import catalog_of
from quorate.testing.shard import command_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.control_pb2 import AdoptMirror, MirroredRow
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1.sessions_pb2 import (
    CONNECTION_STATE_DISCONNECTED,
    ConnectReply,
    ConnectSession,
    ConnectSessions,
    DisconnectSession,
    ListSessionsRequest,
    SessionConnect,
    UpdateSession,
    UpdateSessions,
)
from systems.closed_loop import channel
from systems.system import server_cpu_s

TENANT: Final = "acme"
#: Whose sessions expire.
LEAVING: Final = "leaving"
BROKERS: Final = ("broker-1", "broker-2", "broker-3")
#: Of one RPC.
SESSIONS: Final = 1_000
#: With the broker's name and what else a session has, a row has about 120 bytes.
PAYLOAD: Final = bytes(range(56))
KINDS: Final = ("plain", "conditional", "single")
#: Whose requests are applied in turn.
CALLERS: Final = 4
#: Of the requests of a measurement, so many more are sent before it.
WARM: Final = 0.1
#: Between two looks for sessions that have not expired yet, and between two writes of one writer.
LOOK_S: Final = 0.25
WRITE_S: Final = 0.01
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What came of many clients that reconnected at once."""

    known: int
    loaded_per_s: float
    #: Of the largest node, before the sessions and with them.
    empty_mb: float
    full_mb: float
    coroutines: int
    reconnects: int
    reconnects_per_s: float
    p50_ms: float
    p99_ms: float
    worst_ms: float
    errors: int
    #: Brokers whose registration ended because heartbeats did not come through.
    brokers_lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """What came of many sessions that were due at once, and of single writes beside them."""

    sessions: int
    #: From the last deadline until none was left.
    behind_s: float
    #: Of single writes before it.
    quiet_p50_ms: float
    quiet_p99_ms: float
    #: Of single writes meanwhile.
    busy_writes: int
    busy_p50_ms: float
    busy_p99_ms: float
    errors: int


def arrivals(clients: Sequence[str], *, tenant: str = TENANT, expiry_s: int = 3_600) -> Any:
    """Return the connects of clients."""
    return [
        SessionConnect(
            tenant=tenant,
            client_id=client,
            connection_id=1,
            expiry_interval_s=expiry_s,
            payload=PAYLOAD,
        )
        for client in clients
    ]


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


def clients_of(caller: int, count: int = SESSIONS) -> list[str]:
    """Return the clients of one caller."""
    return [f"client-{caller}-{number:07}" for number in range(count)]


def generations_of(reply: BatchReply) -> list[int]:
    """Read the answer to a batch of connects; a benchmark of refusals is none."""
    if reply.refusals:
        first = reply.refusals[0]
        raise RuntimeError(f"{len(reply.refusals)} were refused; the first: {first}")
    return [ConnectReply.FromString(each).generation for each in reply.replies]


class Replica:
    """One replica to which entries of one command each, or of many, are given."""

    def __init__(self, data: ShardData) -> None:
        self._applier: Final = Applier(catalog_of(["cluster", "mqtt", "tenant"]), _SHARD, data)
        self._index: int = 0
        for family, key, row in (
            ("tenant.tenants", TENANT, Tenant(name=TENANT)),
            ("cluster.brokers", BROKERS[0], Broker(name=BROKERS[0], epoch=1, roles=["mqtt"])),
        ):
            copied = MirroredRow(key=keys.pack(key), value=row.SerializeToString())
            self.apply(AdoptMirror(family=family, revision=1, rows=[copied], reset=True))

    def apply(self, *commands: Message) -> list[bytes]:
        """Apply commands as one entry, and return their replies."""
        return self.apply_entry(self.entry(*commands))

    def entry(self, *commands: Message) -> Entry:
        """Return the next entry."""
        self._index += 1
        logged = [command_bytes(command_of(command)) for command in commands]
        return Entry(self._index, 1, EntryKind.COMMAND, join(self._index, logged))

    def apply_entry(self, entry: Entry) -> list[bytes]:
        """Apply an entry, and return the replies to its commands."""
        outcomes = self._applier.apply([entry])[0].outcomes
        for outcome in outcomes:
            if outcome.refusal:
                raise RuntimeError(f"a command was refused: {outcome.refusal}")
        return [outcome.reply for outcome in outcomes]


_SHARD: Final = ShardId("mqtt", 0)


def applied(directory: Path | None, kind: str, requests: int) -> Cost:
    """Apply entries of 1,000 sessions each, those of several callers in turn."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        families = families_of(catalog_of(["cluster", "mqtt", "tenant"]), "mqtt")
        data = ShardData.open(DiskHome(Path(place) / "data"), families)
        replica = Replica(data)
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
                        ConnectSession(broker=BROKERS[0], broker_epoch=1, connection=each)
                        for each in connects.connections
                    ]
                )
            else:
                commands.append([connects])
        entries = [replica.entry(*each) for each in islice(cycle(commands), requests)]
        # As a node does when it has started.
        gc.collect()
        gc.freeze()
        began, cpu = time.perf_counter(), time.process_time()
        replies = [replica.apply_entry(entry) for entry in entries]
        took, used = time.perf_counter() - began, time.process_time() - cpu
        data.close()
    for [reply] in replies if kind != "single" else []:
        if BatchReply.FromString(reply).refusals:
            raise RuntimeError(f"sessions were refused: {BatchReply.FromString(reply).refusals[0]}")
    return Cost(
        kind=kind,
        sessions_per_s=requests * SESSIONS / took,
        cpu_us=used / (requests * SESSIONS) * 1e6,
    )


def connects_of(clients: Sequence[str], epoch: int) -> ConnectSessions:
    """Return the request that connects clients to the first broker."""
    return ConnectSessions(broker=BROKERS[0], broker_epoch=epoch, connections=arrivals(clients))


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """A cluster with tenants and brokers that are registered."""

    cluster: Cluster
    q: AsyncClient
    registered: Sequence[Registration]

    @property
    def mqtt(self) -> Mqtt:
        """The client that makes batches."""
        return Mqtt(self.q)

    @property
    def pids(self) -> list[int]:
        """The processes of the nodes."""
        return [node.pid for node in self.cluster.nodes.values()]

    def epoch(self, broker: int) -> int:
        """Return the registration of a broker."""
        return self.registered[broker].broker.epoch

    async def connect(self, clients: Sequence[str], **more: Any) -> list[int]:
        """Connect clients to the first broker, and return the generations of their sessions."""
        generations: list[int] = []
        # Few at a time: made all at once they would take more memory than the sessions.
        for some in slices(clients, 8 * SESSIONS):
            reply = await self.mqtt.sessions.connect_many(
                BROKERS[0], self.epoch(0), arrivals(some, **more)
            )
            generations += generations_of(reply)
        return generations


@contextmanager
def founded(options: argparse.Namespace) -> Iterator[Cluster]:
    """Found a cluster in a directory of its own."""
    settings = {"groups": {"mqtt": {"shards": options.shards}}}
    with (
        tempfile.TemporaryDirectory(dir=options.directory) as place,
        Cluster(Path(place), options.nodes, plugins=["mqtt"], settings=settings) as cluster,
    ):
        yield cluster.ready()


@asynccontextmanager
async def netted(cluster: Cluster) -> AsyncIterator[Net]:
    """Register brokers, send their heartbeats, and wait until all shards know them."""
    async with AsyncExitStack() as stack:
        q = await stack.enter_async_context(connect(cluster.endpoints, timeout_s=60))
        for tenant in (TENANT, LEAVING):
            await q.execute(CreateTenant(name=tenant), Tenant)
        registered = [
            await stack.enter_async_context(q.brokers.registered(name, "mqtt", roles=["mqtt"]))
            for name in BROKERS
        ]
        net = Net(cluster=cluster, q=q, registered=registered)
        for broker, tenant in [
            (each, tenant) for each in (0, 1, 2) for tenant in (TENANT, LEAVING)
        ]:
            first = [f"first-{number}" for number in range(64)]
            connections = arrivals(first, tenant=tenant)
            while True:
                reply = await net.mqtt.sessions.connect_many(
                    BROKERS[broker], net.epoch(broker), connections
                )
                if not reply.refusals:
                    break
                await asyncio.sleep(0.05)
        yield net


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

    methods: Any = cycle([each.unary_unary(_METHODS[kind]) for each in channels])
    await asyncio.gather(*map(call, [each.SerializeToString() for each in requests], methods))
    for answer in map(BatchReply.FromString, answers):
        if answer.refusals:
            raise RuntimeError(f"sessions were refused; the first: {answer.refusals[0]}")
    return took


async def storm(cluster: Cluster, options: argparse.Namespace) -> Storm:
    """Make many sessions known, and let clients come back to other brokers at once."""
    empty = resident_mb([node.pid for node in cluster.nodes.values()])
    async with netted(cluster) as net:
        known = clients_of(0, options.known)
        began = time.perf_counter()
        await net.connect(known)
        loaded_s = time.perf_counter() - began
        full = resident_mb(net.pids)
        coming = iter(random.Random(7).sample(known, min(options.reconnects, len(known))))
        took: list[float] = []
        errors: Counter[str] = Counter()

        async def reconnect(coroutine: int) -> None:
            broker = 1 + coroutine % (len(BROKERS) - 1)
            for client in coming:
                [arrival] = arrivals([client])
                began = time.perf_counter()
                try:
                    await net.mqtt.sessions.connect(BROKERS[broker], net.epoch(broker), arrival)
                except QuorateError as error:
                    errors[repr(error)] += 1
                else:
                    took.append(time.perf_counter() - began)

        began = time.perf_counter()
        await asyncio.gather(*map(reconnect, range(options.coroutines)))
        seconds = time.perf_counter() - began
        for error, count in errors.most_common(3):
            print(f"{count} times: {error}", file=sys.stderr)
        # What is lost is told by the answer to the next heartbeat.
        for each in net.registered:
            await asyncio.sleep(each.broker.ttl_ms / 1_000 / len(net.registered))
        lost = sum(each.is_lost for each in net.registered)
    p50_ms, p99_ms = percentiles(took)
    return Storm(
        known=options.known,
        loaded_per_s=options.known / loaded_s,
        empty_mb=empty,
        full_mb=full,
        coroutines=options.coroutines,
        reconnects=len(took),
        reconnects_per_s=len(took) / seconds,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        worst_ms=max(took) * 1e3,
        errors=errors.total(),
        brokers_lost=lost,
    )


async def expiry(cluster: Cluster, options: argparse.Namespace) -> Expiry:
    """Disconnect many clients, and write beside the expiry of their sessions."""
    async with netted(cluster) as net:
        writers = [f"writer-{number}" for number in range(options.writers)]
        generations = await net.connect(writers)
        errors: Counter[str] = Counter()
        took: list[float] = []

        async def write(client: str, generation: int) -> None:
            while True:
                began = time.perf_counter()
                try:
                    await net.mqtt.sessions.update(TENANT, client, generation, payload=PAYLOAD)
                except QuorateError as error:
                    errors[repr(error)] += 1
                else:
                    took.append(time.perf_counter() - began)
                await asyncio.sleep(WRITE_S)

        leaving = clients_of(1, options.expiring)
        left = await net.connect(leaving, tenant=LEAVING, expiry_s=options.expire_after)
        async with asyncio.TaskGroup() as group:
            writing = [
                group.create_task(write(*each)) for each in zip(writers, generations, strict=True)
            ]
            await asyncio.sleep(options.quiet)
            quiet = list(took)
            for some in slices(list(zip(leaving, left, strict=True)), 8 * SESSIONS):
                reply = await net.mqtt.sessions.disconnect_many(
                    DisconnectSession(tenant=LEAVING, client_id=client, generation=generation)
                    for client, generation in some
                )
                if reply.refusals:
                    raise RuntimeError(f"a disconnect was refused: {reply.refusals[0]}")
            last = time.perf_counter() + options.expire_after
            # The first deadline comes before the last: writes count from there on.
            await asyncio.sleep(max(0.0, options.expire_after - LOOK_S))
            before = len(took)
            while await some_left(net):
                await asyncio.sleep(LOOK_S)
            finished = time.perf_counter()
            for each in writing:
                each.cancel()
        for error, count in errors.most_common(3):
            print(f"{count} times: {error}", file=sys.stderr)
    busy = took[before:]
    quiet_p50_ms, quiet_p99_ms = percentiles(quiet)
    busy_p50_ms, busy_p99_ms = percentiles(busy)
    return Expiry(
        sessions=options.expiring,
        behind_s=finished - last,
        quiet_p50_ms=quiet_p50_ms,
        quiet_p99_ms=quiet_p99_ms,
        busy_writes=len(busy),
        busy_p50_ms=busy_p50_ms,
        busy_p99_ms=busy_p99_ms,
        errors=errors.total(),
    )


async def some_left(net: Net) -> bool:
    """Tell whether a session of the tenant waits for its end."""
    request = ListSessionsRequest(tenant=LEAVING, state=CONNECTION_STATE_DISCONNECTED, page_size=1)
    async with aclosing(net.mqtt.sessions.list(request)) as waiting:
        return await anext(waiting, None) is not None


def main() -> int:
    """Measure, and print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=names, default=["apply", "upserts", "storm", "expiry"])
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--requests", type=int, default=200, help="of each kind of upsert")
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--known", type=int, default=1_000_000)
    parser.add_argument("--coroutines", type=int, default=2_000)
    parser.add_argument("--reconnects", type=int, default=100_000)
    parser.add_argument("--expiring", type=int, default=100_000)
    parser.add_argument("--expire-after", type=int, default=20, help="seconds")
    parser.add_argument("--quiet", type=float, default=5, help="seconds of writes before expiry")
    parser.add_argument("--writers", type=int, default=4)
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
    rates: list[Rate] = []
    storms: list[Storm] = []
    expiries: list[Expiry] = []
    if "upserts" in options.only:
        with founded(options) as cluster:
            rates = run(upserts(cluster, options))
    if "storm" in options.only:
        with founded(options) as cluster:
            storms = [run(storm(cluster, options))]
    if "expiry" in options.only:
        with founded(options) as cluster:
            expiries = [run(expiry(cluster, options))]
    if options.json:
        rows = [asdict(each) for part in (costs, rates, storms, expiries) for each in part]
        print(json.dumps({"python": platform.python_version(), "rows": rows}, indent=2))
    else:
        for part in (costs, rates, storms, expiries):
            show(part)
    return 0


if __name__ == "__main__":
    sys.exit(main())

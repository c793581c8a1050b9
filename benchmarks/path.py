"""Where the time of a call goes: by node, by entry, by message, and by stage of the node's code.

Three nodes, and loads of single pairs, batches, reads and MQTT sessions. For one call of each load
it prints the processor time, in user and system mode, of the leader, of one that follows and of the
process that asks; how many commands an entry holds, and how many messages of replicas an entry and
a call cost, from the nodes' metrics.

`--profile` runs one node under `cProfile`, on the clock of its loop's thread, and prints for
one call the functions that are called, the tasks that are made, the blocks of memory that it holds
while it is in flight, and the time of each stage: a folder of `quorate`, or a library.

`client` is a load that the client of Quorate asks for, one pair a call; all others are asked for by
grpcio. `sessions` connects MQTT clients that are known, `conditional` updates them with their
generations; the plugin runs when one of them is asked for. With several `--engines` each load is
put on nodes that the one and then the other serves.

`--traced` is the share of calls that the nodes trace, whose spans the process that asks takes.

python benchmarks/path.py [--only LOADS] [--engines NAMES] [--seconds S] [--profile ROLE]
                          [--top N] [--traced RATIO] [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import grpc
import grpc.aio
from figures import Options, run, show
from google.protobuf.message import Message
from mqtt_net import Net, clients_of, netted
from nodes import page
from prometheus_client.parser import text_string_to_metric_families
from quorate.client import connect
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.cluster.cluster import Settings
from quorate.testing.program import Program
from quorate.testing.waiting import until
from quorate.v1 import batch_pb2, kv_pb2
from sessions import connects_of, updates
from systems.closed_loop import calls, channel, closed_loop
from systems.system import KEYS, OF_SESSIONS, READS_A_CALL, Load, batches, server_cpu_s, values

BATCH: Final = 1_000
SHARD: Final = "metadata/0"
SESSIONS_SHARD: Final = "mqtt/0"
#: Batches of clients that connect and update in turn.
SESSION_CALLERS: Final = 8
PROFILED: Final = Path(__file__).parent / "systems" / "profiled.py"


@dataclass(frozen=True, slots=True)
class Case:
    """A load."""

    method: str
    reply: type[Message]
    requests: list[Any]
    in_flight: int
    _: KW_ONLY
    by_follower: bool = False
    by_client: bool = False
    pairs: int = 1
    service: str = "quorate.v1.KvService"
    shard: str = SHARD


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one load cost: of one call, where nothing else is said."""

    engine: str
    load: str
    calls: int
    calls_per_s: float
    leader_us: float
    follower_us: float
    asker_us: float
    #: Of the three nodes together, as is what they wrote to their disks.
    pair_us: float
    pair_bytes: float
    #: Of writes alone.
    entry_commands: float
    entry_messages: float
    messages: float


def cases() -> dict[str, Case]:
    """Return the loads by their names."""
    keys = [b"path.%06d" % at for at in range(KEYS)]
    puts = [
        kv_pb2.PutPair(key=key, value=value) for key, value in zip(keys, values(KEYS), strict=True)
    ]
    written = [kv_pb2.PutPairs(pairs=some) for some in batches(puts, BATCH)]
    gets = [kv_pb2.GetPairRequest(key=key) for key in keys]
    many = [kv_pb2.GetPairsRequest(keys=some) for some in batches(keys, READS_A_CALL)]

    def write(in_flight: int, *, by_follower: bool = False) -> Case:
        return Case("Put", kv_pb2.PutPairReply, puts, in_flight, by_follower=by_follower)

    def read(in_flight: int, *, by_follower: bool = False, by_client: bool = False) -> Case:
        reply = kv_pb2.GetPairResponse
        return Case("Get", reply, gets, in_flight, by_follower=by_follower, by_client=by_client)

    return {
        "batch": Case("PutBatch", batch_pb2.BatchReply, written, 8, pairs=BATCH),
        "write-1": write(1),
        "write-100": write(100),
        "write-100-follower": write(100, by_follower=True),
        "read-1": read(1),
        "read-100": read(100),
        "read-100-follower": read(100, by_follower=True),
        "client-100": read(100, by_client=True),
        "reads": Case("GetBatch", kv_pb2.GetPairsResponse, many, 8, pairs=READS_A_CALL),
    }


async def session_cases(net: Net) -> dict[str, Case]:
    """Return the loads of sessions, whose clients are known then, by their names."""
    callers = [clients_of(caller) for caller in range(SESSION_CALLERS)]
    known = [await net.connect(clients) for clients in callers]
    connects = [connects_of(clients, net.epoch(0)) for clients in callers]

    def case(method: str, requests: list[Any]) -> Case:
        return Case(
            method,
            batch_pb2.BatchReply,
            requests,
            8,
            pairs=BATCH,
            service="quorate_mqtt.v1.SessionService",
            shard=SESSIONS_SHARD,
        )

    # In this order: a connect ends the generation that an update names.
    return {
        "conditional": case(
            "UpdateBatch", [updates(*each) for each in zip(callers, known, strict=True)]
        ),
        "sessions": case("ConnectBatch", connects),
    }


class Nodes:
    """Three nodes; one of them may be profiled."""

    def __init__(
        self, cluster: Cluster, directory: Path, engine: str, profiled: str | None
    ) -> None:
        self._engine: Final = engine
        self._cluster: Final = cluster
        self._output: Final = directory / "profile.json"
        self._role: Final = profiled
        self._program: Final = Program("profiled", directory / "profiled.log")
        #: The node that is profiled.
        self._node: NodeProcess | None = None

    def start(self, shards: Sequence[str]) -> None:
        """Start what is profiled anew, and let it lead these shards if it is to."""
        if self._role is None:
            return
        self._node = node = self._cluster.followers(SHARD)[0]
        node.stop()
        command = [sys.executable, str(PROFILED), str(self._output), "serve", "--config"]
        self._program.start([*command, str(node.file)], dict(os.environ))
        until(lambda: ready(node) or None)
        other = next(each for each in self._cluster.nodes.values() if each is not node)
        for shard in shards:
            to = node if self._role == "leader" else other
            self._let_lead(to, shard)

    def close(self) -> None:
        """End what is profiled."""
        self._program.close()

    def pids(self, shard: str) -> dict[str, int]:
        """Return the processes of the nodes, that of the leader first."""
        leader = self.leader(shard)
        found = {
            node.name: self._program.pid if node is self._node else node.pid
            for node in self._cluster.nodes.values()
        }
        return {leader.name: found.pop(leader.name), **found}

    def leader(self, shard: str) -> NodeProcess:
        """Return the node that leads."""
        [leader] = [node for node in self._cluster.nodes.values() if self._leads(node, shard)]
        return leader

    def asked(self, case: Case) -> NodeProcess:
        """Return the node that is asked: one that is profiled rather than another."""
        leader = self.leader(case.shard)
        if not case.by_follower:
            return leader
        followers = [node for node in self._cluster.nodes.values() if node is not leader]
        return self._node if self._node in followers else followers[0]

    def totals(self) -> Counter[str]:
        """Return what the metrics of all nodes say together."""
        total: Counter[str] = Counter()
        for node in self._cluster.nodes.values():
            total.update(scraped(node))
        return total

    async def fill(self) -> None:
        """Write every pair once."""
        case = cases()["batch"]
        leader = await asyncio.to_thread(self.leader, case.shard)
        async with channel(leader.address) as way:
            await load_of(way, case).run(1, 1.0)

    async def measure(self, name: str, case: Case, seconds: float) -> Figures:
        """Put a load on the nodes."""
        node = await asyncio.to_thread(self.asked, case)
        async with self._asker(node, case) as load:
            await load.run(case.in_flight, seconds / 4)
            pids = list((await asyncio.to_thread(self.pids, case.shard)).values())
            before = await asyncio.to_thread(self.totals)
            used = [server_cpu_s([pid]) for pid in pids]
            written = written_bytes(pids)
            asker = time.process_time()
            self._signal(signal.SIGUSR1)
            took = await load.run(case.in_flight, seconds)
            self._signal(signal.SIGUSR2)
            asker = time.process_time() - asker
            used = [server_cpu_s([pid]) - was for pid, was in zip(pids, used, strict=True)]
            written = written_bytes(pids) - written
            grown = await asyncio.to_thread(self.totals)
            grown.subtract(before)
        count = len(took.latencies_s)
        if not count or took.failures:
            raise RuntimeError(f"{name}: {count} calls answered, {took.failures} failed")
        entries = grown["quorate_write_entry_commands_count"]
        messages = grown["quorate_raft_received_messages_total"]
        leader, *followers = (each / count * 1e6 for each in used)
        return Figures(
            engine=self._engine,
            load=name,
            calls=count,
            calls_per_s=count / took.seconds,
            leader_us=leader,
            follower_us=sum(followers) / len(followers),
            asker_us=asker / count * 1e6,
            pair_us=sum(used) / count / case.pairs * 1e6,
            pair_bytes=written / count / case.pairs,
            entry_commands=grown["quorate_write_entry_commands_sum"] / entries if entries else 0.0,
            entry_messages=messages / entries if entries else 0.0,
            messages=messages / count,
        )

    @asynccontextmanager
    async def _asker(self, node: NodeProcess, case: Case) -> AsyncIterator[Load]:
        if case.by_client:
            async with connect(self._cluster.endpoints) as client:
                get, keys = client.kv.get, [each.key for each in case.requests]
                yield closed_loop(lambda number: get(keys[number % len(keys)]))
            return
        async with channel(node.address) as way:
            yield load_of(way, case)

    def profile(self, figures: Figures, in_flight: int) -> dict[str, Any]:
        """Return what the profiled node saw of a load, for one call."""
        found: dict[str, Any] = until(self._seen)
        count = figures.calls
        return {
            "load": figures.load,
            "functions": found["calls"] / count,
            "tasks": found["tasks"] / count,
            "blocks_in_flight": found["blocks"] / in_flight,
            "stages_us": {stage: own_s / count * 1e6 for stage, own_s in found["stages"].items()},
            "functions_us": {
                name: (called / count, own_s / count * 1e6)
                for name, (called, own_s) in found["functions"].items()
            },
        }

    def _seen(self) -> dict[str, Any] | None:
        if not self._output.exists():
            return None
        found: dict[str, Any] = json.loads(self._output.read_text())
        self._output.unlink()
        return found

    def _signal(self, number: signal.Signals) -> None:
        if self._node is not None:
            self._program.send_signal(number)

    def _let_lead(self, node: NodeProcess, shard: str) -> None:
        if not self._leads(node, shard):
            self._cluster.leader(shard).transfer(shard, node.name)
            until(lambda: self._leads(node, shard) or None)

    def _leads(self, node: NodeProcess, shard: str) -> bool:
        return scraped(node, role="leader", shard=shard)["quorate_raft_role"] == 1


def load_of(way: grpc.aio.Channel, case: Case) -> Load:
    """Return a load by the path of its method: it needs no stub."""
    method = way.unary_unary(
        f"/{case.service}/{case.method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=case.reply.FromString,
    )
    return calls(method, case.requests, pairs=case.pairs)


def written_bytes(pids: Iterable[int]) -> int:
    """Return the bytes that these processes have had written to disks."""
    lines = (Path(f"/proc/{pid}/io").read_text().splitlines() for pid in pids)
    return sum(int(each.split()[1]) for some in lines for each in some if each.startswith("write_"))


def scraped(node: NodeProcess, **labels: str) -> Counter[str]:
    """Return the sums of a node's metrics, of whatever has these labels."""
    text = page(node.http_address, "/metrics")
    total: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if labels.items() <= sample.labels.items():
                total[sample.name] += int(sample.value)
    return total


def ready(node: NodeProcess) -> bool:
    """Whether a node is ready that another program runs."""
    try:
        return scraped(node)["quorate_node_ready"] == 1
    except OSError:
        return False


@contextmanager
def tracing(ratio: float | None) -> Iterator[Settings]:
    """Collect spans, and give the settings of nodes that send them."""
    if ratio is None:
        yield {}
        return
    take = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {"Export": take}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield {"traces": {"endpoint": f"http://127.0.0.1:{port}", "ratio": ratio}}
    server.stop(None).wait()


async def measured(options: argparse.Namespace) -> tuple[list[Figures], list[dict[str, Any]]]:
    """Return what each load cost, and what the profiled node saw of it."""
    found: list[Figures] = []
    seen: list[dict[str, Any]] = []
    for engine in options.engines:
        await measure_engine(engine, options, found, seen)
    return found, seen


async def measure_engine(
    engine: str, options: argparse.Namespace, found: list[Figures], seen: list[dict[str, Any]]
) -> None:
    """Add what each load cost on nodes that an engine serves."""
    with TemporaryDirectory(dir=options.directory) as place, tracing(options.traced) as settings:
        directory = Path(place)
        of_sessions = not OF_SESSIONS.isdisjoint(options.only)
        plugins = ["mqtt"] if of_sessions else []
        settings = {**settings, "rpc": {"engine": engine}}
        with Cluster(directory, plugins=plugins, settings=settings, forked=False) as cluster:
            nodes = Nodes(cluster.ready(), directory, engine, options.profile)

            async def measure(wanted: Mapping[str, Case]) -> None:
                for name, case in wanted.items():
                    if name in options.only:
                        found.append(await nodes.measure(name, case, options.seconds))
                        if options.profile:
                            seen.append(nodes.profile(found[-1], case.in_flight))

            try:
                shards = [SHARD, SESSIONS_SHARD] if of_sessions else [SHARD]
                await asyncio.to_thread(nodes.start, shards)
                await nodes.fill()
                await measure(cases())
                if of_sessions:
                    async with netted(cluster) as net:
                        await measure(await session_cases(net))
            finally:
                await asyncio.to_thread(nodes.close)


def show_profile(seen: dict[str, Any], role: str, top: int) -> None:
    """Print what a node did for one call, the longest first."""
    print(
        f"{seen['load']}, the {role}, profiled: {seen['functions']:,.0f} functions, "
        f"{seen['tasks']:.2f} tasks, {seen['blocks_in_flight']:,.0f} blocks in flight"
    )
    stages = sorted(seen["stages_us"].items(), key=lambda each: -each[1])
    total = sum(own_us for _, own_us in stages)
    for name, own_us in stages:
        if own_us >= total / 200:
            print(f"  {own_us:9,.1f} us  {own_us / total:4.0%}  {name}")
    functions = sorted(seen["functions_us"].items(), key=lambda each: -each[1][1])
    for name, (called, own_us) in functions[:top]:
        print(f"  {own_us:9,.1f} us  {called:8.2f} calls  {name}")
    print()


#: The names of all loads.
LOADS: Final = [*cases(), *sorted(OF_SESSIONS)]


def main() -> None:
    """Measure, and print."""
    parser = Options(
        __doc__, seconds=(3.0, "of each load"), top=(0, "functions that the profile prints")
    )
    parser.add_names("--only", LOADS)
    parser.add_names("--engines", ("http2", "grpcio"), ["http2"])
    parser.add_argument("--profile", choices=("leader", "follower"))
    parser.add_argument("--traced", type=float, metavar="RATIO")
    options = parser.parse_args()
    sys.setswitchinterval(0.0003)
    found, seen = run(measured(options))
    if options.json:
        print(json.dumps({"loads": [asdict(each) for each in found], "profile": seen}, indent=2))
        return
    show(found)
    for each in seen:
        show_profile(each, options.profile, options.top)


if __name__ == "__main__":
    main()

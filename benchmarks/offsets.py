"""Offsets a second for 1, 2 and 4 shards on 1, 2 and 3 nodes, and what a million groups take.

`apply` is what applying commits costs one replica, from the entry's bytes to RocksDB, without the
log, its sync and gRPC. `commits` sends RPCs of 1,000 offsets, requests made beforehand: monotonic,
compared and set, and unconditional. Each caller has groups of its own, and its next request follows
its last answer. The groups of a caller are those of one shard, as the client of Quorate divides
them before it sends, and go to the node that leads it; with `--mixed` they are of all shards, and
go to the nodes that lead one, in turn. Each cell of that table ends after some seconds. `groups`
commits once for each of many groups and looks at the memory of the nodes meanwhile and once they
are quiet, then fetches single groups, changes a few, and asks for what has changed, with the rows
that were read for it.

python benchmarks/offsets.py [--only apply,commits,groups] [--nodes 1,2,3] [--shards 1,2,4]
                             [--modes MODES] [--seconds 5] [--requests 600] [--in-flight 4]
                             [--mixed] [--groups 1000000] [--changed 1000] [--fetches 2000]
                             [--directory DIR] [--profile MODE] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import pstats
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any, Final

import grpc.aio
from figures import names, percentiles, report, resident_mb, run, slices
from nodes import founded, pids, quiet
from quorate.apply.program import families_of
from quorate.plugin import keys
from quorate.plugin.advanced import Stub
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut, slot_of, slots_in
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.testing.cluster import Cluster
from quorate.testing.installed import catalog_of
from quorate.v1 import tenant_pb2
from quorate.v1.batch_pb2 import BatchReply, ShardRevision
from quorate.v1.control_pb2 import AdoptMirror, MirroredRow
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_offset.families import group_key
from quorate_offset.v1 import service_pb2
from quorate_offset.v1.commands_pb2 import COMMIT_MODE_MONOTONIC, GroupCommit, OffsetCommit
from quorate_offset.v1.service_pb2 import (
    CommitOffsetsRequest,
    CommitOffsetsResponse,
    FetchOffsetsRequest,
    ListChangesRequest,
)
from replica import Replica, command_of
from systems.closed_loop import channel
from systems.system import server_cpu_s

TENANT: Final = "acme"
TOPIC: Final = "orders"
#: Of one RPC.
OFFSETS: Final = 1_000
#: Of one group.
PARTITIONS: Final = 4
MODES: Final = ("monotonic", "compare-and-set", "unconditional")
#: Whose commits are applied in turn.
CALLERS: Final = 4
#: Of the requests of a measurement, so many more are sent before it.
WARM: Final = 0.1
#: Of `apply`: it takes as long each time.
APPLIED: Final = 200
_COMMIT: Final = "/quorate_offset.v1.OffsetService/CommitOffsets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What applying one kind of commit takes one replica."""

    mode: str
    offsets_per_s: float
    cpu_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What one kind of commit gave on one cluster."""

    nodes: int
    shards: int
    mode: str
    offsets_per_s: float
    #: Of an RPC.
    p50_ms: float
    p99_ms: float
    #: Processor time for one offset: of all nodes together, and of the process that asks.
    nodes_us: float
    asker_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """What many groups take."""

    nodes: int
    shards: int
    groups: int
    loaded_offsets_per_s: float
    #: Of the largest node: before the groups, the most while they came, and with them at rest.
    empty_mb: float
    loading_mb: float
    full_mb: float
    fetch_p50_ms: float
    fetch_p99_ms: float
    #: The groups that were changed, and what was told and read for it.
    changed: int
    told: int
    rows_read: int
    sync_ms: float


def commits(mode: str, groups: Sequence[str], number: int) -> CommitOffsetsRequest:
    """Return the request with which each partition of these groups comes to a number."""
    made = [
        OffsetCommit(topic=TOPIC, partition=partition, offset=number)
        for partition in range(PARTITIONS)
    ]
    if mode == "compare-and-set":
        for each in made:
            each.expected_offset = number - 1
    monotonic = COMMIT_MODE_MONOTONIC if mode == "monotonic" else None
    return CommitOffsetsRequest(
        groups=[
            GroupCommit(tenant=TENANT, group=group, commits=made, mode=monotonic)
            for group in groups
        ]
    )


def applied(directory: Path | None, mode: str, requests: int) -> Cost:
    """Apply entries of one command each, those of several callers in turn."""
    catalog = catalog_of(["offset", "resource", "tenant"])
    commands = [
        commits_command(mode, groups_of(mode, at % CALLERS), 1 + at // CALLERS)
        for at in range(requests)
    ]
    tenant = MirroredRow(key=keys.pack(TENANT), value=Tenant(name=TENANT).SerializeToString())
    copied = AdoptMirror(family="tenant.tenants", revision=1, rows=[tenant], reset=True)
    first, *entries = [[command_of(command)] for command in (copied, *commands)]
    with tempfile.TemporaryDirectory(dir=directory) as place:
        data = ShardData.open(DiskHome(Path(place) / "data"), families_of(catalog, "offset"))
        replica = Replica(catalog, ShardId("offset", 0), data)
        replica.apply(first)
        # As a node does when it has started.
        gc.collect()
        gc.freeze()
        began, cpu = time.perf_counter(), time.process_time()
        outcomes = [replica.apply(entry)[0] for entry in entries]
        took, used = time.perf_counter() - began, time.process_time() - cpu
        data.close()
    for outcome in outcomes:
        reply = BatchReply.FromString(outcome.reply)
        if reply.refusals or any(reply.replies):
            raise RuntimeError(f"offsets were refused: {reply.refusals[:1]}")
    return Cost(
        mode=mode,
        offsets_per_s=requests * OFFSETS / took,
        cpu_us=used / (requests * OFFSETS) * 1e6,
    )


def commits_command(mode: str, groups: Sequence[str], number: int) -> CommitOffsetsRequest:
    """Return what the request of these commits comes to."""
    return CommitOffsetsRequest(groups=commits(mode, groups, number).groups)


def groups_of(mode: str, caller: int, shards: int = 1) -> list[str]:
    """Return the groups of one caller, which fill an RPC; with many shards they are of one."""
    wanted = caller % shards
    slots = set(slots_in(even_cut(shards)[wanted]))
    names = (f"{mode}-{caller}-{number}" for number in count())
    mine = (name for name in names if slot_of(group_key(TENANT, name)) in slots)
    return list(islice(mine, OFFSETS // PARTITIONS))


class Nodes:
    """A cluster that keeps offsets, and connections to it."""

    def __init__(self, cluster: Cluster, shards: int) -> None:
        self._cluster: Final = cluster
        self._shards: Final = shards
        #: By address; and the address of the leader of each shard.
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._led: list[str] = []

    @property
    def pids(self) -> list[int]:
        """The processes of the nodes."""
        return pids(self._cluster)

    async def connect(self) -> None:
        """Connect to each node that leads a shard of offsets."""
        led = [
            (await asyncio.to_thread(self._cluster.leader, f"offset/{number}")).address
            for number in range(self._shards)
        ]
        self._led = led
        self._channels = {address: channel(address) for address in dict.fromkeys(led)}

    async def prepare(self) -> None:
        """Create the tenant, and wait until every shard knows it."""
        await Stub(self._any(), tenant_pb2.DESCRIPTOR.services_by_name["TenantService"]).Create(
            CreateTenant(name=TENANT), timeout=30
        )
        request = commits("", [f"first-{number}" for number in range(64)], 1)
        while (await self.stub().CommitOffsets(request, timeout=30)).refusals:
            await asyncio.sleep(0.05)

    async def disconnect(self) -> None:
        """End the connections."""
        for each in self._channels.values():
            await each.close(None)

    def calls(self) -> Iterator[Any]:
        """Return the method that commits, of the leader of one shard after the other, for bytes."""
        return cycle([self._channels[each].unary_unary(_COMMIT, None, None) for each in self._led])

    def stub(self) -> Any:
        """Return the methods of one node."""
        return Stub(self._any(), service_pb2.DESCRIPTOR.services_by_name["OffsetService"])

    def _any(self) -> grpc.aio.Channel:
        return self._channels[self._led[0]]


async def send(
    nodes: Nodes, callers: Sequence[Sequence[bytes]], seconds: float = float("inf")
) -> tuple[list[float], list[bytes]]:
    """Send what each caller has, one after the other; return how long each took, and answers.

    What is left after so many seconds is not sent.
    """
    took: list[float] = []
    answers: list[bytes] = []
    until = time.perf_counter() + seconds

    async def call(requests: Sequence[bytes], commit: Any) -> None:
        for request in requests:
            began = time.perf_counter()
            if began >= until:
                return
            answers.append(await commit(request, timeout=60))
            took.append(time.perf_counter() - began)

    await asyncio.gather(*map(call, callers, nodes.calls()))
    return took, answers


def committed(answers: Sequence[bytes]) -> list[CommitOffsetsResponse]:
    """Read answers; a benchmark of refusals is none."""
    read = list(map(CommitOffsetsResponse.FromString, answers))
    refused = [refusal for answer in read for refusal in answer.refusals]
    if refused:
        raise RuntimeError(f"{len(refused)} offsets were refused; the first: {refused[0]}")
    return read


async def rate(
    nodes: Nodes, mode: str, options: argparse.Namespace, shards: int
) -> tuple[list[float], float, float, float]:
    """Commit in one mode: how long RPCs took, all of it, and the processor times."""
    in_flight = options.in_flight
    each = max(1, options.requests // in_flight)
    warm = max(1, round(each * WARM))
    callers = []
    for caller in range(in_flight):
        groups = groups_of(mode, caller, 1 if options.mixed else shards)
        callers.append(
            [
                commits(mode, groups, number).SerializeToString()
                for number in range(1, each + warm + 1)
            ]
        )
    committed((await send(nodes, [requests[:warm] for requests in callers]))[1])
    servers, asker, began = server_cpu_s(nodes.pids), time.process_time(), time.perf_counter()
    measured = [requests[warm:] for requests in callers]
    took, answers = await send(nodes, measured, options.seconds)
    seconds = time.perf_counter() - began
    asker = time.process_time() - asker
    servers = server_cpu_s(nodes.pids) - servers
    committed(answers)
    return took, seconds, servers, asker


async def rates(nodes: Nodes, options: argparse.Namespace, count: int, shards: int) -> list[Rate]:
    """Commit in each mode."""
    await nodes.connect()
    await nodes.prepare()
    found = []
    for mode in options.modes:
        took, seconds, servers, asker = await rate(nodes, mode, options, shards)
        offsets = len(took) * OFFSETS
        p50_ms, p99_ms = percentiles(took)
        found.append(
            Rate(
                nodes=count,
                shards=shards,
                mode=mode,
                offsets_per_s=offsets / seconds,
                p50_ms=p50_ms,
                p99_ms=p99_ms,
                nodes_us=servers / offsets * 1e6,
                asker_us=asker / offsets * 1e6,
            )
        )
    await nodes.disconnect()
    return found


async def many(nodes: Nodes, options: argparse.Namespace, count: int, shards: int) -> Many:
    """Fill a cluster with groups, and look at it."""
    await nodes.connect()
    await nodes.prepare()
    empty = resident_mb(nodes.pids)
    groups = [f"group-{number:07}" for number in range(options.groups)]
    token: defaultdict[int, int] = defaultdict(int)
    loading = empty

    async def commit(chosen: Sequence[str], number: int) -> None:
        nonlocal loading
        # Few requests at a time: made all at once they would take more memory than the groups.
        for some in slices(list(slices(chosen, OFFSETS // PARTITIONS)), options.in_flight):
            requests = [[commits("", each, number).SerializeToString()] for each in some]
            for answer in committed((await send(nodes, requests))[1]):
                for each in answer.revisions:
                    token[each.shard] = max(token[each.shard], each.revision)
            loading = max(loading, resident_mb(nodes.pids))

    began = time.perf_counter()
    await commit(groups, 1)
    loaded_s = time.perf_counter() - began
    await quiet(nodes.pids)
    full = resident_mb(nodes.pids)
    stub, rng = nodes.stub(), random.Random(7)
    took = []
    for _ in range(options.fetches):
        request = FetchOffsetsRequest(tenant=TENANT, group=rng.choice(groups))
        began = time.perf_counter()
        answer = await stub.FetchOffsets(request, timeout=10)
        took.append(time.perf_counter() - began)
        if len(answer.group.offsets) != PARTITIONS:
            raise RuntimeError(f"{request.group} has {len(answer.group.offsets)} offsets")
    before = dict(token)
    await commit(rng.sample(groups, min(options.changed, len(groups))), 2)
    began = time.perf_counter()
    told, rows_read = await synchronize(stub, before)
    sync_s = time.perf_counter() - began
    await nodes.disconnect()
    p50_ms, p99_ms = percentiles(took)
    return Many(
        nodes=count,
        shards=shards,
        groups=options.groups,
        loaded_offsets_per_s=options.groups * PARTITIONS / loaded_s,
        empty_mb=empty,
        loading_mb=loading,
        full_mb=full,
        fetch_p50_ms=p50_ms,
        fetch_p99_ms=p99_ms,
        changed=options.changed,
        told=told,
        rows_read=rows_read,
        sync_ms=sync_s * 1e3,
    )


async def synchronize(stub: Any, token: dict[int, int]) -> tuple[int, int]:
    """Ask for what has changed behind a token, to the end: groups told, and rows read for it."""
    told = rows_read = 0
    more = True
    while more:
        since = [ShardRevision(shard=shard, revision=token[shard]) for shard in sorted(token)]
        more = False
        async for changes in stub.ListChanges(ListChangesRequest(since=since), timeout=60):
            told += len(changes.changes)
            rows_read += changes.rows_read
            token[changes.shard] = changes.revision
            more = more or changes.more
    return told, rows_read


def numbers(text: str) -> list[int]:
    """Read numbers with commas between them."""
    return [int(each) for each in names(text)]


def main() -> int:
    """Measure, and print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=names, default=["apply", "commits", "groups"])
    parser.add_argument("--nodes", type=numbers, default=[1, 2, 3])
    parser.add_argument("--shards", type=numbers, default=[1, 2, 4])
    parser.add_argument("--modes", type=names, default=list(MODES))
    parser.add_argument("--seconds", type=float, default=5.0, help="of each cell, at most")
    parser.add_argument("--requests", type=int, default=600, help="of each cell, at most")
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--mixed", action="store_true", help="each request is for all shards")
    parser.add_argument("--groups", type=int, default=1_000_000)
    parser.add_argument("--changed", type=int, default=1_000)
    parser.add_argument("--fetches", type=int, default=2_000)
    parser.add_argument("--directory", type=Path, help="a place on the disk that is measured")
    parser.add_argument("--profile", choices=MODES, help="of applying commits of that mode")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.profile:
        with cProfile.Profile() as profile:
            applied(options.directory, options.profile, min(APPLIED, options.requests))
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return 0
    costs: list[Cost] = []
    if "apply" in options.only:
        requests = min(APPLIED, options.requests)
        costs = [applied(options.directory, mode, requests) for mode in options.modes]
    found: list[Rate] = []
    if "commits" in options.only:
        for nodes in options.nodes:
            for shards in options.shards:
                with founded(options.directory, nodes, "offset", shards) as cluster:
                    found += run(rates(Nodes(cluster, shards), options, nodes, shards))
    filled: list[Many] = []
    if "groups" in options.only:
        # The largest of the clusters that were asked for, on the fewest shards.
        nodes, shards = max(options.nodes), min(options.shards)
        with founded(options.directory, nodes, "offset", shards) as cluster:
            filled.append(run(many(Nodes(cluster, shards), options, nodes, shards)))
    report(costs, found, filled, as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

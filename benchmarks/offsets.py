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
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import grpc.aio
from batch_rates import Rate, leader_channels, rate, send
from figures import Options, numbers, percentiles, profiled, report, resident_mb, run, slices
from nodes import founded, pids, quiet
from quorate.plugin.advanced import Stub
from quorate.plugin.slots import even_cut, slot_of, slots_in
from quorate.testing.cluster import Cluster
from quorate.testing.installed import catalog_of
from quorate.v1 import tenant_pb2
from quorate.v1.batch_pb2 import BatchReply, ShardRevision
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
from replica import Cost, command_of, opened

TENANT: Final = "acme"
TOPIC: Final = "orders"
#: Of one RPC.
OFFSETS: Final = 1_000
#: Of one group.
PARTITIONS: Final = 4
MODES: Final = ("monotonic", "compare-and-set", "unconditional")
#: Whose commits are applied in turn.
CALLERS: Final = 4
#: Of `apply`: it takes as long each time.
APPLIED: Final = 200
_COMMIT: Final = "/quorate_offset.v1.OffsetService/CommitOffsets"


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
    entries = [
        [command_of(commits(mode, groups_of(mode, at % CALLERS), 1 + at // CALLERS))]
        for at in range(requests)
    ]
    with opened(directory, catalog_of(["offset", "resource", "tenant"]), "offset") as replica:
        replica.adopt("tenant.tenants", TENANT, Tenant(name=TENANT))
        cost, outcomes = replica.cost(mode, entries, requests * OFFSETS)
    for outcome in outcomes:
        reply = BatchReply.FromString(outcome.reply)
        if reply.refusals or any(reply.replies):
            raise RuntimeError(f"offsets were refused: {reply.refusals[:1]}")
    return cost


def groups_of(mode: str, caller: int, shards: int = 1) -> list[str]:
    """Return the groups of one caller, which fill an RPC; with many shards they are of one."""
    wanted = caller % shards
    slots = set(slots_in(even_cut(shards)[wanted]))
    names = (f"{mode}-{caller}-{number}" for number in count())
    mine = (name for name in names if slot_of(group_key(TENANT, name)) in slots)
    return list(islice(mine, OFFSETS // PARTITIONS))


async def prepare(channel: grpc.aio.Channel) -> Any:
    """Create the tenant, and wait until every shard knows it; return the methods of a node."""
    tenants = Stub(channel, tenant_pb2.DESCRIPTOR.services_by_name["TenantService"])
    await tenants.Create(CreateTenant(name=TENANT), timeout=30)
    offsets: Any = Stub(channel, service_pb2.DESCRIPTOR.services_by_name["OffsetService"])
    request = commits("", [f"first-{number}" for number in range(64)], 1)
    while (await offsets.CommitOffsets(request, timeout=30)).refusals:
        await asyncio.sleep(0.05)
    return offsets


def committed(answer: bytes) -> CommitOffsetsResponse:
    """Read an answer; a benchmark of refusals is none."""
    read = CommitOffsetsResponse.FromString(answer)
    if read.refusals:
        first = read.refusals[0]
        raise RuntimeError(f"{len(read.refusals)} offsets were refused; the first: {first}")
    return read


async def rates(cluster: Cluster, options: argparse.Namespace, shards: int) -> list[Rate]:
    """Commit in each mode."""
    found = []
    each = max(2, options.requests // options.in_flight)
    async with leader_channels(cluster, "offset", shards) as channels:
        await prepare(channels[0])
        for mode in options.modes:
            callers = [
                [commits(mode, groups, number).SerializeToString() for number in range(1, each + 1)]
                for groups in (
                    groups_of(mode, caller, 1 if options.mixed else shards)
                    for caller in range(options.in_flight)
                )
            ]
            found.append(
                await rate(
                    cluster,
                    channels,
                    _COMMIT,
                    mode,
                    callers,
                    items=OFFSETS,
                    check=committed,
                    seconds=options.seconds,
                )
            )
    return found


async def many(cluster: Cluster, options: argparse.Namespace, shards: int) -> Many:
    """Fill a cluster with groups, and look at it."""
    async with leader_channels(cluster, "offset", shards) as channels:
        return await filled(cluster, options, channels)


async def filled(
    cluster: Cluster, options: argparse.Namespace, channels: Sequence[grpc.aio.Channel]
) -> Many:
    """Commit once for each group, then fetch, change and synchronize some."""
    stub, nodes = await prepare(channels[0]), pids(cluster)
    empty = resident_mb(nodes)
    groups = [f"group-{number:07}" for number in range(options.groups)]
    token: defaultdict[int, int] = defaultdict(int)
    loading = empty

    async def commit(chosen: Sequence[str], number: int) -> None:
        nonlocal loading
        # Few requests at a time: made all at once they would take more memory than the groups.
        for some in slices(list(slices(chosen, OFFSETS // PARTITIONS)), options.in_flight):
            requests = [[commits("", each, number).SerializeToString()] for each in some]
            for answer in (await send(channels, _COMMIT, requests))[1]:
                for each in committed(answer).revisions:
                    token[each.shard] = max(token[each.shard], each.revision)
            loading = max(loading, resident_mb(nodes))

    began = time.perf_counter()
    await commit(groups, 1)
    loaded_s = time.perf_counter() - began
    await quiet(nodes)
    full = resident_mb(nodes)
    rng = random.Random(7)
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
    p50_ms, p99_ms = percentiles(took)
    return Many(
        nodes=len(nodes),
        shards=len(channels),
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


def main() -> None:
    """Measure, and print a table for each part."""
    parser = Options(
        __doc__,
        seconds=(5.0, "of each cell, at most"),
        requests=(600, "of each cell, at most"),
        in_flight=4,
        groups=1_000_000,
        changed=1_000,
        fetches=2_000,
    )
    parser.add_names("--only", ["apply", "commits", "groups"])
    parser.add_argument("--nodes", type=numbers, default=[1, 2, 3])
    parser.add_argument("--shards", type=numbers, default=[1, 2, 4])
    parser.add_names("--modes", MODES)
    parser.add_argument("--mixed", action="store_true", help="each request is for all shards")
    parser.add_argument("--profile", choices=MODES, help="of applying commits of that mode")
    options = parser.parse_args()
    requests = min(APPLIED, options.requests)
    if options.profile:
        with profiled():
            applied(options.directory, options.profile, requests)
        return
    costs: list[Cost] = []
    if "apply" in options.only:
        costs = [applied(options.directory, mode, requests) for mode in options.modes]
    found: list[Rate] = []
    if "commits" in options.only:
        for nodes in options.nodes:
            for shards in options.shards:
                with founded(options.directory, nodes, "offset", shards=shards) as cluster:
                    found += run(rates(cluster, options, shards))
    loads: list[Many] = []
    if "groups" in options.only:
        # The largest of the clusters that were asked for, on the fewest shards.
        nodes, shards = max(options.nodes), min(options.shards)
        with founded(options.directory, nodes, "offset", shards=shards) as cluster:
            loads.append(run(many(cluster, options, shards)))
    report(costs, found, loads, as_json=options.json)


if __name__ == "__main__":
    main()

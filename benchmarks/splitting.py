"""A shard with very many sessions that is split under load: pauses, memory, and what is left.

Three nodes get sessions in one shard. Some clients have a will, and some a deadline of seconds:
they are disconnected so that these are due while the shard is split. Writers renew other sessions
at a steady rate throughout. At the end every session is looked for, and every will and its time.

python benchmarks/splitting.py [--sessions 1000000] [--into 4] [--writes 300] [--leaving 2000]
                               [--due 20] [--in-flight 4] [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from figures import Options, largest_mb, percentiles, report, resident_each_mb, run, slices, tell
from mqtt_net import PAYLOAD, SESSIONS, TENANT, Net, checked, clients_of, netted
from nodes import founded
from quorate.client import ChangeKind, QuorateError
from quorate.v1 import admin_pb2
from quorate_mqtt.v1.sessions_pb2 import DisconnectSession
from quorate_mqtt.v1.wills_pb2 import WillDelivery

_SPLIT: Final = "/quorate.v1.AdminService/SplitShard"
_LOOK_S: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """What a split did to those who wrote meanwhile."""

    sessions: int
    into: int
    #: From the call until every new shard has a leader and its slots.
    seconds: float
    writes: int
    failed: int
    p50_ms: float
    p99_ms: float
    #: Until then, and until all wills are delivered.
    longest_ms: float
    due_longest_ms: float
    before_mb: tuple[float, ...]
    largest_mb: float
    #: Sessions that are not there, or more than once, or there after their deadline.
    wrong_sessions: int
    wills: int
    #: Wills that were not delivered, more than once, or before they were due.
    wrong_wills: int


@dataclass(slots=True)
class Writes:
    """What renewing single sessions took."""

    took: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)


@asynccontextmanager
async def writing(net: Net, clients: Sequence[str], a_second: float) -> AsyncIterator[Writes]:
    """Renew sessions at a rate until the block ends; what a slow answer delays is made up for."""
    found, over = Writes(), False
    generations = await net.connect(clients)

    async def write(number: int) -> None:
        began = time.perf_counter()
        for turn in count():
            if over:
                return
            sent = time.perf_counter()
            try:
                await net.mqtt.sessions.update(
                    TENANT, clients[number], generations[number], payload=PAYLOAD
                )
            except QuorateError as error:
                found.failed[repr(error)] += 1
            found.took.append(time.perf_counter() - sent)
            due = began + (turn + 1) * len(clients) / a_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))

    tasks = [asyncio.create_task(write(number)) for number in range(len(clients))]
    try:
        yield found
    finally:
        over = True
        await asyncio.gather(*tasks)


async def measure(net: Net, options: argparse.Namespace) -> Splitting:
    """Load sessions, have some leave, split, and look for all of them."""
    staying = clients_of(0, options.sessions)
    await net.connect(staying, options.in_flight)
    tell(f"{len(staying)} sessions are there")
    leaving = clients_of(1, options.leaving)
    delivered: dict[str, list[tuple[float, WillDelivery]]] = {client: [] for client in leaving}

    async def follow_wills() -> None:
        async for change in net.q.watch("mqtt.will_deliveries"):
            if change.kind not in (ChangeKind.DELETED, ChangeKind.RESYNC):
                delivery = WillDelivery.FromString(change.value)
                known = delivered[delivery.will.topic]
                if all(each.id != delivery.id for _, each in known):
                    known.append((time.perf_counter(), delivery))

    following = asyncio.create_task(follow_wills())
    generations = await net.connect(leaving, expiry_s=options.due, will_after_s=options.due)
    before_mb = resident_each_mb(net.pids)
    async with writing(net, clients_of(2, 20), options.writes) as found:
        await asyncio.sleep(3)
        for some_pairs in slices(list(zip(leaving, generations, strict=True)), SESSIONS):
            checked(
                await net.mqtt.sessions.disconnect_many(
                    DisconnectSession(tenant=TENANT, client_id=client, generation=generation)
                    for client, generation in some_pairs
                )
            )
        left = time.perf_counter()
        quiet = list(found.took)
        tell(f"before the split: longest {max(quiet) * 1e3:.0f} ms of {len(quiet)} writes")
        found.took.clear()
        began = time.perf_counter()
        request = admin_pb2.SplitShardRequest(shard="mqtt/0", into=options.into)
        await net.q.call(_SPLIT, request, admin_pb2.SplitShardResponse, timeout_s=600)
        while not await _settled(net, options.into):
            await asyncio.sleep(_LOOK_S)
        seconds = time.perf_counter() - began
        longest_ms = max(found.took) * 1e3
        tell(f"split in {seconds:.1f} s")
        late = left + 2 * options.due
        while time.perf_counter() < late and not all(delivered.values()):
            await asyncio.sleep(_LOOK_S)
        await asyncio.sleep(3)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    there: Counter[str] = Counter()
    async for session in net.mqtt.sessions.list(tenant=TENANT, page_size=SESSIONS):
        there[session.client_id] += 1
    wrong = [client for client in staying if there[client] != 1]
    wrong += [client for client in leaving if there[client]]
    soonest = left + options.due - 1.5
    amiss = [
        client for client, known in delivered.items() if len(known) != 1 or known[0][0] < soonest
    ]
    for error, number in found.failed.items():
        tell(f"{number} times: {error}")
    p50_ms, p99_ms = percentiles(found.took)
    return Splitting(
        sessions=options.sessions,
        into=options.into,
        seconds=seconds,
        writes=len(found.took),
        failed=found.failed.total(),
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        longest_ms=longest_ms,
        due_longest_ms=max(found.took) * 1e3,
        before_mb=before_mb,
        largest_mb=largest_mb(net.pids),
        wrong_sessions=len(wrong),
        wills=sum(map(len, delivered.values())),
        wrong_wills=len(amiss),
    )


async def _settled(net: Net, into: int) -> bool:
    """Tell whether the shard's parts all lead a life of their own."""
    places = [each for each in (await net.q.topology()).shards if each.group == "mqtt"]
    return len(places) == into and all(
        each.version and each.leader and not each.splits_into for each in places
    )


async def all_of(options: argparse.Namespace) -> list[Splitting]:
    """Measure on a cluster of its own."""
    with founded(options.directory, 3, "mqtt", shards=1) as cluster:
        async with netted(cluster) as net:
            return [await measure(net, options)]


def main() -> None:
    """Measure, and print."""
    parser = Options(
        __doc__, sessions=1_000_000, into=4, writes=300.0, leaving=2_000, due=20, in_flight=4
    )
    options = parser.parse_args()
    report(run(all_of(options), 1_800), as_json=options.json)


if __name__ == "__main__":
    main()

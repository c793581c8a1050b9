"""etcd's clients on three nodes of etcd and on three of Quorate, both in one run.

Both sync their logs before they answer, and are asked by one process with the same client, at their
leaders. Puts, ranges and transactions are repeated, once both are warm, in turns, and the medians
of the rounds count. Then one key is put under many watches, leases are granted and renewed for
longer than they live, and very many keys are put, of which some are put and read again; at last
leaders are killed.

`cpu_us` is the processor time of all three servers for one operation: a put, a range, a
transaction, an event of a watch, a renewal, a key. `asker` is the share of a core of the process
that asks; near 1, it is the limit. `memory_mb` is what the servers have resident, and `own_mb` that
without the pages of files.

python benchmarks/etcd.py [--only put,range,txn,watches,leases,keys,outage] [--seconds 3]
    [--rounds 3] [--watches 1000] [--leases 10000] [--keys 1000000] [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from figures import (
    Options,
    compared,
    own_each_mb,
    percentiles,
    report,
    resident_each_mb,
    run,
    slices,
    tell,
)
from quorate.plugin.advanced import Stub
from quorate_etcd.wire import rpc_pb2 as rpc
from systems.closed_loop import channel
from systems.etcd import BATCH, Etcd
from systems.etcd_nodes import ClientNodes, DoorNodes, StockNodes
from systems.measuring import Figures, measure, middle, warm_up
from systems.outage import kill_leader
from systems.system import Meter, MissingError, values

#: Loads that are repeated: the kind, and how many are in flight.
REPEATED: Final = {
    "put": ("write", (1, 10, 100)),
    "range": ("read", (1, 10, 100)),
    "txn": ("small", (1, 10, 100)),
}
LOADS: Final = (*REPEATED, "watches", "leases", "keys", "outage")
#: Clients that share watches and leases, each with one stream.
CLIENTS: Final = 10
#: Puts under the watches.
PUTS: Final = 50
#: How long leases live, how often they are renewed, and for how long.
TTL_S: Final = 60
RENEWED_S: Final = 20.0
RENEWALS: Final = 3
#: Leases that a client grants at a time.
GRANTED: Final = 20
KEY_BYTES: Final = 256
#: Transactions that put keys, in flight.
IN_FLIGHT: Final = 4
#: Calls in flight on very many keys, and for how long.
ON_MANY: Final = 10
ON_MANY_S: Final = 10.0
OURS: Final = DoorNodes.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was measured of one of both."""

    load: str
    system: str
    per_s: float
    #: Ours divided by etcd's.
    ratio: float = 0.0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    cpu_us: float
    asker: float
    failures: int = 0
    #: Of the servers: what is resident, and that without the pages of files.
    memory_mb: tuple[float, ...]
    own_mb: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outages:
    """For how long a writer was not served when leaders were killed."""

    system: str
    trials: int
    median_s: float
    longest_s: float


def row_of(load: str, system: Etcd, **figures: Any) -> Row:
    """Return figures of a system, with what its servers hold in memory."""
    pids = system.pids()
    return Row(
        load=load,
        system=system.name,
        **figures,
        memory_mb=resident_each_mb(pids),
        own_mb=own_each_mb(pids),
    )


def measured(load: str, system: Etcd, meter: Meter, done: int, took: Sequence[float]) -> Row:
    """Return the figures of a number of operations."""
    used = meter.read()
    p50_ms, p99_ms = percentiles([*took, *took])
    return row_of(
        load,
        system,
        per_s=done / used.seconds,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        cpu_us=used.each_us(done)[0],
        asker=used.asker_s / used.seconds,
    )


def repeated(load: str, system: Etcd, rounds: Sequence[Figures]) -> Row:
    """Return the medians of a repeated load."""
    found = middle(rounds)
    return row_of(
        load,
        system,
        per_s=found.per_s,
        p50_ms=found.p50_ms,
        p99_ms=found.p99_ms,
        cpu_us=found.server_us,
        asker=found.asker_share,
        failures=found.failures,
    )


async def repeat(systems: Sequence[Etcd], options: argparse.Namespace) -> list[Row]:
    """Measure the repeated loads, the systems in turns."""
    rows: list[Row] = []
    for name, (kind, depths) in REPEATED.items():
        for in_flight in depths if name in options.only else ():
            load = f"{name} x{in_flight}"
            tell(f"{load}; the load of the machine is {os.getloadavg()[0]:.1f}")
            rounds: dict[str, list[Figures]] = {each.name: [] for each in systems}
            for each in systems:
                await warm_up(each, kind, in_flight)
            for number in range(options.rounds):
                for each in systems if number % 2 == 0 else systems[::-1]:
                    figures = await measure(each, kind, in_flight, options.seconds)
                    rounds[each.name] += [] if figures is None else [figures]
            rows += [repeated(load, each, rounds[each.name]) for each in systems]
            tell("\n".join(map(str, rows[-len(systems) :])))
    return rows


@asynccontextmanager
async def clients(system: Etcd, service: str, count: int) -> AsyncIterator[list[Any]]:
    """Give the stubs of a service on connections to the nodes in turn."""
    described = rpc.DESCRIPTOR.services_by_name[service]
    async with AsyncExitStack() as exits:
        yield [
            Stub(await exits.enter_async_context(channel(address)), described)
            for address in islice(cycle(system.nodes.addresses.values()), count)
        ]


async def watches(system: Etcd, many: int) -> list[Row]:
    """Put a key under watches; the latency is that from the put until all of them know."""
    async with clients(system, "Watch", CLIENTS) as stubs, clients(system, "KV", 1) as [kv]:
        streams = [each.Watch() for each in stubs]
        create = rpc.WatchRequest(create_request=rpc.WatchCreateRequest(key=b"watched"))
        for stream in streams:
            for _ in range(many // CLIENTS):
                await stream.write(create)
        await asyncio.gather(*(_taken(each, many // CLIENTS, 0) for each in streams))
        took: list[float] = []
        meter = Meter(system.pids())
        for number in range(PUTS):
            began_s = time.perf_counter()
            put = kv.Put(rpc.PutRequest(key=b"watched", value=b"%0128d" % number))
            await asyncio.gather(put, *(_taken(each, 0, many // CLIENTS) for each in streams))
            took.append(time.perf_counter() - began_s)
        row = measured(f"{many:,} watches", system, meter, PUTS * many, took)
        for stream in streams:
            stream.cancel()
    return [row]


async def _taken(stream: Any, created: int, events: int) -> None:
    """Read responses until all watches are created and all events have arrived."""
    while created > 0 or events > 0:
        response: rpc.WatchResponse = await stream.read()
        created -= response.created
        events -= len(response.events)


async def leases(system: Etcd, many: int) -> list[Row]:
    """Grant leases, and renew them for longer than they live; the latency is that of a renewal."""
    async with clients(system, "Lease", CLIENTS) as stubs:
        granted = await asyncio.gather(
            *(_granted(stub, many // CLIENTS) for stub in stubs),
        )
        meter = Meter(system.pids())
        took = await asyncio.gather(
            *(_renewed(stub, leases) for stub, leases in zip(stubs, granted, strict=True))
        )
        renewals = [each for some in took for each in some]
        row = measured(f"{many:,} leases", system, meter, len(renewals), renewals)
        left = await _left(stubs[0])
        if left != many:
            raise RuntimeError(f"{system.name} has {left:,} of {many:,} leases left")
        while await _left(stubs[0]):
            await asyncio.sleep(1)
    return [row]


async def _left(stub: Any) -> int:
    return len((await stub.LeaseLeases(rpc.LeaseLeasesRequest())).leases)


async def _granted(stub: Any, many: int) -> list[int]:
    found: list[int] = []
    for some in slices(range(many), GRANTED):
        granted = await asyncio.gather(
            *(stub.LeaseGrant(rpc.LeaseGrantRequest(TTL=TTL_S)) for _ in some)
        )
        found += [each.ID for each in granted]
    return found


async def _renewed(stub: Any, leases: Sequence[int]) -> list[float]:
    """Renew leases, evenly over the interval, and return how long each renewal took."""
    stream = stub.LeaseKeepAlive()
    sent: dict[int, float] = {}
    took: list[float] = []

    async def take() -> None:
        for _ in range(RENEWALS * len(leases)):
            answer: rpc.LeaseKeepAliveResponse = await stream.read()
            if not answer.TTL:
                raise RuntimeError(f"lease {answer.ID} has expired")
            took.append(time.perf_counter() - sent[answer.ID])

    taking = asyncio.create_task(take())
    began_s = time.perf_counter()
    pace_s = RENEWED_S / len(leases)
    for number in range(RENEWALS * len(leases)):
        await asyncio.sleep(began_s + number * pace_s - time.perf_counter())
        lease = leases[number % len(leases)]
        sent[lease] = time.perf_counter()
        await stream.write(rpc.LeaseKeepAliveRequest(ID=lease))
    await taking
    stream.cancel()
    return took


async def keys(system: Etcd, many: int) -> list[Row]:
    """Put keys of 256 bytes, look at the memory that they take, and put and read some of them."""
    [value] = values(1, KEY_BYTES)
    batches = slices([b"keys/%09d" % number for number in range(many)], BATCH)
    took: list[float] = []
    async with clients(system, "KV", 1) as [kv]:
        meter = Meter(system.pids())
        await asyncio.gather(*(_put_all(kv, batches, value, took) for _ in range(IN_FLIGHT)))
        rows = [measured(f"{many:,} keys", system, meter, many, took)]
        count = rpc.RangeRequest(key=b"keys/", range_end=b"keys0", count_only=True)
        counted = (await kv.Range(count, timeout=300)).count
        if counted != many:
            raise RuntimeError(f"{system.name} has {counted:,} of {many:,} keys")
        chosen = Random(1)
        for load, call in (
            ("put", lambda key: kv.Put(rpc.PutRequest(key=key, value=value), timeout=30)),
            ("range", lambda key: kv.Range(rpc.RangeRequest(key=key), timeout=30)),
        ):
            meter = Meter(system.pids())
            until_s = time.perf_counter() + ON_MANY_S
            asked = (_repeated(call, chosen, many, until_s) for _ in range(ON_MANY))
            took = [each for some in await asyncio.gather(*asked) for each in some]
            rows.append(
                measured(f"{load} x{ON_MANY} of {many:,} keys", system, meter, len(took), took)
            )
    return rows


async def _repeated(
    call: Callable[[bytes], Awaitable[object]], chosen: Random, many: int, until_s: float
) -> list[float]:
    """Call for random keys until a time, and return how long each call took."""
    took: list[float] = []
    while (began_s := time.perf_counter()) < until_s:
        await call(b"keys/%09d" % chosen.randrange(many))
        took.append(time.perf_counter() - began_s)
    return took


async def _put_all(kv: Any, batches: Iterator[Any], value: bytes, took: list[float]) -> None:
    for batch in batches:
        puts = [rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value)) for key in batch]
        began_s = time.perf_counter()
        await kv.Txn(rpc.TxnRequest(success=puts), timeout=30)
        took.append(time.perf_counter() - began_s)


async def outages(systems: Sequence[Etcd], trials: int) -> list[Outages]:
    """Kill the leaders beneath a writer."""
    found: list[Outages] = []
    for system in systems:
        took = sorted([(await kill_leader(system)).outage_s for _ in range(trials)])
        found.append(
            Outages(
                system=system.name,
                trials=trials,
                median_s=took[trials // 2],
                longest_s=took[-1],
            )
        )
    return found


async def compare(
    systems: Sequence[Etcd], options: argparse.Namespace
) -> tuple[list[Row], list[Outages]]:
    """Measure everything that was asked for."""
    async with AsyncExitStack() as exits:
        for system in systems:
            exits.push_async_callback(system.disconnect)
            await system.connect()
        rows = await repeat(systems, options)
        special: list[tuple[Callable[[Etcd, int], Awaitable[list[Row]]], int]] = [
            (watches, options.watches),
            (leases, options.leases),
            (keys, options.keys),
        ]
        for load, many in special:
            for system in systems if load.__name__ in options.only else ():
                tell(f"{system.name}: {load.__name__}")
                found = await load(system, many)
                tell("\n".join(map(str, found)))
                rows += found
        killed = await outages(systems, options.trials) if "outage" in options.only else []
    return compared(rows, OURS), killed


@contextmanager
def started(directory: Path) -> Iterator[list[Etcd]]:
    """Start the nodes of both, or of ours where there is no etcd."""
    both: tuple[ClientNodes, ...] = StockNodes(directory / "etcd"), DoorNodes(directory / "quorate")
    with ExitStack() as exits:
        systems: list[Etcd] = []
        for nodes in both:
            system = Etcd(nodes, ())
            exits.enter_context(closing(system))
            try:
                system.start()
            except MissingError as error:
                tell(str(error))
                continue
            tell(f"{system.name} {system.version}")
            systems.append(system)
        yield systems


def main() -> None:
    """Measure both, and print what was found."""
    parser = Options(
        __doc__,
        seconds=(3.0, "of each repeated load"),
        rounds=3,
        watches=1_000,
        leases=10_000,
        keys=1_000_000,
        trials=(3, "of the leader's kill"),
    )
    parser.add_names("--only", LOADS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.setswitchinterval(0.0003)
    with TemporaryDirectory(dir=options.directory) as directory, started(Path(directory)) as both:
        report(*run(compare(both, options)), as_json=options.json)


if __name__ == "__main__":
    main()

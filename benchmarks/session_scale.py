"""Very many sessions: a storm of reconnects, memory and disk as they grow, and expiry at once."""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from figures import cell, largest_mb, percentiles, resident_each_mb, slices, tell
from mqtt_net import (
    BROKERS,
    FIRST,
    LEAVING,
    PAYLOAD,
    SESSIONS,
    TENANT,
    Net,
    arrivals,
    checked,
    clients_of,
    netted,
)
from nodes import disk_mb, pids, quiet, restarted
from quorate.client import QuorateError
from quorate.plugin import keys
from quorate.testing.cluster import Cluster
from quorate_mqtt.v1.sessions_pb2 import (
    CONNECTION_STATE_DISCONNECTED,
    DisconnectSession,
)
from systems.system import Meter

#: It is told how far something has come when this part of it is done.
STEPS: Final = 10
#: Loading ends when this part of a measurement's time is over.
LOADING: Final = 3 / 4
#: Nodes that have been filled are waited for no longer, until they rest.
REST_S: Final = 30.0
#: Sessions that are looked up at random when all are loaded.
SOUGHT: Final = 10_000
#: Rows of a page.
PAGE: Final = 1_000
#: Between two looks for sessions that have not expired yet, and between two writes of one writer.
LOOK_S: Final = 0.25
WRITE_S: Final = 0.01
#: Between two words on how many writes went on beside the expiry.
TELL_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The nodes when so many rows were loaded."""

    sessions: int
    topics: int
    seconds: float
    #: Since the load before.
    sessions_per_s: float
    topics_per_s: float
    #: What each node holds in memory, and has on disk.
    node_mb: tuple[float, ...]
    disk_mb: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What came of many clients that reconnected at once."""

    known: int
    loaded_per_s: float
    #: What each node holds in memory: before the sessions, with them, and after the storm.
    empty_mb: tuple[float, ...]
    full_mb: tuple[float, ...]
    after_mb: tuple[float, ...]
    coroutines: int
    reconnects: int
    seconds: float
    reconnects_per_s: float
    p50_ms: float
    p99_ms: float
    worst_ms: float
    #: Processor time for one client: of all nodes together, and of the process that asks.
    nodes_us: float
    asker_us: float
    errors: int
    #: Of three brokers, in all this time.
    heartbeats: int
    heartbeats_missed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What the nodes take with all rows, and how one of them comes back."""

    #: Those that the cluster counts itself, and those that its list yields.
    sessions_counted: int
    topics_listed: int
    #: Of so many sessions that were looked up at random, so many were there.
    sought: int
    found: int
    #: What each node holds in memory: empty, full and at rest; and the most that one ever held.
    empty_mb: tuple[float, ...]
    rest_mb: tuple[float, ...]
    largest_mb: float
    #: On disk, at rest.
    disk_mb: tuple[float, ...]
    #: The leader of the sessions: from its start until it was ready again, and its memory then.
    ready_s: float
    ready_mb: float
    heartbeats_missed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """What came of many sessions that were due at once, and of single writes beside them."""

    sessions: int
    #: From the deadline of all until none was left.
    behind_s: float
    #: Those that the list yields at the end, although they were due.
    left: int
    #: Of single writes before it.
    quiet_writes: int
    quiet_p50_ms: float
    quiet_p99_ms: float
    #: Of single writes meanwhile.
    busy_writes: int
    busy_p50_ms: float
    busy_p99_ms: float
    busy_worst_ms: float
    errors: int
    node_mb: tuple[float, ...]
    heartbeats_missed: int


async def load(net: Net, options: argparse.Namespace, sessions: int, topics: int) -> list[Load]:
    """Make sessions and topics known step by step, as many of the steps as there is time for."""
    began = time.perf_counter()
    loads: list[Load] = []
    took_s = 0.0
    for step in range(STEPS):
        start = time.perf_counter()
        # The next step takes at least as long as the last one did.
        if start - began + took_s > LOADING * options.bound:
            tell(f"the time for loading is over after {step} of {STEPS} steps")
            break
        known, upto = (sessions * each // STEPS for each in (step, step + 1))
        await net.connect(clients_of(0, upto - known, known), options.in_flight)
        sessions_s = time.perf_counter() - start
        made, made_upto = (topics * each // STEPS for each in (step, step + 1))
        await net.create(topics_of(made, made_upto), options.in_flight)
        took_s = time.perf_counter() - start
        topics_s = took_s - sessions_s
        loads.append(
            Load(
                sessions=upto,
                topics=made_upto,
                seconds=time.perf_counter() - began,
                sessions_per_s=(upto - known) / sessions_s,
                topics_per_s=(made_upto - made) / topics_s,
                node_mb=resident_each_mb(net.pids),
                disk_mb=disk_mb(net.cluster),
            )
        )
        last = loads[-1]
        tell(
            f"{last.sessions} sessions ({last.sessions_per_s:,.0f}/s) and {last.topics} topics "
            f"({last.topics_per_s:,.0f}/s) after {last.seconds:.1f} s: nodes hold "
            f"{cell(last.node_mb)} MB, {cell(last.disk_mb)} MB on disk"
        )
    return loads


def topics_of(first: int, end: int) -> list[str]:
    """Return the names of topics, from a number to another."""
    return [f"site/{number % 97}/device/{number:07}" for number in range(first, end)]


async def storm(cluster: Cluster, options: argparse.Namespace) -> Storm:
    """Make many sessions known, and let clients come back to other brokers at once."""
    empty = resident_each_mb(pids(cluster))
    async with netted(cluster) as net:
        last = (await load(net, options, options.known, 0))[-1]
        full = resident_each_mb(net.pids)
        wanted = min(options.reconnects, last.sessions)
        coming = iter(random.Random(7).sample(range(last.sessions), wanted))
        took: list[float] = []
        errors: Counter[str] = Counter()

        async def reconnect(coroutine: int) -> None:
            broker = 1 + coroutine % (len(BROKERS) - 1)
            for number in coming:
                [arrival] = arrivals(clients_of(0, 1, number))
                began = time.perf_counter()
                try:
                    await net.mqtt.sessions.connect(BROKERS[broker], net.epoch(broker), arrival)
                except QuorateError as error:
                    errors[repr(error)] += 1
                else:
                    took.append(time.perf_counter() - began)
                    if len(took) % max(1, wanted // STEPS) == 0:
                        tell(f"{len(took)} clients are back after {began - start:.1f} s")

        meter, start = Meter(net.pids), time.perf_counter()
        await asyncio.gather(*map(reconnect, range(options.coroutines)))
        used = meter.read()
        tell_errors(errors)
        after = resident_each_mb(net.pids)
        # The heartbeats that were under way have been answered by then, or are missed.
        await asyncio.sleep(max(each.broker.ttl_ms for each in net.pulses) / 1_000)
    p50_ms, p99_ms = percentiles(took)
    nodes_us, asker_us = used.each_us(len(took))
    return Storm(
        known=last.sessions,
        loaded_per_s=last.sessions / last.seconds,
        empty_mb=empty,
        full_mb=full,
        after_mb=after,
        coroutines=options.coroutines,
        reconnects=len(took),
        seconds=used.seconds,
        reconnects_per_s=len(took) / used.seconds,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        worst_ms=max(took) * 1e3,
        nodes_us=nodes_us,
        asker_us=asker_us,
        errors=errors.total(),
        heartbeats=sum(each.sent for each in net.pulses),
        heartbeats_missed=net.missed,
    )


async def memory(cluster: Cluster, options: argparse.Namespace) -> tuple[list[Load], Filled]:
    """Load sessions and topics, count them, and restart the node that leads the sessions."""
    empty = resident_each_mb(pids(cluster))
    async with netted(cluster) as net:
        loads = await load(net, options, options.sessions, options.topics)
        largest = largest_mb(net.pids)
        last = loads[-1]
        await quiet(net.pids, REST_S)
        rest, disk = resident_each_mb(net.pids), disk_mb(cluster)
        tell(f"at rest nodes hold {cell(rest)} MB, {cell(disk)} MB on disk")
        known = await counted_sessions(net)
        chosen = random.Random(7).sample(range(last.sessions), min(SOUGHT, last.sessions))
        sought = [client for number in chosen for client in clients_of(0, 1, number)]
        found = len(await net.mqtt.sessions.get_many(TENANT, sought))
        tell(f"{known} sessions are counted; of {len(sought)} sought ones, {found} are there")
        began = time.perf_counter()
        listed = await counted(net.mqtt.topics.list(tenant=TENANT, page_size=PAGE))
        tell(f"{listed} topics are listed in {time.perf_counter() - began:.1f} s")
        node = await asyncio.to_thread(cluster.leader, "mqtt/0")
        ready_s = await restarted(node)
        [ready_mb] = resident_each_mb([node.pid])
        tell(f"{node.name} is ready {ready_s:.2f} s after its start")
        again = await counted_sessions(net)
        there = (known, found, listed, again)
        if there != (last.sessions, len(sought), last.topics, last.sessions):
            raise RuntimeError(
                f"of {last.sessions} sessions and {last.topics} topics, {known} and {listed} are "
                f"there, {found} of {len(sought)} sought sessions, and {again} sessions after a "
                "node has come back"
            )
    return loads, Filled(
        sessions_counted=known,
        topics_listed=listed,
        sought=len(sought),
        found=found,
        empty_mb=empty,
        rest_mb=rest,
        largest_mb=largest,
        disk_mb=disk,
        ready_s=ready_s,
        ready_mb=ready_mb,
        heartbeats_missed=net.missed,
    )


async def counted_sessions(net: Net) -> int:
    """Return how many clients the brokers serve, as the cluster counts, but for the first ones."""
    return sum((await net.mqtt.sessions.connections()).values()) - 2 * len(FIRST)


async def counted(listed: AsyncIterator[object]) -> int:
    """Count what a list yields."""
    return sum([1 async for _ in listed])


async def expiry(cluster: Cluster, options: argparse.Namespace) -> Expiry:
    """Disconnect many clients whose sessions are due at once, and write single ones meanwhile."""
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
        left = await net.connect(leaving, options.in_flight, tenant=LEAVING)
        tell(f"{len(leaving)} clients are connected")
        async with asyncio.TaskGroup() as group:
            writing = [
                group.create_task(write(*each)) for each in zip(writers, generations, strict=True)
            ]
            await asyncio.sleep(options.quiet)
            quiet_took = list(took)
            due = time.perf_counter() + options.expire_after
            await disconnected(net, list(zip(leaving, left, strict=True)), due)
            tell(f"they are disconnected {due - time.perf_counter():.1f} s before they are due")
            # Deadlines are whole seconds after each disconnect: some come a little before.
            await asyncio.sleep(max(0.0, due - 0.5 - time.perf_counter()))
            before = len(took)
            await all_expired(net, took)
            finished = time.perf_counter()
            for each in writing:
                each.cancel()
        tell_errors(errors)
        still = await counted(net.mqtt.sessions.list(tenant=LEAVING, page_size=PAGE))
        node_mb = resident_each_mb(net.pids)
    busy = took[before:]
    quiet_p50_ms, quiet_p99_ms = percentiles(quiet_took)
    busy_p50_ms, busy_p99_ms = percentiles(busy)
    return Expiry(
        sessions=options.expiring,
        behind_s=finished - due,
        left=still - len(FIRST),
        quiet_writes=len(quiet_took),
        quiet_p50_ms=quiet_p50_ms,
        quiet_p99_ms=quiet_p99_ms,
        busy_writes=len(busy),
        busy_p50_ms=busy_p50_ms,
        busy_p99_ms=busy_p99_ms,
        busy_worst_ms=max(busy) * 1e3,
        errors=errors.total(),
        node_mb=node_mb,
        heartbeats_missed=net.missed,
    )


async def disconnected(net: Net, clients: Sequence[tuple[str, int]], due: float) -> None:
    """Disconnect clients so that their sessions are due together, half a second apart at most."""
    for some in slices(clients, SESSIONS):
        left_s = round(due - time.perf_counter())
        if left_s < 1:
            raise RuntimeError("sessions were due before all were disconnected: --expire-after")
        checked(
            await net.mqtt.sessions.disconnect_many(
                DisconnectSession(
                    tenant=LEAVING,
                    client_id=client,
                    generation=generation,
                    expiry_interval_s=left_s,
                )
                for client, generation in some
            )
        )


async def all_expired(net: Net, took: Sequence[float]) -> None:
    """Wait until no session of the tenant waits for its end."""
    began = told = time.perf_counter()
    at: str | None = ""
    # Most end in the order of their names: to look from the first one on each time would be to
    # pass over all that have ended, and to measure that. A few may have been left behind.
    while (at := await waiting(net, at or "")) or (at := await waiting(net, "")):
        if (now := time.perf_counter()) - told > TELL_S:
            told = now
            tell(f"after {now - began:.1f} s, and {len(took)} writes in all, {at} is still there")
        await asyncio.sleep(LOOK_S)


async def waiting(net: Net, at: str) -> str | None:
    """Return a client from this one on whose session waits for its end."""
    waiting = net.mqtt.sessions.list(
        tenant=LEAVING,
        state=CONNECTION_STATE_DISCONNECTED,
        page_size=1,
        # The page goes on behind this key, and a text without its last letter is before the text.
        page_token=keys.pack(LEAVING, at[:-1]) if at else b"",
    )
    async with aclosing(waiting) as found:
        session = await anext(found, None)
    return None if session is None else session.client_id


def tell_errors(errors: Counter[str]) -> None:
    """Tell the most frequent errors."""
    for error, count in errors.most_common(3):
        tell(f"{count} times: {error}")

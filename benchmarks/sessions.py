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
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from batch_rates import Rate, leader_channels, rate, send
from figures import Options, profiled, report, run
from google.protobuf.message import Message
from mqtt_net import (
    BROKERS,
    PAYLOAD,
    SESSIONS,
    TENANT,
    arrivals,
    checked,
    clients_of,
    generations_of,
    netted,
)
from nodes import founded
from quorate.testing.cluster import Cluster
from quorate.testing.installed import catalog_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.tenant_pb2 import Tenant
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectSessions,
    UpdateSession,
    UpdateSessions,
)
from replica import Cost, command_of, opened
from session_scale import Expiry, Filled, Load, Storm, expiry, memory, storm

PARTS: Final = ("apply", "upserts", "storm", "memory", "expiry")
KINDS: Final = ("plain", "conditional", "single")
#: Whose requests are applied in turn.
CALLERS: Final = 4
_SERVICE: Final = "/quorate_mqtt.v1.SessionService/"
_METHODS: Final = {"plain": f"{_SERVICE}ConnectBatch", "conditional": f"{_SERVICE}UpdateBatch"}


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


def applied(directory: Path | None, kind: str, requests: int) -> Cost:
    """Apply entries of 1,000 sessions each, those of several callers in turn."""
    with opened(directory, catalog_of(["cluster", "mqtt", "tenant"]), "mqtt") as replica:
        replica.adopt("tenant.tenants", TENANT, Tenant(name=TENANT))
        broker = Broker(name=BROKERS[0], epoch=1, roles=["mqtt"])
        replica.adopt("cluster.brokers", BROKERS[0], broker)
        callers: list[Sequence[Message]] = []
        for caller in range(CALLERS):
            clients = clients_of(caller)
            connects = connects_of(clients, 1)
            [outcome] = replica.apply([command_of(connects)])
            if kind == "conditional":
                generations = generations_of(BatchReply.FromString(outcome.reply))
                callers.append([updates(clients, generations)])
            elif kind == "single":
                callers.append(
                    [
                        ConnectSessions(broker=BROKERS[0], broker_epoch=1, connections=[each])
                        for each in connects.connections
                    ]
                )
            else:
                callers.append([connects])
        entries = list(islice(cycle([[*map(command_of, each)] for each in callers]), requests))
        cost, outcomes = replica.cost(kind, entries, requests * SESSIONS)
    for outcome in outcomes if kind != "single" else []:
        checked(BatchReply.FromString(outcome.reply))
    return cost


def connects_of(clients: Sequence[str], epoch: int) -> ConnectSessions:
    """Return the request that connects clients to the first broker."""
    return ConnectSessions(broker=BROKERS[0], broker_epoch=epoch, connections=arrivals(clients))


async def upserts(cluster: Cluster, options: argparse.Namespace) -> list[Rate]:
    """Connect and update in RPCs of 1,000."""
    each = max(2, options.requests // options.in_flight)
    async with (
        netted(cluster) as net,
        leader_channels(cluster, "mqtt", options.shards) as channels,
    ):

        async def rated(kind: str, requests: Sequence[Message]) -> Rate:
            callers = [[request.SerializeToString()] * each for request in requests]
            return await rate(
                cluster,
                channels,
                _METHODS[kind],
                kind,
                callers,
                items=SESSIONS,
                check=lambda answer: checked(BatchReply.FromString(answer)),
            )

        callers = [clients_of(caller) for caller in range(options.in_flight)]
        plain = [connects_of(clients, net.epoch(0)) for clients in callers]
        await send(channels, _METHODS["plain"], [[each.SerializeToString()] for each in plain])
        return [
            await rated("plain", plain),
            await rated(
                "conditional",
                [updates(clients, await net.connect(clients)) for clients in callers],
            ),
        ]


def founded_for(options: argparse.Namespace) -> AbstractContextManager[Cluster]:
    """Found the cluster that is asked for."""
    return founded(options.directory, options.nodes, "mqtt", shards=options.shards)


def main() -> None:
    """Measure, and print a table for each part."""
    parser = Options(
        __doc__,
        nodes=3,
        shards=1,
        requests=(200, "of each kind of upsert"),
        in_flight=4,
        known=1_000_000,
        coroutines=2_000,
        reconnects=100_000,
        sessions=5_000_000,
        topics=1_000_000,
        expiring=100_000,
        expire_after=(30, "seconds"),
        quiet=(5.0, "seconds of writes before expiry"),
        writers=1,
        bound=(360.0, "seconds of a part, at most"),
    )
    parser.add_names("--only", PARTS)
    parser.add_argument("--profile", choices=KINDS, help="of applying that kind")
    options = parser.parse_args()
    if options.profile:
        with profiled():
            applied(options.directory, options.profile, options.requests)
        return
    parts: list[Sequence[Cost | Rate | Storm | Load | Filled | Expiry]] = []
    if "apply" in options.only:
        parts.append([applied(options.directory, kind, options.requests) for kind in KINDS])
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


if __name__ == "__main__":
    main()

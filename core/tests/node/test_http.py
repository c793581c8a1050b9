"""What a node answers over HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families
from quorate.config import load
from quorate.node import probes
from quorate.node.node import Node
from quorate.plugin import NodeApi
from quorate.rpc.server import ServingRefusedError

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def http_of(path: Path) -> int:
    return load(path, {}, {}).node.http_port


def port_of(path: Path) -> int:
    return load(path, {}, {}).node.port


def ask(path: Path, what: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{http_of(path)}{what}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


async def asked(path: Path, what: str) -> tuple[int, str]:
    return await asyncio.to_thread(ask, path, what)


async def scraped(path: Path) -> Samples:
    status, text = await asked(path, "/metrics")
    assert status == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


async def test_a_node_that_is_ready_says_so(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path):
        assert await asked(path, "/livez") == (200, "alive\n")
        assert await asked(path, "/readyz") == (200, "ready\n")
        assert (await asked(path, "/"))[0] == 404

    with pytest.raises(OSError, match="refused"):
        ask(path, "/livez")


async def test_a_node_without_a_majority_lives_and_tells_what_it_waits_for(nodes: Nodes) -> None:
    first, _ = nodes.files(2)
    node = nodes.new(first)
    starting = asyncio.create_task(node.start())
    try:
        async with asyncio.timeout(20):
            while not await listens(first):
                await asyncio.sleep(0.02)
        assert (await asked(first, "/livez"))[0] == 200
        status, missing = await asked(first, "/readyz")
        assert (status, missing.startswith("this node is starting")) == (503, True)
    finally:
        starting.cancel()
        await asyncio.wait([starting])
        await node.stop()


async def listens(path: Path) -> bool:
    try:
        await asked(path, "/livez")
    except OSError:
        return False
    return True


async def test_a_node_whose_shards_have_no_leader_names_them(nodes: Nodes) -> None:
    paths = nodes.files(2)
    async with nodes.started(*paths):
        pass
    again = nodes.new(paths[0])
    try:
        await again.start()
        status, missing = await asked(paths[0], "/readyz")
        assert status == 503
        assert "metadata/0 has not caught up with its leader yet\n" in missing
        ages = [key for key in await scraped(paths[0]) if key[0] == "quorate_shard_age_seconds"]
        assert ages == []
        assert (await asked(paths[0], "/livez"))[0] == 200
    finally:
        await again.stop()


async def test_a_node_that_stops_is_not_ready_any_more(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    let = asyncio.Event()
    leaving = asyncio.Event()

    @asynccontextmanager
    async def lifespan(_: NodeApi) -> AsyncIterator[None]:
        yield
        leaving.set()
        await let.wait()

    async with nodes.started(path, serving=nodes.catalog(lifespan=lifespan)) as [node]:
        stopping = asyncio.create_task(node.stop())
        try:
            await asyncio.wait_for(leaving.wait(), 20)
            assert await asked(path, "/readyz") == (
                503,
                "this node is stopping; ask another node\n",
            )
            assert (await asked(path, "/livez"))[0] == 200
        finally:
            let.set()
            await stopping


async def test_a_loop_that_stands_still_is_not_alive(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "LIVE_WITHIN_S", 0.1)
    [path] = nodes.files(1)
    async with nodes.started(path):
        let, loop = Event(), asyncio.get_running_loop()

        def answers() -> Iterator[tuple[int, str]]:
            try:
                yield ask(path, "/livez")
                yield ask(path, "/readyz")
            finally:
                let.set()

        heard = loop.run_in_executor(None, lambda: list(answers()))
        # It stands still until both have their answers, however long that takes.
        assert let.wait(20)
        silent = (503, "the node's loop did not answer for 0.1 s\n")
        assert await heard == [silent, silent]
        assert (await asked(path, "/livez"))[0] == 200


async def test_a_port_in_use_is_named(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    node = nodes.new(path)
    with socket.create_server(("127.0.0.1", http_of(path))):
        try:
            with pytest.raises(
                ServingRefusedError, match=f"127.0.0.1:{http_of(path)} .*node.http_port"
            ):
                await node.start()
        finally:
            await node.stop()


async def test_metrics_tell_what_a_node_has_done(nodes: Nodes) -> None:
    paths, shard = nodes.files(3), "toy/0"
    async with nodes.started(*paths, serving=nodes.catalog(shards=1)) as started:
        before = [await scraped(path) for path in paths]
        for number in range(10):
            await nodes.say(started[0].api, f"a={number}")
        leader = leader_of(started, shard)
        followers = [node.me.node for node in started if node is not started[leader]]
        async with asyncio.timeout(20):
            while True:
                after = [await scraped(path) for path in paths]
                lags = [
                    value(
                        after[leader],
                        "quorate_raft_follower_lag_entries",
                        shard=shard,
                        follower=name,
                    )
                    for name in followers
                ]
                if lags == [0, 0]:
                    break

        def grown(name: str, **labels: str) -> float:
            return value(after[leader], name, **labels) - value(before[leader], name, **labels)

        assert value(after[leader], "quorate_raft_role", shard=shard, role="leader") == 1
        roles = [value(each, "quorate_raft_role", shard=shard, role="follower") for each in after]
        assert sum(roles) == 2
        assert grown("quorate_apply_commands_total", shard=shard) == 10
        assert grown("quorate_write_entry_commands_sum", shard=shard) == 10
        assert grown("quorate_write_duration_seconds_count", shard=shard) == 10
        assert grown("quorate_write_entry_bytes_sum", shard=shard) >= 10 * len("a=1")
        assert 1 <= grown("quorate_apply_entries_total", shard=shard) <= 10
        assert grown("quorate_apply_turn_seconds_count", shard=shard) >= 1
        assert grown("quorate_log_sync_seconds_count") >= 1
        assert value(after[leader], "quorate_raft_leader_changes_total", shard=shard) >= 1
        indexes = [
            value(after[leader], f"quorate_raft_{which}_index", shard=shard)
            for which in ("applied", "commit", "synced", "last")
        ]
        assert indexes == sorted(indexes)
        assert value(after[leader], "quorate_rocksdb_memtables_bytes", database=shard) > 0
        assert value(after[leader], "quorate_rocksdb_memtables_bytes", database="log") > 0
        assert value(after[leader], "quorate_write_admitted_commands", shard=shard) == 0
        assert value(after[leader], "quorate_node_ready") == 1
        assert value(after[leader], "quorate_cache_builds_total", cache="toy.rows") >= 1
        assert value(after[leader], "quorate_watch_open_watches") >= 1


def leader_of(started: list[Node], shard: str) -> int:
    return next(
        number
        for number, node in enumerate(started)
        if any(str(each.id) == shard and each.leads for each in node.shards.all())
    )


async def test_calls_are_counted(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with (
        nodes.started(path),
        grpc.aio.insecure_channel(f"127.0.0.1:{port_of(path)}") as channel,
    ):
        await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=20)
        samples = await scraped(path)

    method = "/grpc.health.v1.Health/Check"
    assert value(samples, "quorate_rpc_calls_total", method=method, code="OK") == 1
    assert value(samples, "quorate_rpc_duration_seconds_count", method=method) == 1
    assert value(samples, "quorate_rpc_open_calls", method=method) == 0

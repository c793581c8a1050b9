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
from urllib.request import Request, urlopen

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from prometheus_client.parser import text_string_to_metric_families
from quorate.config import load
from quorate.node import probes
from quorate.observe.history import History, Totals, decoded
from quorate.observe.http import Answer, Request as WebRequest
from quorate.plugin import NodeApi
from quorate.plugin.advanced import Stub
from quorate.rpc.server import ServingRefusedError

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def nodes_history() -> Iterator[History]:
    loop = asyncio.new_event_loop()
    yield History(loop, Totals)
    loop.close()


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


async def scraped(path: Path, query: str = "") -> Samples:
    status, text = await asked(path, f"/metrics{query}")
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


async def test_metrics_are_shown_by_what_their_names_begin_with(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path):
        everything = {name for name, _ in await scraped(path)}
        names = ("quorate_rpc_calls_total", "quorate_log_", "process_open_fds")
        some = {name for name, _ in await scraped(path, f"?names={','.join(names)}")}
        assert (await asked(path, f"/metrics?names={'a,' * 300}"))[0] == 400

    assert {each for each in everything if each.startswith(names)} <= some
    assert len(some) < len(everything) / 5


async def test_a_version_that_is_no_number_gets_plain_metrics(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    accept = {"Accept": "application/openmetrics-text; version=new"}
    async with nodes.started(path):
        request = Request(f"http://127.0.0.1:{http_of(path)}/metrics", headers=accept)
        answer = await asyncio.to_thread(urlopen, request, timeout=20)
        with answer:
            assert answer.headers["Content-Type"].startswith("text/plain")


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


async def test_metrics_tell_what_nodes_have_done(nodes: Nodes) -> None:
    # Leaders stay on a busy machine; where one goes all the same, the figures of all nodes count.
    paths, shard = nodes.files(3, election_ms=1500), "toy/0"
    async with nodes.started(*paths, serving=nodes.catalog(shards=1)) as started:
        # A shard that takes writes has what core itself writes to a new one.
        await nodes.say(started[0].api, "a=first")
        before, _ = await agreed(paths, shard)
        nodes.sent = 0
        # Side by side, so that some share an entry.
        await asyncio.gather(*(nodes.say(started[0].api, f"a={number}") for number in range(10)))
        after, leader = await agreed(paths, shard)

        def grown(name: str, **labels: str) -> list[float]:
            return [
                value(new, name, **labels) - value(old, name, **labels)
                for old, new in zip(before, after, strict=True)
            ]

        # A command of unknown outcome may be in an entry, and is sent again.
        commands = sum(grown("quorate_write_entry_commands_sum", shard=shard))
        assert 10 <= commands <= nodes.sent
        made = sum(grown("quorate_write_entry_commands_count", shard=shard))
        # Those that another node sends on together are one write.
        ended = sum(grown("quorate_write_duration_seconds_count", shard=shard))
        assert 1 <= made <= ended <= nodes.sent
        assert made < nodes.sent
        assert sum(grown("quorate_write_entry_bytes_sum", shard=shard)) >= 10 * len("a=1")
        applied = grown("quorate_apply_commands_total", shard=shard)
        assert len(set(applied)) == 1
        assert 10 <= applied[0] <= commands
        # Those without commands are among them: the first entry of a leader's term is one.
        entries = grown("quorate_raft_applied_index", shard=shard)
        assert grown("quorate_apply_entries_total", shard=shard) == entries
        assert min(grown("quorate_apply_turn_seconds_count", shard=shard)) >= 1
        assert min(grown("quorate_log_sync_seconds_count")) >= 1
        assert value(leader, "quorate_raft_leader_changes_total", shard=shard) >= 1
        # The followers get each entry, and the leader a majority's acknowledgement of it.
        assert sum(grown("quorate_raft_received_messages_total", shard=shard)) >= 2 * made
        indexes = [
            value(leader, f"quorate_raft_{which}_index", shard=shard)
            for which in ("applied", "commit", "synced", "last")
        ]
        assert indexes == sorted(indexes)
        assert value(leader, "quorate_rocksdb_memtables_bytes", database=shard) > 0
        assert value(leader, "quorate_rocksdb_memtables_bytes", database="log") > 0
        assert value(leader, "quorate_write_admitted_commands", shard=shard) == 0
        assert value(leader, "quorate_node_ready") == 1
        assert value(leader, "quorate_cache_builds_total", cache="toy.rows") >= 1
        assert value(leader, "quorate_watch_open_watches") >= 1


async def agreed(paths: list[Path], shard: str) -> tuple[list[Samples], Samples]:
    """Return what nodes say, and the leader, once the others follow and all have its whole log."""
    async with asyncio.timeout(20):
        while (leader := leads(scrapes := [await scraped(each) for each in paths], shard)) is None:
            await asyncio.sleep(0.02)
    return scrapes, leader


def leads(scrapes: list[Samples], shard: str) -> Samples | None:
    """Return the scrape of the leader, if there is one and nothing of its log is under way."""

    def all_who(role: str) -> list[Samples]:
        return [
            each for each in scrapes if value(each, "quorate_raft_role", shard=shard, role=role)
        ]

    leaders, followers = all_who("leader"), all_who("follower")
    if (len(leaders), len(followers)) != (1, len(scrapes) - 1):
        return None
    [leader] = leaders
    lags = [
        lag
        for (name, labels), lag in leader.items()
        if name == "quorate_raft_follower_lag_entries" and ("shard", shard) in labels
    ]
    last = value(leader, "quorate_raft_last_index", shard=shard)
    applied = {value(each, "quorate_raft_applied_index", shard=shard) for each in scrapes}
    waiting = value(leader, "quorate_write_admitted_commands", shard=shard)
    quiet = lags == [0] * len(followers) and applied == {last} and not waiting
    return leader if quiet else None


async def test_calls_are_counted(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with (
        nodes.started(path),
        grpc.aio.insecure_channel(f"127.0.0.1:{port_of(path)}") as channel,
    ):
        await Stub(channel, health_pb2.DESCRIPTOR.services_by_name["Health"]).Check(
            health_pb2.HealthCheckRequest(), timeout=20
        )
        samples = await scraped(path)

    method = "/grpc.health.v1.Health/Check"
    assert value(samples, "quorate_rpc_calls_total", method=method, code="OK") == 1
    assert value(samples, "quorate_rpc_duration_seconds_count", method=method) == 1
    assert value(samples, "quorate_rpc_open_calls", method=method) == 0


def test_the_history_is_for_as_long_as_is_asked(nodes_history: History) -> None:
    def at(path: str, **query: str) -> Answer:
        return probes._history(nodes_history, WebRequest(path, query, ""))

    assert at("").body == b"[]"
    nodes_history.take()
    nodes_history.take()
    assert len(decoded(at("", last_s="60").body)) == 1
    assert at("", last_s="0").body == b"[]"
    for refused in (at("", last_s="-1"), at("", last_s="9" * 20), at("more")):
        assert refused.status == 400


def test_the_first_page_leads_to_the_console() -> None:
    found = probes._leads_to("/console")

    assert (found.status, found.headers["Location"]) == (302, "/console")

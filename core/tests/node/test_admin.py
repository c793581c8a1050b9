"""What operators are told by nodes, and what nodes do for them, through their sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import grpc
import grpc.aio
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc import error_details_pb2, status_pb2
from quorate.config import load
from quorate.control import leader_balance, runner
from quorate.control.failures import Backoff
from quorate.control.leader_balance import Leadership, Transfer
from quorate.node.directory import UnfinishedRestoreError, restore, unfinished
from quorate.node.node import Node
from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.advanced import Stub
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import METADATA
from quorate.rpc.status import DETAILS_KEY, detail
from quorate.shards.refusals import UnreadableError
from quorate.shards.shard.capacity import FreeSpace
from quorate.shards.shard.clock import LogicalClock
from quorate.shards.snapshots.parts import MANIFEST, BackupError, BackupTarget
from quorate.topology.replicas.node_shards import NodeShards
from quorate.topology.replicas.unopened import Unopened
from quorate.v1 import admin_pb2

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes


@asynccontextmanager
async def operator(path: Path) -> AsyncIterator[Any]:
    """Connect to the node of a file."""
    port = load(path, {}, {}).node.port
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield cast(Any, Stub(channel, admin_pb2.DESCRIPTOR.services_by_name["AdminService"]))


async def status(path: Path) -> admin_pb2.NodeStatusResponse:
    async with operator(path) as stub:
        found = await stub.Status(admin_pb2.NodeStatusRequest(), timeout=20, wait_for_ready=True)
        return cast(admin_pb2.NodeStatusResponse, found)


async def topology(path: Path) -> admin_pb2.TopologyResponse:
    async with operator(path) as stub:
        request = admin_pb2.TopologyRequest()
        found = await stub.Topology(request, timeout=20, wait_for_ready=True)
        return cast(admin_pb2.TopologyResponse, found)


async def transfer(path: Path, shard: str, node: str) -> None:
    async with operator(path) as stub:
        request = admin_pb2.TransferLeaderRequest(shard=shard, node=node)
        await stub.TransferLeader(request, timeout=20)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


def told(failed: pytest.ExceptionInfo[grpc.aio.AioRpcError]) -> error_details_pb2.ErrorInfo:
    trailing: Any = failed.value.trailing_metadata()
    found = status_pb2.Status.FromString(dict(trailing)[DETAILS_KEY])
    return detail(found, error_details_pb2.ErrorInfo)


def leader_of(nodes: list[Node], shard: str) -> int:
    """Return the place of the node that leads a shard."""
    return next(
        at
        for at, node in enumerate(nodes)
        if any(each.leads and str(each.id) == shard for each in node.shards.all())
    )


# What they are told.


async def test_a_node_tells_where_everything_is(nodes: Nodes) -> None:
    paths = nodes.files(3, election_ms=1_000)
    async with nodes.started(*paths) as started:
        for path in paths:
            found = await topology(path)

            assert [(each.node, each.address) for each in found.nodes] == [
                (other.stem, load(other, {}, {}).node.address) for other in paths
            ]
            places = {f"{each.group}/{each.number}": each for each in found.shards}
            assert list(places) == ["metadata/0", "toy/0", "toy/1"]
            for shard, place in places.items():
                assert place.leader == started[leader_of(started, shard)].me.node
                assert list(place.nodes) == ["n1", "n2", "n3"]
            slots = [int.from_bytes(places[f"toy/{n}"].slots, "little") for n in range(2)]
            assert slots[0] | slots[1] == (1 << 1024) - 1
            assert found.cluster_id


async def test_a_node_tells_what_it_does(nodes: Nodes) -> None:
    paths = nodes.files(3, election_ms=1_000)
    async with nodes.started(*paths) as started:
        await nodes.say(started[0].api, "a=1")
        at = leader_of(started, "metadata/0")
        found = await status(paths[at])
        config = load(paths[at], {}, {}).node

        assert (found.node, found.address, found.ready) == (config.name, config.address, True)
        assert found.http_address == config.http_address
        assert found.cluster_id == (await topology(paths[0])).cluster_id
        assert [(each.name, each.version) for each in found.plugins] == [("toy", "1")]
        assert list(found.alarms) == []
        metadata, *others = found.shards
        assert [each.shard for each in others] == ["toy/0", "toy/1"]
        assert (metadata.shard, metadata.role, metadata.leader) == (
            "metadata/0",
            "leader",
            config.name,
        )
        assert 0 < metadata.applied_index <= metadata.commit_index <= metadata.last_index
        assert metadata.commands_applied > 0
        assert {each.node for each in metadata.followers} == {"n1", "n2", "n3"} - {config.name}
        assert all(each.voter for each in metadata.members)


async def test_a_node_tells_which_replicas_it_has_not_opened_yet(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path):
        pass

    # As on a node with many shards, only metadata/0 opens at the start; here no other ever does.
    kept = partial(NodeShards, at_once=0)
    monkeypatch.setattr("quorate.node.replicas.NodeShards", kept)
    monkeypatch.setattr(Unopened, "_go_on", lambda _: None)
    async with nodes.started(path):
        found = await status(path)
        assert [each.shard for each in found.shards] == ["metadata/0"]
        assert list(found.unopened) == ["toy/0", "toy/1"]


async def test_a_status_has_no_replicas_where_none_are_asked_for(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path), operator(path) as stub:
        request = admin_pb2.NodeStatusRequest(without_replicas=True)
        found = await stub.Status(request, timeout=20, wait_for_ready=True)

        assert (found.node, list(found.shards)) == ("n1", [])
        assert (await status(path)).shards


async def test_a_node_answers_before_it_has_a_cluster(nodes: Nodes) -> None:
    first, _ = nodes.files(2)
    node = nodes.new(first)
    starting = asyncio.create_task(node.start())
    try:
        found = await status(first)
        assert (found.node, found.ready, found.cluster_id) == ("n1", False, b"")
        assert list(found.shards) == []
        known = await topology(first)
        assert [each.node for each in known.nodes] == ["n1", "n2"]
        with pytest.raises(grpc.aio.AioRpcError, match="this node is starting"):
            await transfer(first, "metadata/0", "n2")
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await node.stop()


async def test_a_node_answers_without_a_majority(nodes: Nodes) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths) as [node, *others]:
        await asyncio.gather(*(other.stop() for other in others))
        await until(lambda: all(shard.leader is None for shard in node.shards.all()))

        assert [each.leader for each in (await topology(paths[0])).shards] == ["", "", ""]
        assert [each.leader for each in (await status(paths[0])).shards] == ["", "", ""]


async def test_what_an_operator_must_look_after_is_an_alarm(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = nodes.files(1)
    path.write_text(path.read_text().replace("heartbeat_ms = 30", "heartbeat_ms = 100"))
    async with nodes.started(path) as [node]:
        monkeypatch.setattr(FreeSpace, "short", True)
        replica = next(iter(node.shards.all()))
        monkeypatch.setattr(LogicalClock, "alarm", "n1 is -9000 ms away")

        caution, shortage, *clocks = (await status(path)).alarms
        monkeypatch.setattr(FreeSpace, "short", False)

        assert "under three heartbeats" in caution
        # Said once, although every shard is short of it.
        assert "must be free" in shortage
        assert f"shard {replica.id}: n1 is -9000 ms away" in clocks


async def test_nodes_that_declare_different_shards_are_an_alarm(nodes: Nodes) -> None:
    first, second = nodes.files(2)
    second.write_text(second.read_text() + "\n[groups.toy]\nshards = 3\n")
    made = [nodes.new(first), nodes.new(second)]
    try:
        async with asyncio.timeout(20):
            await asyncio.gather(*(node.start() for node in made))
            while not any(node.shards.difference for node in made):
                await asyncio.sleep(0.01)
        said = [*(await status(first)).alarms, *(await status(second)).alarms]
    finally:
        await asyncio.gather(*(node.stop() for node in made))

    assert len(said) == 1
    assert "no shards are created: n1 declares 2 shards of group toy and n2 3 shards" in said[0]


# Who leads.


async def test_a_leader_goes_where_it_is_sent(nodes: Nodes) -> None:
    paths = nodes.files(3, election_ms=1_000)
    async with nodes.started(*paths) as started:
        at = leader_of(started, "toy/0")
        heir = (at + 1) % 3

        await transfer(paths[at], "toy/0", f"n{heir + 1}")

        # The node that was asked knows the new leader when it answers.
        place = next(p for p in (await topology(paths[at])).shards if p.group == "toy")
        assert place.leader == f"n{heir + 1}"
        # Asking for what is so already is no error.
        await transfer(paths[at], "toy/0", f"n{heir + 1}")
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await transfer(paths[at], "toy/0", f"n{at + 1}")
        assert told(failed).reason == "NO_LEADER"
        assert told(failed).metadata["leader"] == f"n{heir + 1}"


async def test_a_transfer_that_cannot_be_says_why(nodes: Nodes) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths) as started:
        at = leader_of(started, "toy/0")
        dead = started[(at + 1) % 3]
        await dead.stop()
        replica = next(each for each in started[at].shards.all() if str(each.id) == "toy/0")

        def is_silent() -> bool:
            followers = replica.status().replica.followers
            return any(f.peer == dead.me and f.silent_s > 0.3 for f in followers)

        await until(is_silent)
        for shard, node, reason in [
            ("toy/0", dead.me.node, "it holds the log up to index .* when it has caught up"),
            ("toy/0", "n9", "n9 is not another voter of this shard"),
            ("toy/7", "n1", "group toy has the shards 0, 1"),
            ("toys/0", "n1", "there is no group toys"),
        ]:
            with pytest.raises(grpc.aio.AioRpcError, match=reason):
                await transfer(paths[at], shard, node)
        # Writes were never stopped for it.
        assert replica.leads


async def test_leaders_are_spread(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_balance, "QUIET_S", 0.3)
    monkeypatch.setattr(leader_balance, "_TICK_S", 0.05)
    paths = nodes.files(3, election_ms=1_000)
    async with nodes.started(*paths) as started:

        def led() -> list[int]:
            return sorted(sum(s.leads for s in node.shards.all()) for node in started)

        looks = 0
        choose = leader_balance.choose

        def noted(me: str, leaderships: Sequence[Leadership]) -> Transfer | None:
            nonlocal looks
            looks += me == "n1"
            return choose(me, leaderships)

        monkeypatch.setattr(leader_balance, "choose", noted)
        for shard in ("toy/0", "toy/1", "metadata/0"):
            at = leader_of(started, shard)
            await transfer(paths[at], shard, "n1")
        looks = 0
        await until(lambda: looks >= 5)

        # Each replica knows it by now, whichever node comes to lead the shard or metadata/0.
        assert led() == [0, 0, 3]
        found = [shard.placement for node in started for shard in node.shards.all()]
        assert {placed and placed.node for placed in found} == {"n1"}
        monkeypatch.setattr(leader_balance, "PLACED_S", 0.0)
        await until(lambda: led() == [1, 1, 1])


# Controllers.


def counting(nodes: Nodes, runs: list[tuple[str, ShardRef]]) -> Catalog:
    """Return a catalog whose plugin has a controller that writes each of its runs down."""

    async def run_once(api: NodeApi, shard: ShardRef) -> None:
        runs.append(("run", shard))
        await api.propose(StringValue(value=f"run={len(runs)}"), StringValue)

    controller = Controller(
        name="toy.counting",
        group="toy",
        run_once=run_once,
        interval_s=3_600.0,
        wake_on=("toy.rows",),
    )
    return replace(nodes.catalog(), controllers={controller.name: controller})


async def test_a_controller_runs_on_the_leader_alone(nodes: Nodes) -> None:
    runs: list[tuple[str, ShardRef]] = []
    paths = nodes.files(3)
    async with nodes.started(*paths, serving=counting(nodes, runs)) as started:
        await until(lambda: len(runs) >= 2)
        assert {(shard.group, shard.shard) for _, shard in runs} == {("toy", 0)}
        at = leader_of(started, "toy/0")
        [report] = (await status(paths[at])).controllers
        assert (report.name, report.shard) == ("toy.counting", "toy/0")
        assert list((await status(paths[at - 1])).controllers) == []


async def test_a_controller_is_woken_by_each_change(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_REWATCH_S", 3_600.0)
    runs: list[tuple[str, ShardRef]] = []
    [path] = nodes.files(1)
    async with nodes.started(path, serving=counting(nodes, runs)):
        # It wakes itself by what it writes; nothing else does but for the watch's beginning.
        await until(lambda: len(runs) >= 4)


async def test_a_controller_is_paused_and_resumed(nodes: Nodes) -> None:
    runs: list[tuple[str, ShardRef]] = []
    [path] = nodes.files(1)
    async with nodes.started(path, serving=counting(nodes, runs)) as [node], operator(path) as stub:
        await until(lambda: len(runs) >= 2)
        await stub.PauseController(admin_pb2.PauseControllerRequest(name="toy.counting"))
        assert list((await status(path)).paused) == ["toy.counting"]
        await until(
            lambda: all(each.state == "paused" for each in node.leader_tasks.runner.status())
        )
        seen = len(runs)
        await nodes.say(node.api, "a=1")

        await stub.ResumeController(admin_pb2.ResumeControllerRequest(name="toy.counting"))
        await until(lambda: len(runs) > seen)
        assert list((await status(path)).paused) == []
        with pytest.raises(grpc.aio.AioRpcError, match=r"toy\.other is not declared"):
            await stub.PauseController(admin_pb2.PauseControllerRequest(name="toy.other"))


async def test_a_controller_that_keeps_failing_is_an_alarm(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run_once(api: NodeApi, shard: ShardRef) -> None:
        raise OSError("there is no such bucket")

    monkeypatch.setattr(runner, "Backoff", lambda *_: Backoff(0.01, 0.01))
    controller = Controller(name="toy.failing", group="toy", run_once=run_once, interval_s=1.0)
    serving = replace(nodes.catalog(), controllers={controller.name: controller})
    [path] = nodes.files(1)
    async with nodes.started(path, serving=serving) as [node]:
        await until(lambda: any(each.failures > 2 for each in node.leader_tasks.runner.status()))
        [alarm] = (await status(path)).alarms
        assert alarm.startswith("controller toy.failing of shard toy/0 keeps failing: OSError: ")


# Backups.


async def fetch(path: Path, directory: Path) -> list[str]:
    """Back a node up, and return the files in the order in which they came."""
    target, files = BackupTarget(directory), []
    async with operator(path) as stub:
        async for part in stub.Backup(admin_pb2.BackupRequest(), timeout=20):
            target.take(part)
            if part.path not in files:
                files.append(part.path)
    assert target.finished
    return files


@pytest.mark.ci
async def test_a_node_that_was_restored_is_a_cluster_of_its_own(
    nodes: Nodes, tmp_path: Path
) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths) as started:
        for number in range(20):
            await nodes.say(started[0].api, f"k{number:02}={number}")
        old = (await topology(paths[0])).cluster_id
        files = await fetch(paths[0], tmp_path / "backup")
        await nodes.say(started[0].api, "late=1")
    folders = list(dict.fromkeys(name.partition("/")[0] for name in files))
    assert folders == ["toy-0", "toy-1", "metadata-0", MANIFEST]

    (tmp_path / "other").mkdir()
    # Its cluster is there already: the members that its file names are not waited for.
    [path, *_] = type(nodes)(tmp_path / "other").files(3)
    settings = load(path, {"toy": nodes.section}, {})
    await asyncio.to_thread(restore, tmp_path / "backup", settings)

    for _ in range(2):
        async with nodes.started(path) as [node]:
            values = await nodes.values(node.api, "k")
            assert sorted(values, key=int) == list(map(str, range(20)))
            place = await topology(path)
            assert place.cluster_id != old
            assert [each.node for each in place.nodes] == ["n1"]
            assert all(list(each.nodes) == ["n1"] for each in place.shards)
            assert {each.generation for each in (await status(path)).shards} == {1}
            await nodes.say(node.api, "z=9")


async def test_there_is_one_backup_of_a_node_at_a_time(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path) as [node], operator(path) as stub:
        async with aclosing(node.operations.backups.back_up()) as first:
            await anext(first)
            with pytest.raises(grpc.aio.AioRpcError, match="a backup of n1 is under way"):
                await stub.Backup(admin_pb2.BackupRequest(), timeout=20).read()
        folders = sorted(load(path, {}, {}).node.dir.glob("shards/*/*/*/"))

        parts = [part async for part in stub.Backup(admin_pb2.BackupRequest(), timeout=20)]

        assert parts[-1].path == MANIFEST
        # Neither of them left its copies behind.
        assert sorted(load(path, {}, {}).node.dir.glob("shards/*/*/*/")) == folders
        assert len(folders) == 3


async def test_a_backup_has_each_shard_before_or_after_all_splits(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path) as [node]:
        async with aclosing(node.operations.backups.back_up()) as parts:
            await anext(parts)
            moved = copy(node.shards.slot_map)
            vars(moved)["_versions"] = {METADATA: 9}
            monkeypatch.setattr(node.shards, "slot_map", moved)
            with pytest.raises(BackupError, match="a shard was split or merged meanwhile"):
                async for _ in parts:
                    pass
        vars(moved)["changing"] = (METADATA,)
        with pytest.raises(BackupError, match="shard metadata/0 is being split or merged"):
            await anext(node.operations.backups.back_up())


async def test_a_node_that_stops_ends_its_backup(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with (
        nodes.started(path) as [node],
        aclosing(node.operations.backups.back_up()) as parts,
    ):
        await anext(parts)
        node.operations.backups.stop()
        with pytest.raises(UnreadableError, match="back up another node"):
            await anext(parts)


async def test_a_restore_goes_into_an_empty_directory(nodes: Nodes, tmp_path: Path) -> None:
    [path] = nodes.files(1)
    settings = load(path, {"toy": nodes.section}, {})
    async with nodes.started(path):
        await fetch(path, tmp_path / "backup")
        with pytest.raises(BackupError, match=r"is not empty: restore into an empty node\.dir"):
            restore(tmp_path / "backup", settings)


async def test_without_a_backup_nothing_is_begun(nodes: Nodes, tmp_path: Path) -> None:
    [path] = nodes.files(1)
    settings = load(path, {"toy": nodes.section}, {})
    (tmp_path / "backup").mkdir()

    with pytest.raises(BackupError, match="it is no backup, or an unfinished one"):
        restore(tmp_path / "backup", settings)
    assert not settings.node.dir.exists()


async def test_a_node_does_not_start_on_a_part_of_a_backup(nodes: Nodes, tmp_path: Path) -> None:
    [path, other] = nodes.files(2)
    text = path.read_text().splitlines()
    path.write_text("\n".join(line for line in text if not line.strip().startswith("n2 =")))
    settings = load(other, {"toy": nodes.section}, {})
    async with nodes.started(path):
        await fetch(path, tmp_path / "backup")
    next((tmp_path / "backup" / "toy-1").iterdir()).unlink()

    with pytest.raises(BackupError, match="shard toy/1 cannot be restored"):
        restore(tmp_path / "backup", settings)
    assert unfinished(settings.node.dir).exists()
    with pytest.raises(UnfinishedRestoreError, match="restore again"):
        nodes.new(other)

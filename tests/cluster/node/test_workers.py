"""Machines with several workers: real processes behind one port, killed and ended."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from quorate.cli.main import main
from quorate.client import AsyncClient, UnavailableError, connect
from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import PATIENCE_S, until
from quorate.v1 import admin_pb2 as pb

ADMIN = "/quorate.v1.AdminService"
_SERVE = """
import sys
from quorate.cli.main import main
from quorate.testing.program import end_with_parent
end_with_parent()
sys.exit(main())
"""


class Machine:
    """`quorate serve` with workers, and what it answers."""

    def __init__(self, directory: Path, name: str, port: int, file: str) -> None:
        self.name = name
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self.file = directory / f"{name}.toml"
        self.file.write_text(
            f'[node]\nname = "{name}"\nport = {port}\ndir = "{directory}/{name}"\n{file}'
        )
        self.program = Program(name, directory / f"{name}.log")

    def start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}
        command = [sys.executable, "-c", _SERVE, "serve", "--config", str(self.file)]
        self.program.start(command, environment)

    def get(self, path: str) -> str:
        """Return what it answers over HTTP; empty while it answers nothing or an error."""
        url = f"http://127.0.0.1:{self.port + 100}{path}"
        with suppress(URLError, OSError), urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())
        return ""

    def problems(self) -> str:
        """Return what it waits for until it is ready."""
        try:
            with urlopen(f"http://127.0.0.1:{self.port + 100}/readyz", timeout=10):
                return ""
        except HTTPError as error:
            return str(error.read().decode())
        except OSError:
            return ""

    def ready(self) -> None:
        def is_ready() -> bool | None:
            assert self.program.runs, self.program.said
            return self.get("/readyz") == "ready\n" or None

        until(is_ready)

    def worker(self, name: str) -> int:
        """Return the process of a worker."""
        children = Path(f"/proc/{self.program.pid}/task/{self.program.pid}/children").read_text()
        for child in map(int, children.split()):
            command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if name.rpartition(".")[2].encode() == command[command.index(b"--worker") + 1]:
                return child
        raise AssertionError(f"{name} does not run")


@contextmanager
def machines(
    directory: Path, names: tuple[str, ...], groups: Mapping[str, int], *, spare: int = 0
) -> Iterator[list[Machine]]:
    """Start machines of two workers that found a cluster; there are ports for `spare` more.

    `groups` are the shards and replicas of metadata.
    """
    each_has = range(3 + spare)
    distances = [each + 10 * number for number in range(len(names)) for each in each_has]
    ports = free_ports(*distances, *(100 + each for each in distances))
    firsts = [ports[0] + 10 * number for number in range(len(names))]
    members = "\n".join(
        f'{name} = "127.0.0.1:{port}"' for name, port in zip(names, firsts, strict=True)
    )
    sections = "\n".join(f"{key} = {value}" for key, value in groups.items())
    file = f"""workers = 2
[cluster.initial_members]
{members}
[groups.metadata]
{sections}
[timing]
heartbeat_ms = 50
election_min_ms = 400
election_max_ms = 800
"""
    made = [Machine(directory, name, port, file) for name, port in zip(names, firsts, strict=True)]
    try:
        for each in made:
            each.start()
        for each in made:
            each.ready()
        yield made
    finally:
        for each in made:
            each.program.close()


async def placement(client: AsyncClient) -> pb.PlacementResponse:
    return await client.call(f"{ADMIN}/Placement", pb.PlacementRequest(), pb.PlacementResponse)


async def status_of(client: AsyncClient, node: str) -> pb.NodeStatusResponse:
    """Ask a node; a connection to one that was killed is tried again only after a while."""
    asked = client.at(node)
    while True:
        with suppress(UnavailableError):
            return await asked.call(
                f"{ADMIN}/Status", pb.NodeStatusRequest(), pb.NodeStatusResponse
            )
        await asyncio.sleep(0.05)


@pytest.mark.ci
async def test_a_worker_that_is_killed_is_started_again_and_no_client_notices(
    tmp_path: Path,
) -> None:
    """Two workers share the shards, behind one port; then they end together, and begin again."""
    with machines(tmp_path, ("q1",), {"shards": 5, "replicas": 1}) as [machine]:
        answered: dict[str, str] = {}
        failed: list[Exception] = []
        over = False

        async def write(client: AsyncClient, writer: int) -> None:
            for number in count():
                if over:
                    return
                key, value = f"key{writer}-{number % 10}/k", str(number)
                try:
                    await client.kv.put(key, value.encode())
                except Exception as error:  # noqa: BLE001 - it is what the test counts
                    failed.append(error)
                else:
                    answered[key] = value
                await asyncio.sleep(0.005)

        async with connect(machine.address, exactly_once=True) as client:
            found = await placement(client)
            assert [(each.node, each.machine) for each in found.nodes] == [
                ("q1.1", "q1"),
                ("q1.2", "q1"),
            ]
            # Each of the four placed shards has one replica, and each worker its share.
            assert [each.replicas for each in found.nodes] == [2, 2]
            writing = [asyncio.create_task(write(client, each)) for each in range(5)]
            for name in ("q1.1", "q1.2"):
                before = machine.worker(name)
                os.kill(before, signal.SIGKILL)
                await asyncio.to_thread(until, lambda: machine.get("/readyz") != "ready\n" or None)
                await asyncio.to_thread(machine.ready)
                assert machine.worker(name) != before
                # Writers go on at all shards.
                answered.clear()
                async with asyncio.timeout(PATIENCE_S):
                    while len(answered) < 50 and not failed:
                        await asyncio.sleep(0.01)
            over = True
            await asyncio.gather(*writing)
            assert not failed, failed[0]
            metrics = machine.get("/metrics")
            for name in ("q1.1", "q1.2"):
                assert f'quorate_worker_starts_total{{worker="{name}"}} 2.0' in metrics
                assert f'quorate_node_ready{{worker="{name}"}} 1.0' in metrics
            topology = await client.topology()
            for each in topology.nodes:
                async with asyncio.timeout(PATIENCE_S):
                    status = await status_of(client, each.node)
                assert (status.node, status.machine) == (each.node, "q1")

        workers = [machine.worker(name) for name in ("q1.1", "q1.2")]
        assert machine.program.end(signal.SIGTERM) == 0
        assert not any(Path(f"/proc/{each}").exists() for each in workers)
        machine.start()
        machine.ready()
        async with connect(machine.address) as client:
            stored = {row.key.decode(): row.value.decode() async for row in client.kv.list("key")}
        assert stored == answered
        # Whatever ends the process, its workers end too, and leave their ports.
        os.kill(machine.program.pid, signal.SIGKILL)
        machine.program.wait()
        machine.start()
        machine.ready()


@pytest.mark.ci
async def test_the_workers_of_two_machines_found_a_cluster(tmp_path: Path) -> None:
    """The replicas of a shard are on both machines, never on two workers of one."""
    with machines(tmp_path, ("q1", "q2"), {"shards": 5, "replicas": 2}) as [first, second]:
        async with connect(second.address) as client:
            await client.kv.put("a/k", b"1")
            found = await placement(client)
            assert [(each.node, each.machine, each.replicas) for each in found.nodes] == [
                ("q1.1", "q1", 2),
                ("q1.2", "q1", 2),
                ("q2.1", "q2", 2),
                ("q2.2", "q2", 2),
            ]
            for shard in (await client.topology()).shards:
                if shard.group == "metadata" and shard.number:
                    assert {node.split(".")[0] for node in shard.nodes} == {"q1", "q2"}
        async with connect(first.address) as client:
            assert await client.kv.get("a/k") is not None


@pytest.mark.ci
async def test_a_worker_is_added_and_removed(tmp_path: Path) -> None:
    with machines(tmp_path, ("q1",), {"shards": 5, "replicas": 1}, spare=1) as [machine]:
        async with connect(machine.address) as client:
            await client.kv.put("a/k", b"1")
        assert machine.program.end(signal.SIGTERM) == 0
        text = machine.file.read_text()
        own = f"127.0.0.1:{machine.port + 1}"
        before, _, after = text.partition("[cluster.initial_members]")
        groups = after.partition("[groups")[2]
        machine.file.write_text(
            before.replace("workers = 2", "workers = 3")
            + f'[cluster.join]\n"q1.1" = "{own}"\n[groups{groups}'
        )
        machine.start()
        async with asyncio.timeout(2 * PATIENCE_S), connect(own) as client:
            while "waiting to be added" not in machine.program.said:
                await asyncio.sleep(0.05)
            added = pb.AddMemberRequest(node="q1.3", address=f"127.0.0.1:{machine.port + 3}")
            async for _ in client.stream(f"{ADMIN}/AddMember", added, pb.MemberProgress):
                pass
            await asyncio.to_thread(machine.ready)
            while sorted(each.replicas for each in (await placement(client)).nodes) != [1, 1, 2]:
                await asyncio.sleep(0.05)
            assert await client.kv.get("a/k") is not None
            removed = pb.RemoveMemberRequest(node="q1.3", force=True)
            async for _ in client.stream(f"{ADMIN}/RemoveMember", removed, pb.MemberProgress):
                pass
            while "q1.3 was removed from the cluster" not in machine.problems():
                await asyncio.sleep(0.05)
            # The others go on.
            assert await client.kv.get("a/k") is not None
        assert machine.program.end(signal.SIGTERM) == 0
        machine.file.write_text(machine.file.read_text().replace("workers = 3", "workers = 2"))
        machine.start()
        machine.program.wait()
        assert "holds q1.3, and node.workers is 2" in machine.program.said
        shutil.rmtree(tmp_path / "q1" / "q1.3")
        machine.start()
        machine.ready()
        # What is saved through the one port begins again as the first worker of another machine.
        saved, other = tmp_path / "saved", tmp_path / "q9.toml"
        asked = ["backup", str(saved), "--endpoints", machine.address]
        assert await asyncio.to_thread(main, asked) == 0
        text = machine.file.read_text().replace('name = "q1"', 'name = "q9"')
        other.write_text(text.replace(f"{tmp_path}/q1", f"{tmp_path}/q9"))
        assert await asyncio.to_thread(main, ["restore", str(saved), "--config", str(other)]) == 0
        shards = sorted(each.name for each in (tmp_path / "q9/q9.1/shards/metadata").iterdir())
        assert shards == ["0", "1", "2", "3", "4"]

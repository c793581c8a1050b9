"""Nodes that go from one release to the next and back, as wheels, under load."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from quorate.apply.levels import CORE_LEVEL
from quorate.client import connect
from quorate.testing.cluster import Cluster
from quorate.testing.cluster.node_process import NodeProcess

from tests.support.paced_writes import TURN_S, writing
from tests.support.releases import CORE, OLDER, installed, older

WRITES_A_SECOND = 300


@pytest.mark.full
async def test_a_cluster_is_rolled_up_and_down_and_up_under_load(tmp_path: Path) -> None:
    old, new = await asyncio.gather(
        asyncio.to_thread(lambda: installed(older(tmp_path), tmp_path / "old")),
        asyncio.to_thread(installed, CORE, tmp_path / "new"),
    )
    assert CORE_LEVEL > 1
    loop = asyncio.get_running_loop()
    cluster = Cluster(tmp_path / "cluster")
    for node in cluster.nodes.values():
        node.packages = old

    async def roll(node: NodeProcess, packages: Path) -> None:
        before = len(acknowledged)
        assert await asyncio.to_thread(node.stop) == 0
        node.packages = packages
        node.start()
        await asyncio.to_thread(node.ready)
        assert len(acknowledged) > before

    async def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "quorate.cli", "upgrade", *arguments]
        return await asyncio.to_thread(
            subprocess.run,
            [*command, "--endpoints", cluster.endpoints],
            capture_output=True,
            text=True,
            check=False,
        )

    def versions() -> list[str]:
        found = [node.report() for node in cluster.nodes.values()]
        return [each.version for each in found if each is not None]

    with cluster:
        await asyncio.to_thread(cluster.ready)
        nodes = list(cluster.nodes.values())
        assert versions() == [OLDER] * 3
        async with connect(cluster.endpoints) as client:
            begun = loop.time()
            async with writing(client, WRITES_A_SECOND) as acknowledged:
                for packages in (new, old, new):
                    for number, node in enumerate(nodes):
                        await roll(node, packages)
                        if packages is new and number < 2:
                            refused = await run("finish", "--yes")
                            assert refused.returncode == 1
                            assert f"({OLDER}, level 1)" in refused.stderr
                    assert len(set(versions())) == 1
                while (checked := await run("check")).returncode:
                    await asyncio.sleep(TURN_S)
                assert "to be finished" in checked.stdout
                finished = await run("finish", "--yes")
                assert f"core is at level {CORE_LEVEL}" in finished.stdout
                # From here on there is no way back.
                assert await asyncio.to_thread(nodes[0].stop) == 0
                nodes[0].packages = old
                nodes[0].start()
                assert await asyncio.to_thread(nodes[0].wait) != 0
                assert f"quorate {OLDER} is too old for the cluster of node1" in nodes[0].said
                nodes[0].packages = new
                nodes[0].start()
                await asyncio.to_thread(nodes[0].ready)
                rolled_s = loop.time() - begun
            found = {row.key.decode() async for row in client.kv.list("rolled/")}
    lost = set(acknowledged) - found
    print(f"{len(acknowledged)} writes in {rolled_s:.0f} s: 0 failed, {len(lost)} lost")
    assert not lost
    # Each that was due by then was sent, and each that was sent was acknowledged.
    assert len(acknowledged) >= WRITES_A_SECOND * (rolled_s - TURN_S)

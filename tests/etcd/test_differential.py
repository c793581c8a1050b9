"""A stock server answers the same: code, text, body and events of a random script."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports

from tests.support.etcd import stock
from tests.support.etcd.comparing import Comparison
from tests.support.etcd.peers import Peer
from tests.support.etcd.scripts import Script

pytestmark = pytest.mark.skipif(
    stock.PROGRAM is None, reason="there is no program etcd: apt-get install etcd-server"
)


async def compare(directory: Path, seed: int, steps: int) -> None:
    [port] = free_ports(0)
    with stock.Etcd(directory) as server:
        async with MemoryNode(["etcd"], config={"etcd": {"port": port}}, at_ms=1_000_000):
            ours, theirs = Peer(port), Peer(server.port)
            await Comparison(Script(Random(seed)), ours, theirs).run(steps)
            await asyncio.gather(ours.close(), theirs.close())


@pytest.mark.ci
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_short_script(tmp_path: Path, seed: int) -> None:
    await compare(tmp_path, seed, 500)


@pytest.mark.full
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("seed", range(100, 120))
async def test_a_long_script(tmp_path: Path, seed: int) -> None:
    await compare(tmp_path, seed, 10_000)

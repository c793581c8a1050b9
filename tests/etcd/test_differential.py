"""A stock server of this release answers the same: code, text, body and events of a script."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports

from tests.support.etcd import newest, stock
from tests.support.etcd.comparing import Comparison
from tests.support.etcd.peers import Peer
from tests.support.etcd.scripts import Script


@pytest.fixture(scope="session")
def server() -> str:
    """Return the program of a server of the release whose API is served."""
    program = newest.built()
    if program is None:
        pytest.skip("etcd is built with Go, which is not here, or cannot fetch its module")
    return program


async def compare(directory: Path, program: str, seed: int, steps: int) -> None:
    [port] = free_ports(0)
    with stock.Etcd(directory, program) as reference:
        async with MemoryNode(["etcd"], config={"etcd": {"port": port}}, at_ms=1_000_000):
            ours, theirs = Peer(port), Peer(reference.port)
            await Comparison(Script(Random(seed)), ours, theirs).run(steps)
            await asyncio.gather(ours.close(), theirs.close())


@pytest.mark.ci
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_short_script(tmp_path: Path, server: str, seed: int) -> None:
    await compare(tmp_path, server, seed, 500)


@pytest.mark.full
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("seed", range(100, 120))
async def test_a_long_script(tmp_path: Path, server: str, seed: int) -> None:
    await compare(tmp_path, server, seed, 10_000)

"""A stock server of this release answers the same: code, text, body and events of a script."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate_etcd.store import history, ranges, sweeping
from quorate_etcd.store.writing import Writing

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


async def compare(
    directory: Path, program: str, seed: int, steps: int, *, timers: bool = False
) -> None:
    [port] = free_ports(0)
    with stock.Etcd(directory, program, syncs=False) as reference:
        node = MemoryNode(["etcd"], config={"etcd": {"port": port}}, at_ms=1_000_000)
        async with node, asyncio.TaskGroup() as tasks:
            ours, theirs = Peer(port), Peer(reference.port)
            clock = tasks.create_task(run_timers(node)) if timers else None
            await Comparison(Script(Random(seed)), ours, theirs).run(steps)
            if clock is not None:
                clock.cancel()
            await asyncio.gather(ours.close(), theirs.close())


async def run_timers(node: MemoryNode) -> None:
    """Write sweeps out, and let no lease of the script end."""
    while True:
        await node.advance(1)
        await asyncio.sleep(0.01)


def one_by_one(writing: Writing, named: Sequence[bytes]) -> bool:
    """Have all deletions be sweeps, but those of keys that the transaction itself has changed."""
    return not named or writing.changed


@pytest.mark.timeout(3_000)
@pytest.mark.parametrize(
    ("seed", "steps"),
    [
        pytest.param(3, 1_000, marks=pytest.mark.ci),
        pytest.param(4, 1_000, marks=pytest.mark.ci),
        pytest.param(5, 10_000, marks=pytest.mark.full),
    ],
)
async def test_a_script_whose_deletions_are_sweeps(
    tmp_path: Path, server: str, seed: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Writing, "takes", one_by_one)
    monkeypatch.setattr(sweeping, "_STEP", 1)
    monkeypatch.setattr(history, "_PAGE_ROWS", 3)
    monkeypatch.setattr(ranges, "_PAGE_ROWS", 2)
    await compare(tmp_path, server, seed, steps, timers=True)


@pytest.mark.ci
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_short_script(tmp_path: Path, server: str, seed: int) -> None:
    await compare(tmp_path, server, seed, 500)


@pytest.mark.full
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("seed", range(100, 120))
async def test_a_long_script(tmp_path: Path, server: str, seed: int) -> None:
    await compare(tmp_path, server, seed, 10_000)

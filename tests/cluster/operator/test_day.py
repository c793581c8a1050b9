"""A day of an operator in ten minutes, while exactly-once clients go on.

QUORATE_DAY_S is how long it takes: what is due is done again and again until it is over.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

import pytest
from quorate.apply.levels import CORE_LEVEL
from quorate.client import AsyncClient, Client, connect
from quorate.config import load
from quorate.node.directory import restore
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster, NodeProcess
from quorate.testing.cluster.cluster import Settings
from quorate.testing.waiting import PATIENCE_S, until

from tests.support import damage
from tests.support.releases import CORE, OLDER, installed, older

DAY_S: Final = float(os.environ.get("QUORATE_DAY_S", "600"))
SETTINGS: Final[Settings] = {
    "timing": QUICK_ELECTIONS,
    "storage": {"log_tail_entries": 500},
    "groups": {"metadata": {"shards": 4, "replicas": 3}},
    "scrub": {"file_bytes_per_s": 64 << 20, "row_bytes_per_s": 1 << 20},
}
WRITERS: Final = 4
#: Nobody counts on an answer sooner: an operator works on the cluster, and the machine is busy.
ANSWER_S: Final = 2 * PATIENCE_S
PAUSE_S: Final = 0.05


class Day:
    """A cluster of four nodes, its clients, and what is done to it."""

    def __init__(self, cluster: Cluster, directory: Path, rng: Random) -> None:
        self.cluster: Final = cluster
        self.directory: Final = directory
        self.rng: Final = rng
        #: The pairs that were acknowledged, and the calls that failed.
        self.written: Final[dict[bytes, bytes]] = {}
        self.failed: Final[list[str]] = []
        self._numbers: Final = count()
        self._joined: Final = set[str]()

    # The clients.

    @asynccontextmanager
    async def clients(self) -> AsyncIterator[None]:
        """Write and read all the time."""
        over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(WRITERS):
                group.create_task(self._work(number, over))
            try:
                yield
            finally:
                over.set()

    async def _work(self, number: int, over: asyncio.Event) -> None:
        async with connect(self.cluster.endpoints, exactly_once=True, timeout_s=ANSWER_S) as client:
            for turn in count():
                if over.is_set():
                    return
                # Each of its own first part is in a shard by itself.
                key, value = b"%d.%d/%d" % (number, turn % 16, turn), b"%d" % turn * 20
                try:
                    await client.kv.put(key, value)
                    self.written[key] = value
                    read = await client.kv.get(key)
                    if read is None or read.value != value:
                        self.failed.append(f"{key!r} was acknowledged, and {read} was read")
                except Exception as error:  # noqa: BLE001 - it is what the test counts
                    self.failed.append(f"{key!r}: {type(error).__name__}: {error}")
                await asyncio.sleep(PAUSE_S)

    # The operator.

    def quorate(self, *words: str, code: int | None = 0) -> str:
        """Run a command; again while the cluster is busy with the last one."""
        command = [sys.executable, "-m", "quorate.cli", *words]
        ends_at = time.monotonic() + 2 * PATIENCE_S
        while True:
            done = subprocess.run(
                [*command, "--endpoints", self.cluster.endpoints],
                capture_output=True,
                text=True,
                check=False,
                timeout=5 * PATIENCE_S,
            )
            if code is None or done.returncode == code:
                return done.stdout + done.stderr
            assert time.monotonic() < ends_at, done.stdout + done.stderr
            time.sleep(1)

    def any_node(self) -> NodeProcess:
        """Return a node that something is done to."""
        return self.rng.choice([*self.cluster.nodes.values()])

    def whole(self) -> None:
        """Wait until every node is ready, and every shard has its replicas."""
        until(lambda: all(node.is_ready for node in self.cluster.nodes.values()) or None)
        until(lambda: self._is_whole() or None)

    def _is_whole(self) -> bool:
        reports = [node.report() for node in self.cluster.nodes.values()]
        if any(report is None or report.broken for report in reports):
            return False
        healed = all(each.healed_at_ms for report in reports if report for each in report.damage)
        led = [each for report in reports if report for each in report.shards if each.leader]
        shards = {each.shard for each in led}
        voters = {
            each.shard: sum(member.voter for member in each.members)
            for each in led
            if each.role == "leader"
        }
        return healed and voters.keys() == shards and all(most >= 3 for most in voters.values())

    def kill(self) -> str:
        """Kill a node, and start it again."""
        node = self.any_node()
        node.kill()
        node.start()
        return f"{node.name} was killed"

    def restart(self) -> str:
        """Stop a node in order, and start it again."""
        node = self.any_node()
        assert node.stop() == 0
        node.start()
        return f"{node.name} was restarted"

    def harm(self) -> str:
        """Damage a file of a node that is down, and start it."""
        node = self.any_node()
        node.kill()
        chosen = damage.choose(node.directory, self.rng)
        damage.inflict(node.directory, chosen, self.rng)
        node.start()
        return f"{node.name}: {chosen}"

    def replace(self) -> str:
        """Give a node whose disk is lost another one."""
        node = self.any_node()
        node.kill()
        node.wipe()
        if node.name not in self._joined:
            self._joined.add(node.name)
            text = node.file.read_text()
            assert "[cluster.initial_members]" in text
            node.file.write_text(text.replace("[cluster.initial_members]", "[cluster.join]"))
        node.start()
        until(lambda: node.report() is not None or None)
        asks = "--yes" in self.quorate("member", "replace", "--help")
        self.quorate("member", "replace", node.name, node.address, *(["--yes"] if asks else []))
        return f"{node.name} was replaced"

    def drain(self) -> str:
        """Free a node of replicas that others can have, and give it some again."""
        node = self.any_node()
        self.quorate("node", "drain", node.name)
        self.quorate("node", "undrain", node.name)
        return f"{node.name} was drained"

    def bring_back(self) -> str:
        """Delete rows by mistake, and restore them into the running cluster."""
        number = next(self._numbers)
        backup = str(self.directory / f"backup{number}")
        keys = [f"mistake{number}/{each}" for each in range(5)]
        with Client(self.cluster.endpoints, exactly_once=True, timeout_s=ANSWER_S) as client:
            for key in keys:
                client.kv.put(key, b"kept")
            self.quorate("backup", backup)
            for key in keys:
                client.kv.delete(key)
            self.quorate("restore", backup, "--beside")
            for key in keys:
                pair = client.kv.get(key)
                assert pair is not None, key
                assert pair.value == b"kept"
        return f"{len(keys)} pairs were deleted and came back"

    def upgrade(self, packages: Path) -> None:
        """Install another release on one node after the other."""
        for node in self.cluster.nodes.values():
            assert node.stop() == 0
            node.packages = packages
            node.start()
            node.ready()
            self.whole()

    def versions(self) -> set[str]:
        found = [node.report() for node in self.cluster.nodes.values()]
        return {each.version for each in found if each is not None}


@pytest.mark.full
@pytest.mark.timeout(DAY_S + 1_800)
async def test_no_call_fails_whatever_the_operator_does(tmp_path: Path) -> None:
    old, new = await asyncio.gather(
        asyncio.to_thread(lambda: installed(older(tmp_path), tmp_path / "old")),
        asyncio.to_thread(installed, CORE, tmp_path / "new"),
    )
    seed = int(os.environ.get("QUORATE_DAY_SEED", str(time.time_ns() % 1_000_000)))
    cluster = Cluster(tmp_path / "cluster", 4, settings=SETTINGS, tls=False)
    for node in cluster.nodes.values():
        node.packages = old
    day = Day(cluster, tmp_path, Random(seed))
    began = time.monotonic()

    def note(what: str) -> None:
        # A clock for who reads it, and the seed that repeats it.
        print(f"seed {seed}, {time.monotonic() - began:.0f} s: {what}", flush=True)
        assert not day.failed, (what, day.failed[:5])

    async def do(what: Callable[[], object]) -> None:
        said = await asyncio.to_thread(what)
        await asyncio.to_thread(day.whole)
        note(str(said))

    with cluster:
        await asyncio.to_thread(cluster.ready)
        async with day.clients():
            await do(day.versions)
            await do(day.kill)
            await do(partial(day.upgrade, new))
            await do(partial(day.quorate, "upgrade", "check"))
            await do(partial(day.quorate, "upgrade", "finish", "--yes"))
            # It is not let in any more, and the next start is one with the new release.
            refused = day.any_node()
            assert await asyncio.to_thread(refused.stop) == 0
            refused.packages = old
            refused.start()
            assert await asyncio.to_thread(refused.wait) == 7
            assert f"quorate {OLDER} is too old" in refused.said
            refused.packages = new
            refused.start()
            await do(lambda: f"the upgrade to level {CORE_LEVEL} is finished")
            duties = [day.kill, day.harm, day.replace, day.drain, day.bring_back, day.restart]
            turns = 0
            while turns < len(duties) or time.monotonic() < began + DAY_S:
                await do(duties[turns % len(duties)])
                turns += 1
        note(f"{len(day.written)} writes were acknowledged in {turns} turns, and none failed")
        async with connect(cluster.endpoints, timeout_s=ANSWER_S) as client:
            assert await lost(client, day.written) == {}
        backup = tmp_path / "last"
        day.quorate("backup", str(backup))
    await asyncio.to_thread(restored, tmp_path / "again", backup, day.written)


async def lost(client: AsyncClient, written: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the acknowledged pairs that are not there."""
    there = {pair.key: pair.value async for pair in client.kv.list("")}
    return {key: value for key, value in written.items() if there.get(key) != value}


def restored(directory: Path, backup: Path, written: dict[bytes, bytes]) -> None:
    """Restore the cluster in an empty node, which has every acknowledged pair."""
    with Cluster(directory, nodes=1, settings=SETTINGS, tls=False) as cluster:
        [node] = cluster.nodes.values()
        node.kill()
        if node.directory.exists():
            node.wipe()
        restore(backup, load(node.file, {}, {}))
        node.start()
        cluster.ready()

        async def compared() -> dict[bytes, bytes]:
            async with connect(cluster.endpoints, timeout_s=ANSWER_S) as client:
                return await lost(client, written)

        assert asyncio.run(compared()) == {}

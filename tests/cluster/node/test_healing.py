"""What is damaged on the disk of one node of three is found and healed, and clients go on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Final
from urllib.request import urlopen

import pytest
from quorate.builtin.kv.families import PAIRS
from quorate.client import Client
from quorate.plugin.advanced import Stub
from quorate.storage.engine.port import Batch
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.families import SYSTEM
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster, NodeProcess
from quorate.testing.cluster.cluster import Settings
from quorate.testing.waiting import PATIENCE_S, until
from quorate.v1 import kv_pb2

from tests.support import damage

SETTINGS: Final[Settings] = {
    "timing": QUICK_ELECTIONS,
    "storage": {"log_tail_entries": 100},
    "groups": {"metadata": {"shards": 3}},
    "scrub": {"file_bytes_per_s": 64 << 20, "row_bytes_per_s": 1 << 20},
    "canary": {"period_ms": 2_000},
}
#: The places, separated by commas.
SEEDS: Final = os.environ.get("QUORATE_DAMAGE_SEEDS", ",".join(map(str, range(50))))
KEYS: Final = 200


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param([5], marks=pytest.mark.ci, id="one place"),
        pytest.param([int(each) for each in SEEDS.split(",")], marks=pytest.mark.full, id="fifty"),
    ],
)
@pytest.mark.timeout(7_200)
def test_damage_is_found_and_healed(tmp_path: Path, seeds: Sequence[int]) -> None:
    with Cluster(tmp_path, settings=SETTINGS) as cluster, Writer(cluster.ready()) as writer:
        for seed in seeds:
            rng = Random(seed)
            node = rng.choice([cluster.nodes[name] for name in sorted(cluster.nodes)])
            told = strike(node, rng)
            print(f"seed {seed}: {node.name}: {told}", flush=True)
            with writer.paused():
                for each in cluster.nodes.values():
                    until(partial(holds, each, writer.rows))
            assert not writer.failed, told


@pytest.mark.ci
def test_a_node_heals_again_and_again_in_one_process(tmp_path: Path) -> None:
    with Cluster(tmp_path, settings=SETTINGS) as cluster, Writer(cluster.ready()) as writer:
        until(lambda: len(writer.rows) == KEYS or None)
        node = cluster.followers()[0]
        process = node.pid
        # The log of the node, and the shard that says where all others are.
        for number, damaged in enumerate(("log/CURRENT", "shards/metadata/0/data.*/CURRENT") * 2):
            began_ms = time.time_ns() // 1_000_000
            [path] = node.directory.glob(damaged)
            path.write_bytes(b"")
            until(partial(began_anew, node, number + 1))
            assert node.pid == process
            until(partial(is_healed, node))
            assert found_since(node, began_ms)
        with writer.paused():
            until(partial(holds, node, writer.rows))
        assert not writer.failed


def began_anew(node: NodeProcess, times: int) -> bool | None:
    """Whether a node has given up its directory so often; it must not end."""
    assert node.runs, node.said.splitlines()[-3:]
    return node.said.count("this node gives up its directory") == times or None


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_row_that_differs_is_found_and_healed(tmp_path: Path) -> None:
    # A snapshot would replace the row.
    settings = {**SETTINGS, "storage": {"log_tail_entries": 100_000}}
    with Cluster(tmp_path, settings=settings) as cluster, Writer(cluster.ready()) as writer:
        until(lambda: len(writer.rows) == KEYS or None)
        node = cluster.followers("metadata/1")[0]
        # All checksums are right: only the other replicas know.
        node.kill()
        change_a_row(node.directory / "shards" / "metadata" / "1")
        node.start()
        until(lambda: [each for each in found_since(node, 0) if "differ" in each] or None)
        until(partial(is_healed, node))
        with writer.paused():
            until(partial(holds, node, writer.rows))
        assert not writer.failed


@pytest.mark.ci
def test_a_node_without_room_on_its_disk_leads_nothing_and_comes_back(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, settings=SETTINGS)
    for node in cluster.nodes.values():
        node.failpoint = filling(node)
    with cluster, Writer(cluster.ready()) as writer:
        node = cluster.leader("metadata/1")
        full_disk_of(node).touch()
        until(lambda: (shows_shortage(node) and leads_nothing(node)) or None)
        # A read that this node could only answer from old rows goes on to another.
        until(lambda: len(writer.rows) == KEYS or None)
        with writer.paused():
            assert read_through(node) == writer.rows
        assert leads_nothing(node)
        full_disk_of(node).unlink()
        until(lambda: not shows_shortage(node) or None)
        with writer.paused():
            until(partial(holds, node, writer.rows))
            # The leaders are spread again.
            until(lambda: not leads_nothing(node) or None)
        assert not writer.failed


def fill(node: NodeProcess) -> str:
    """Let the disk of a node be full until others lead its shards; return what was done."""
    full_disk_of(node).touch()
    until(lambda: (shows_shortage(node) and leads_nothing(node)) or None)
    full_disk_of(node).unlink()
    until(lambda: not shows_shortage(node) or None)
    return "a full disk, while it ran: an alarm, and others led its shards"


def full_disk_of(node: NodeProcess) -> Path:
    """Return the file that stands for a full disk of a node."""
    return node.directory.with_suffix(".full")


def filling(node: NodeProcess) -> str:
    """Return the failpoint that lets a node find its disk full."""
    return f"disk.measured=full:{full_disk_of(node)}"


def shows_shortage(node: NodeProcess) -> bool:
    """Whether a node's alarms say that its disk is nearly full."""
    report = node.report()
    return report is not None and any("must be free" in alarm for alarm in report.alarms)


def leads_nothing(node: NodeProcess) -> bool:
    """Whether others lead all shards of a node."""
    report = node.report()
    return report is not None and all(
        shard.leader not in ("", node.name) for shard in report.shards
    )


def change_a_row(home: Path) -> None:
    """Change a row of pairs in the database of a replica."""
    [folder] = home.glob("data.*")
    engine = RocksEngine(folder, [PAIRS, *SYSTEM])
    *_, (key, value) = engine.iterate(PAIRS, b"", None)
    batch = Batch()
    # What the canary and the writer never write.
    batch.put(PAIRS, key + b"never", value)
    engine.write(batch)
    engine.sync()
    engine.close()


def strike(node: NodeProcess, rng: Random) -> str:
    """Damage a node, and wait until it is healed; return what was done, and what was found."""
    # What is in memory alone is in files then, and the files are known.
    node.stop()
    node.failpoint = filling(node)
    node.start()
    node.ready()
    seen = passes(node)
    until(lambda: passes(node) > seen + 1 or None)
    if rng.randrange(damage.PLACES + 1) == 0:
        return fill(node)
    began_ms = time.time_ns() // 1_000_000
    chosen = damage.choose(node.directory, rng)
    runs = rng.random() < 0.5 and chosen.shows_at_once
    if not runs:
        node.kill()
    damage.inflict(node.directory, chosen, rng)
    if runs:
        until(lambda: found_since(node, began_ms) or None)
    else:
        node.start()
    until(partial(is_healed, node))
    how = "while it ran" if runs else "while it was down"
    found = found_since(node, began_ms) or ["nothing that the log does not make good"]
    return f"{chosen}, {how}: {'; '.join(found)}"


def passes(node: NodeProcess) -> int:
    """Return how often a node has read all of its files."""
    with urlopen(f"http://{node.http_address}/metrics") as page:
        lines = page.read().decode().splitlines()
    [found] = (line for line in lines if line.startswith("quorate_scrub_passes_total "))
    return int(float(found.split()[1]))


def found_since(node: NodeProcess, began_ms: int) -> list[str]:
    """Return the damage that a node has found."""
    report = node.report()
    found = () if report is None else report.damage
    return [
        f"{each.shard or 'the node'}: {each.what}; {each.state}"
        for each in found
        if each.found_at_ms >= began_ms
    ]


def is_healed(node: NodeProcess) -> bool | None:
    """Whether a node has all of its replicas, and they vote."""
    report = node.report()
    if report is None or not report.ready or report.broken:
        return None
    votes = [
        any(member.node == node.name and member.voter for member in shard.members)
        for shard in report.shards
        if not shard.stopped
    ]
    whole = len(votes) == len(report.shards) and len(votes) >= 3 and all(votes)
    return (whole and all(each.healed_at_ms for each in report.damage)) or None


class Writer:
    """A client that writes all the time, and counts what failed."""

    def __init__(self, cluster: Cluster) -> None:
        #: What was answered.
        self.rows: dict[bytes, bytes] = {}
        self.failed: list[Exception] = []
        self._cluster = cluster
        self._lock = threading.Lock()
        self._over = False
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Write nothing meanwhile."""
        with self._lock:
            yield

    def _write(self) -> None:
        with Client(self._cluster.endpoints, exactly_once=True, timeout_s=PATIENCE_S) as client:
            for number in count():
                if self._over:
                    return
                key, value = b"%d/k" % (number % KEYS), b"%d" % number * 50
                with self._lock:
                    try:
                        client.kv.put(key, value)
                        self.rows[key] = value
                    except Exception as error:  # noqa: BLE001 - it is what the test counts
                        self.failed.append(error)


def holds(node: NodeProcess, wanted: dict[bytes, bytes]) -> bool | None:
    """Whether these are the rows that a node itself holds: stale reads ask no other."""
    return read_through(node, stale=True) == wanted or None


def read_through(node: NodeProcess, *, stale: bool = False) -> dict[bytes, bytes]:
    """Return the rows that a node answers with."""
    found: dict[bytes, bytes] = {}
    request = kv_pb2.ListPairsRequest(stale=stale)
    with node.channel() as channel:
        kv = Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"])
        while True:
            page = kv.List(request, timeout=PATIENCE_S)
            found |= {pair.key: pair.value for pair in page.pairs}
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

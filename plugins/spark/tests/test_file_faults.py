"""Loads by files of which Spark's processes are killed: finished or gone, never half."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

import pytest
from quorate.testing.waiting import until
from quorate_spark.client import Loads
from quorate_spark.v1.rows_pb2 import Load

from tests.support.spark_files import SHARDS, Site, new_site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from quorate.testing.cluster.node_process import NodeProcess

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

#: Each partition has several parts of a file for each shard.
ROWS: Final = 12_000
#: Two Sparks and three nodes may take so long to do something.
LONG_S: Final = 300.0

#: Loads sessions; the tasks wait for their middle rows if they are to.
DRIVER: Final = """
import sys
from pyspark.sql import SparkSession
from quorate.testing.program import end_with_parent

end_with_parent()
master, endpoints, load_id, count, waits = sys.argv[1:]
spark = (
    SparkSession.builder.master(master)
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.log.level", "ERROR")
    .getOrCreate()
)
half = int(count) // 2
payload = "repeat(string(id), 100)"
if waits == "waits":
    sleep = "reflect('java.lang.Thread', 'sleep', 3600000L)"
    payload = f"if(id % {half} = {half // 2}, {sleep}, {payload})"
rows = spark.range(0, int(count), 1, 2).selectExpr(
    "'acme' as tenant",
    f"concat('{load_id}-', lpad(id, 6, '0')) as client_id",
    "3600L as expiry_interval_s",
    f"cast({payload} as binary) as payload",
)
options = {
    "table": "mqtt.sessions", "endpoints": endpoints, "load_id": load_id, "load.mode": "files",
}
rows.write.format("quorate").mode("append").options(**options).save()
"""


@pytest.fixture
def site(spark: SparkSession, tmp_path: Path) -> Iterator[Site]:
    with new_site(tmp_path) as found:
        yield found


class Job:
    """A Spark that loads, in a session of processes of its own."""

    def __init__(self, site: Site, master: str = "local[2]", waits: str = "") -> None:
        given = [master, site.cluster.endpoints, "one", str(ROWS), waits]
        local = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        command = [sys.executable, "-c", DRIVER, *given]
        self.process: Final = Popen(
            command, start_new_session=True, env={**os.environ, **local}, stdin=PIPE
        )

    def kill_driver(self) -> None:
        """Kill it with its Java; those that run tasks end when they notice."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_workers(self) -> None:
        """Kill all Python but the driver, and wait for what becomes of the job."""
        for pid in self._named(b"pyspark.daemon"):
            os.kill(pid, signal.SIGKILL)
        assert self.process.wait(LONG_S) != 0

    def kill_an_executor(self) -> None:
        """Kill one of those that are processes of their own."""
        os.kill(self._named(b"CoarseGrainedExecutorBackend")[0], signal.SIGKILL)

    def ended(self) -> bool:
        """Tell whether nothing of it runs."""
        return not self._named(b"")

    def _named(self, word: bytes) -> list[int]:
        found = []
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            # What ends meanwhile is passed over; what has ended has no command line.
            with suppress(OSError):
                pid, said = int(place.parent.name), place.read_bytes()
                if said and word in said and os.getsid(pid) == self.process.pid:
                    found.append(pid)
        return sorted(found)


@contextmanager
def job(site: Site, master: str = "local[2]", waits: str = "") -> Iterator[Job]:
    """Load for as long as the block takes, and kill what loads at its end."""
    running = Job(site, master, waits)
    try:
        yield running
    finally:
        running.kill_driver()
        if running.process.stdin is not None:
            running.process.stdin.close()
        wait_for(running.ended)


def wait_for(found: Callable[[], object], running: Job | None = None) -> None:
    """Wait until something is so, while a job runs."""
    deadline = monotonic() + LONG_S
    while not found():
        assert running is None or running.process.poll() is None, "the job has ended"
        assert monotonic() < deadline, f"it did not come in {LONG_S} s"
        sleep(0.05)


def kill(running: Job, victim: str) -> None:
    if victim == "driver":
        running.kill_driver()
    else:
        running.kill_workers()


def state(site: Site) -> str:
    view = Loads(site.client).get("one")
    return "" if view is None else Load.State.Name(view.load.state)


def follower(site: Site) -> NodeProcess:
    """Return a node that leads no shard of the load."""
    for shard in SHARDS:
        site.lead(shard, site.cluster.leader("metadata/0"))
    leader = site.cluster.leader("metadata/0")
    return next(node for node in site.cluster.nodes.values() if node is not leader)


def sent(site: Site, away: NodeProcess) -> bool:
    """Tell whether all nodes but one have whole files."""
    nodes = [node for node in site.cluster.nodes.values() if node is not away]
    return all(any(node.directory.glob("files/*/*/*.sst")) for node in nodes)


def killed_sorting(site: Site, victim: str) -> None:
    """No row has left Spark."""
    with job(site, waits="waits") as running:

        def begun() -> bool:
            view = Loads(site.client).get("one")
            return view is not None and view.partitions == 2

        wait_for(begun, running)
        kill(running, victim)


def killed_sending(site: Site, victim: str) -> None:
    """Some nodes have whole files, and one waits for them."""
    away = follower(site)
    away.pause()
    try:
        with job(site) as running:
            wait_for(lambda: sent(site, away), running)
            kill(running, victim)
    finally:
        away.resume()


def killed_ingesting(site: Site, victim: str) -> None:
    """Nodes die at the entry that puts the files of the first shard in place."""
    nodes = list(site.cluster.nodes.values())
    restarted(site, "ingest.placed")
    with job(site) as running:
        wait_for(lambda: sum(not node.runs for node in nodes) > 1, running)
        kill(running, victim)
    restarted(site, "")


def restarted(site: Site, failpoint: str) -> None:
    for node in site.cluster.nodes.values():
        node.kill()
        node.failpoint = failpoint
        node.start()
    site.cluster.ready()


STEPS: Final = {
    "sorting": killed_sorting,
    "sending": killed_sending,
    "ingesting": killed_ingesting,
}


def check_whole(site: Site) -> None:
    assert state(site) == "FINISHED"
    assert site.count("one") == ROWS
    for digests in site.digests().values():
        assert len(set(digests)) == 1


# They start one or two further Sparks.
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(
    ("step", "victim"),
    [
        pytest.param("sorting", "workers", marks=pytest.mark.full),
        pytest.param("sending", "driver", marks=pytest.mark.ci),
        pytest.param("ingesting", "driver", marks=pytest.mark.full),
    ],
)
def test_a_load_that_is_begun_again_ends_whole(site: Site, step: str, victim: str) -> None:
    STEPS[step](site, victim)
    assert state(site) in ("LOADING", "FAILED")
    if step != "ingesting":
        assert site.count("one") == 0
    with job(site) as again:
        assert again.process.wait(LONG_S) == 0
    check_whole(site)


@pytest.mark.full
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(
    ("step", "victim"), [("sorting", "driver"), ("sending", "workers"), ("ingesting", "workers")]
)
def test_a_load_that_is_aborted_leaves_no_row_and_no_file(
    site: Site, step: str, victim: str
) -> None:
    from quorate_spark.source import undoing

    STEPS[step](site, victim)
    undoing.abort(site.client, "one", lambda _: None)
    assert site.count("one") == 0
    until(lambda: None if site.staged() else True)
    for digests in site.digests().values():
        assert len(set(digests)) == 1


@pytest.mark.full
@pytest.mark.timeout(1_200)
def test_spark_finishes_a_load_of_which_an_executor_dies(site: Site) -> None:
    away = follower(site)
    away.pause()
    try:
        with job(site, "local-cluster[2,1,1024]") as running:
            wait_for(lambda: sent(site, away), running)
            running.kill_an_executor()
            away.resume()
            assert running.process.wait(LONG_S) == 0
    finally:
        away.resume()
    check_whole(site)

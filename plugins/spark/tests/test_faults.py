"""A load goes on when a leader dies, and ends as a clean one when it is begun again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

import pytest
from quorate_spark.client import Loads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from quorate.client import Client
    from quorate.testing.cluster import Cluster

pytestmark = pytest.mark.ci

ROWS = 6_000
#: Spark may take so long to begin with a job.
BEGIN_S = 240.0

Save = Callable[..., None]
Pairs = Callable[..., "DataFrame"]


def rows_of(spark: SparkSession, prefix: str) -> DataFrame:
    return spark.range(0, ROWS, 1, 2).selectExpr(
        f"concat('{prefix}', id % 9, '/', id) as key", "cast(id as string) as value"
    )


def state_of(pid: int) -> tuple[str, int] | None:
    """Return the state and the parent of a process; None when there is none."""
    with suppress(OSError):
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        return state, int(parent)
    return None


def running(pid: int) -> bool:
    """Tell whether a process has not ended; nobody may have asked for how it did."""
    state = state_of(pid)
    return state is not None and state[0] != "Z"


def below(ancestor: int) -> dict[int, int]:
    """Return all that came from a process, each with its parent."""
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*"):
        pid = int(place.name)
        state = state_of(pid)
        # What ends meanwhile is passed over.
        if state is not None:
            parents[pid] = state[1]
    found = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: parents[pid] for pid in found - {ancestor}}


def workers() -> list[int]:
    """Return the processes that run tasks of this process' Spark; their daemon is none of them."""
    tasks: dict[int, int] = {}
    for pid, parent in below(os.getpid()).items():
        with suppress(OSError):
            if b"pyspark.daemon\0pyspark.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                tasks[pid] = parent
    return [pid for pid, parent in tasks.items() if parent in tasks]


#: Rows go on to Python a few at a time, without waiting for those that do not come.
SUBMIT = (
    "--conf spark.sql.execution.arrow.maxRecordsPerBatch=100"
    " --conf spark.buffer.size=1024 pyspark-shell"
)
#: Loads the rows of `rows_of`, and stands still in the middle of each of the two partitions.
DRIVER = """
import sys
from quorate_spark.source.local import local_session

endpoints, prefix, count, middle = sys.argv[1:]
spark = local_session("driver", cores=2)
half = int(count) // 2
rows = spark.range(0, int(count), 1, 2).selectExpr(
    f"concat('{prefix}', id % 9, '/', id) as key",
    f"if(id % {half} = {middle}, reflect('java.lang.Thread', 'sleep', 3600000L), string(id))"
    " as value",
)
options = {"table": "kv.pairs", "endpoints": endpoints, "load_id": prefix, "batch_rows": 10}
# Into an empty table it would go by files, and nothing of the first half would be there.
options["load.mode"] = "rpc"
rows.write.format("quorate").mode("append").options(**options).save()
"""


class Driver:
    """A process that runs the program above, in a group with its Java."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-c", DRIVER, *arguments]
        environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": SUBMIT}
        self._process: Final = Popen(command, env=environment, start_new_session=True)
        self._started: Final[set[int]] = set()

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill it and its Java; its workers end when they notice."""
        self._started.update(below(self._process.pid))
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def gone(self) -> bool:
        """Tell whether nothing is left of what it has started."""
        return not any(map(running, self._started))


@contextmanager
def driver(*arguments: str) -> Iterator[Driver]:
    """Give a driver that is killed at the end, if it was not before."""
    program = Driver(*arguments)
    try:
        yield program
    finally:
        program.kill()
        wait_for(program.gone, "the end of all workers")


def wait_for(found: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    deadline = monotonic() + BEGIN_S
    while not found():
        assert monotonic() < deadline, f"{what} did not come in {BEGIN_S} s"
        sleep(0.05)


def digest(pairs: DataFrame) -> set[tuple[bytes, bytes]]:
    return {(bytes(row.key), bytes(row.value)) for row in pairs.collect()}


def wanted(prefix: str) -> set[tuple[bytes, bytes]]:
    return {(f"{prefix}{n % 9}/{n}".encode(), b"%d" % n) for n in range(ROWS)}


def under_way(client: Client, load_id: str) -> bool:
    """Wait until a part of a load is on its way; False when all have ended before."""
    deadline = monotonic() + BEGIN_S
    while True:
        view = Loads(client).get(load_id)
        if view is not None and view.partitions:
            return view.load.state == view.load.LOADING
        assert monotonic() < deadline, f"no part of {load_id} has begun in {BEGIN_S} s"


def test_a_leader_that_dies_takes_nothing_along(
    spark: SparkSession, cluster: Cluster, save: Save, pairs: Pairs, client: Client
) -> None:
    def kill() -> None:
        assert under_way(client, "leader")
        dead = cluster.leader("metadata/1")
        dead.kill()
        dead.start()
        dead.ready()

    # Spark knows its session in this thread alone.
    with ThreadPoolExecutor(1) as other:
        killing = other.submit(kill)
        save(rows_of(spark, "leader"), load_id="leader", batch_rows=10, max_in_flight=2)
        killing.result(timeout=BEGIN_S)
    cluster.ready()

    assert digest(pairs("leader")) == wanted("leader")
    view = Loads(client).get("leader")
    assert view is not None
    assert (view.rows, view.load.state) == (ROWS, view.load.FINISHED)


def test_workers_that_die_leave_what_the_next_attempt_completes(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client
) -> None:
    def kill() -> None:
        assert under_way(client, "worker")
        for pid in workers():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    rows = rows_of(spark, "worker")
    with ThreadPoolExecutor(1) as other:
        killing = other.submit(kill)
        with pytest.raises(Exception, match=r"(?i)crashed|terminated|aborted|broken|refused"):
            save(rows, load_id="worker", batch_rows=10, max_in_flight=2)
        killing.result(timeout=BEGIN_S)
    save(rows, load_id="worker", batch_rows=10)

    assert digest(pairs("worker")) == wanted("worker")


# It starts a second Spark.
@pytest.mark.timeout(600)
def test_a_driver_that_dies_leaves_what_the_same_load_completes(
    spark: SparkSession, cluster: Cluster, save: Save, pairs: Pairs, client: Client
) -> None:
    # No batch ends here: what is left of one must not be taken for the last one.
    middle = ROWS // 4 - 7
    last = [middle - 101, ROWS // 2 + middle - 101]
    with driver(cluster.endpoints, "driver", str(ROWS), str(middle)) as program:

        def half_is_there() -> bool:
            assert program.runs, "the program has ended before it was killed"
            return all(client.kv.get(f"driver{n % 9}/{n}") is not None for n in last)

        wait_for(half_is_there, "the first half of each partition")
        program.kill()
        dead = Loads(client).get("driver")
        assert dead is not None
        assert dead.load.state == dead.load.LOADING
        first = client.kv.get("driver0/0")
        assert 0 < len(digest(pairs("driver"))) < ROWS

        save(rows_of(spark, "driver"), load_id="driver", batch_rows=10)

        assert digest(pairs("driver")) == wanted("driver")
        # What the first attempt had carried out was not carried out again.
        assert client.kv.get("driver0/0") == first
        view = Loads(client).get("driver")
        assert view is not None
        assert (view.rows, view.load.state) == (ROWS, view.load.FINISHED)

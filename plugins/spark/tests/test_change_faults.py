"""A stream from the feed into the sink carries each change once, whatever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

import pytest
from quorate.client import Client
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.kv_pb2 import PutPair, PutPairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from quorate.testing.cluster import Cluster

#: What takes longer has failed; a Spark may take a minute to begin.
LONG_S = 1_200.0

#: How many changes executors copy that are processes of their own.
MANY: Final = int(os.environ.get("QUORATE_CHANGES", "1000000"))

#: Copies pairs `from...` to `copy...` until it is killed.
DRIVER = """
import sys
from pyspark.sql import SparkSession

master, endpoints, checkpoint, rows = sys.argv[1:]
spark = (
    SparkSession.builder.master(master)
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.log.level", "ERROR")
    .getOrCreate()
)
(
    spark.readStream.format("quorate")
    .options(changes="kv.pairs", endpoints=endpoints, max_rows_per_trigger=rows, starting="now")
    .load()
    .where("key >= cast('from' as binary) and key < cast('fron' as binary)")
    .selectExpr(
        "_operation", "cast(concat('copy', substring(string(key), 5)) as binary) as key",
        "value", "ttl_ms",
    )
    .writeStream.format("quorate")
    .options(
        table="kv.pairs", endpoints=endpoints, operation="_operation", checkpointLocation=checkpoint
    )
    .trigger(processingTime="200 milliseconds")
    .start()
    .awaitTermination()
)
"""


@contextmanager
def copies(cluster: Cluster, checkpoint: Path, rows: int, master: str) -> Iterator[Popen[bytes]]:
    """Copy for as long as the block takes, and kill whatever copies at its end."""
    command = [sys.executable, "-c", DRIVER, master, cluster.endpoints, str(checkpoint), str(rows)]
    local = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    process = Popen(command, start_new_session=True, env={**os.environ, **local})
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def executors_of(driver: Popen[bytes]) -> list[int]:
    """Return the executors that are processes of their own."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        # What ends meanwhile is passed over.
        with suppress(OSError):
            pid = int(place.parent.name)
            if (
                b"CoarseGrainedExecutorBackend" in place.read_bytes()
                and os.getsid(pid) == driver.pid
            ):
                found.append(pid)
    return sorted(found)


def wait_for(found: Callable[[], object], process: Popen[bytes]) -> None:
    """Wait until something is so, while the driver runs."""
    deadline = monotonic() + LONG_S
    while not found():
        assert process.poll() is None, "the query has failed"
        assert monotonic() < deadline, f"it did not come in {LONG_S} s"
        sleep(0.05)


def key_of(prefix: str, number: int) -> bytes:
    return f"{prefix}{number % 9}/{number:07}".encode()


def write(client: Client, first: int, last: int) -> None:
    for begin in range(first, last, 200):
        pairs = [
            PutPair(key=key_of("from", number), value=b"%d" % number)
            for number in range(begin, min(begin + 200, last))
        ]
        reply = client.execute(PutPairs(pairs=pairs), BatchReply)
        assert not reply.refusals


# It starts two further Sparks.
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    ("changes", "master"),
    [
        pytest.param(20_000, "local[2]", marks=pytest.mark.ci),
        pytest.param(MANY, "local-cluster[2,1,1024]", marks=pytest.mark.full),
    ],
)
def test_each_change_arrives_once(
    spark: SparkSession, cluster: Cluster, tmp_path: Path, changes: int, master: str
) -> None:
    a_batch = changes // 20
    some = range(0, changes, changes // 200)

    with Client(cluster.endpoints, exactly_once=True) as client:

        def copied(number: int) -> bool:
            return client.kv.get(key_of("copy", number)) is not None

        with copies(cluster, tmp_path, a_batch, master) as first:
            # What is written from here on is a change.
            wait_for(lambda: (tmp_path / "commits" / "0").exists(), first)
            write(client, 0, changes // 2)
            wait_for(lambda: copied(changes // 8), first)
            executors = executors_of(first)
            assert bool(executors) == master.startswith("local-cluster")
            if executors:
                os.kill(executors[0], signal.SIGKILL)
                wait_for(lambda: copied(changes // 4), first)
        with copies(cluster, tmp_path, a_batch, master) as second:
            wait_for(lambda: copied(changes // 3), second)
            dead = cluster.leader("metadata/1")
            dead.kill()
            write(client, changes // 2, changes)
            dead.start()
            dead.ready()
            wait_for(
                lambda: all(copied(number) for number in range(changes - 1, changes - 99, -1)),
                second,
            )
            wait_for(lambda: all(map(copied, some)), second)

        revisions = {
            pair.key: (pair.created_revision, pair.revision)
            for page in client.kv.scan("copy")
            for pair in page.pairs
        }
    assert len(revisions) == changes
    # Whoever is written twice has another revision than the one it was created at.
    assert [key for key, (created, newest) in revisions.items() if created != newest] == []

"""A load goes on when a leader dies, and ends as a clean one when it is begun again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import pytest
from quorate_spark.client import Loads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from quorate.client import Client
    from quorate.testing.cluster import Cluster

ROWS = 6_000
#: Spark may take so long to begin with a job.
BEGIN_S = 120.0

Save = Callable[..., None]
Pairs = Callable[..., "DataFrame"]


def rows_of(spark: SparkSession, prefix: str) -> DataFrame:
    return spark.range(0, ROWS, 1, 2).selectExpr(
        f"concat('{prefix}', id % 9, '/', id) as key", "cast(id as string) as value"
    )


def workers() -> list[int]:
    """Return the processes that run tasks of this process' Spark; their daemon is none of them."""
    parents: dict[int, int] = {}
    tasks: set[int] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        pid = int(stat.parent.name)
        # What ends meanwhile is passed over.
        with suppress(OSError):
            parents[pid] = int(stat.read_text().rpartition(")")[2].split()[1])
            if b"pyspark.daemon\0pyspark.worker" in stat.with_name("cmdline").read_bytes():
                tasks.add(pid)
    below = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return [pid for pid in tasks & below if parents[pid] in tasks]


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

"""Sessions from Parquet into a cluster of three nodes by Spark, beside a loop over the client.

The sessions are pairs: a key with tenant and client, and a value of 100 bytes that does not
compress. Spark writes them to Parquet first, which is not measured. Then a loop over the Python
client writes some, one a call and 1,000 a call, and Spark loads all of them. A thread writes single
pairs all the time, some every second, as online traffic does. At the end the nodes are stopped, and
the rows of each replica are counted and compared by digest.

python benchmarks/spark_load.py [--sessions 5000000] [--shards 2] [--partitions 0] [--cores 2]
                                [--loop-seconds 5] [--online 20] [--batch-rows 1000]
                                [--directory DIR] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final

from pyspark.sql import SparkSession
from quorate.builtin.kv.families import PAIRS
from quorate.client import Client
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.waiting import until
from quorate_spark.client import Loads
from quorate_spark.source.local import local_session

LOAD: Final = "benchmark"
#: With the number of its tenant, what a key has before its slash decides the shard.
PREFIX: Final = b"tenant-"
TENANTS: Final = 97
VALUE_BYTES: Final = 100
#: Pairs of one call of the faster loop.
MANY: Final = 1_000
#: Rows of one Spark partition, unless it is said how many partitions there are.
PARTITION_ROWS: Final = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Online:
    """What single writes took meanwhile."""

    writes: int
    p50_ms: float
    p99_ms: float
    longest_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What a node holds of a shard."""

    node: str
    shard: str
    rows: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Everything that is printed."""

    sessions: int
    seconds: float
    rows_per_s: float
    loop_rows_per_s: float
    loop_many_rows_per_s: float
    quiet: Online
    loading: Online
    #: What the load itself says.
    loaded: int
    replicas: list[Replica]
    counted: int
    replicas_agree: bool


class OnlineWrites(threading.Thread):
    """Writes single pairs at a steady rate until it is told to end."""

    def __init__(self, endpoints: str, rate: float) -> None:
        super().__init__(daemon=True)
        self._endpoints: Final = endpoints
        self._pause_s: Final = 1 / rate
        self._ended: Final = threading.Event()
        self._took_s: list[float] = []

    def run(self) -> None:
        """Write, each pair when the one before was answered."""
        with Client(self._endpoints) as client:
            due = time.perf_counter()
            number = 0
            while not self._ended.wait(max(0.0, due - time.perf_counter())):
                began = time.perf_counter()
                client.kv.put(b"online/%d" % (number % 1_000), b"v")
                self._took_s.append(time.perf_counter() - began)
                due = max(due + self._pause_s, time.perf_counter())
                number += 1

    def taken(self) -> Online:
        """Return what the writes took since this was asked last."""
        took, self._took_s = sorted(self._took_s), []
        if not took:
            return Online(writes=0, p50_ms=0, p99_ms=0, longest_ms=0)
        p99 = took[min(len(took) - 1, len(took) * 99 // 100)]
        p50_ms, p99_ms, longest_ms = (
            round(each * 1_000, 1) for each in (statistics.median(took), p99, took[-1])
        )
        return Online(writes=len(took), p50_ms=p50_ms, p99_ms=p99_ms, longest_ms=longest_ms)

    def end(self) -> None:
        """Stop writing."""
        self._ended.set()
        self.join()


@contextmanager
def online_writes(endpoints: str, rate: float) -> Iterator[OnlineWrites]:
    """Write single pairs for as long as the block takes."""
    writes = OnlineWrites(endpoints, rate)
    writes.start()
    try:
        yield writes
    finally:
        writes.end()


def write_sessions(spark: SparkSession, path: Path, sessions: int, partitions: int) -> None:
    """Write the source to Parquet."""
    rows = spark.range(0, sessions, 1, partitions).selectExpr(
        f"cast(concat('{PREFIX.decode()}', id % {TENANTS}, '/client-', id) as binary) as key",
        # Four digests are longer, and do not compress.
        "unhex(substr(concat(sha2(cast(id as string), 512), sha2(cast(-id as string), 512)), 1, "
        f"{2 * VALUE_BYTES})) as value",
    )
    rows.write.mode("overwrite").parquet(str(path))


def load(spark: SparkSession, path: Path, endpoints: str, batch_rows: int) -> float:
    """Load the source, and return the seconds that it took."""
    began = time.perf_counter()
    rows = spark.read.parquet(str(path))
    options = {"table": PAIRS, "endpoints": endpoints, "load_id": LOAD, "batch_rows": batch_rows}
    rows.write.format("quorate").mode("append").options(**options).save()
    return time.perf_counter() - began


def looped(seconds: float, rows: int, write: Callable[[dict[bytes, bytes]], object]) -> float:
    """Return the rows a second that a loop writes, so many a call."""
    random = Random(1)
    written = 0
    began = time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        write(
            {
                b"loop/%d" % number: random.randbytes(VALUE_BYTES)
                for number in range(written, written + rows)
            }
        )
        written += rows
    return round(written / took)


def settle(nodes: Sequence[NodeProcess]) -> None:
    """Wait until all replicas have applied the same."""

    def applied() -> bool | None:
        reports = [node.report() for node in nodes]
        if None in reports:
            return None
        indexes = [
            {each.shard: each.applied_index for each in report.shards}
            for report in reports
            if report is not None
        ]
        return True if all(each == indexes[0] for each in indexes) else None

    until(applied)


def replicas_of(directory: Path) -> list[Replica]:
    """Return what the stopped nodes of a cluster hold of the sessions."""
    found = []
    for path in sorted(directory.glob("**/shards/metadata/*")):
        data = ShardData.open(DiskHome(path), ())
        digest, rows = sha256(), 0
        for key, value in data.iterate(PAIRS, PREFIX, PREFIX + b"\xff"):
            digest.update(b"%d %d " % (len(key), len(value)) + key + value)
            rows += 1
        data.close()
        node = path.relative_to(directory).parts[0]
        found.append(
            Replica(node=node, shard=f"metadata/{path.name}", rows=rows, digest=digest.hexdigest())
        )
    return found


def agree(replicas: Sequence[Replica], nodes: int) -> bool:
    """Tell whether every node holds the same rows of every shard."""
    by_shard: dict[str, list[Replica]] = {}
    for each in replicas:
        by_shard.setdefault(each.shard, []).append(each)
    return all(
        len(held) == nodes and len({(each.rows, each.digest) for each in held}) == 1
        for held in by_shard.values()
    )


def measure(options: argparse.Namespace, directory: Path) -> Result:
    """Measure everything with one cluster below a directory."""
    partitions = options.partitions or max(options.cores, options.sessions // PARTITION_ROWS)
    spark = local_session("spark_load", cores=options.cores)
    source = directory / "sessions.parquet"
    write_sessions(spark, source, options.sessions, partitions)
    nodes = directory / "nodes"
    settings = {"groups": {"metadata": {"shards": options.shards}}}
    with Cluster(nodes, 3, plugins=["spark"], settings=settings) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as client:
            one = looped(options.loop_seconds, 1, lambda pairs: client.kv.put(*pairs.popitem()))
            many = looped(options.loop_seconds, MANY, client.kv.put_many)
            with online_writes(cluster.endpoints, options.online) as online:
                time.sleep(options.loop_seconds)
                quiet = online.taken()
                seconds = load(spark, source, cluster.endpoints, options.batch_rows)
                loading = online.taken()
            view = Loads(client).get(LOAD)
        settle(list(cluster.nodes.values()))
    spark.stop()
    replicas = replicas_of(nodes)
    return Result(
        sessions=options.sessions,
        seconds=round(seconds, 1),
        rows_per_s=round(options.sessions / seconds),
        loop_rows_per_s=one,
        loop_many_rows_per_s=many,
        quiet=quiet,
        loading=loading,
        loaded=0 if view is None else view.rows,
        replicas=replicas,
        counted=sum(each.rows for each in replicas) // 3,
        replicas_agree=agree(replicas, 3),
    )


def show(result: Result) -> None:
    """Print a result for people."""
    print(f"{result.sessions:,} sessions in {result.seconds} s: {result.rows_per_s:,} rows/s")
    print(f"loop over the client, one a call: {result.loop_rows_per_s:,.0f} rows/s")
    print(f"loop over the client, {MANY:,} a call: {result.loop_many_rows_per_s:,.0f} rows/s")
    for when, online in (("before", result.quiet), ("during the load", result.loading)):
        print(
            f"single writes {when}: {online.writes}, p50 {online.p50_ms} ms, "
            f"p99 {online.p99_ms} ms, longest {online.longest_ms} ms"
        )
    for each in result.replicas:
        print(f"{each.node} {each.shard}: {each.rows:,} rows, {each.digest[:16]}")
    print(
        f"the load tells of {result.loaded:,} rows, {result.counted:,} are there, and the replicas "
        f"{'agree' if result.replicas_agree else 'DIFFER'}"
    )


def main() -> None:
    """Read the options, measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=5_000_000)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=0)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--loop-seconds", type=float, default=5.0)
    parser.add_argument("--online", type=float, default=20.0, help="single writes a second")
    parser.add_argument("--batch-rows", type=int, default=1_000)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        result = measure(options, Path(place))
    if options.json:
        print(json.dumps(asdict(result)))
    else:
        show(result)


if __name__ == "__main__":
    main()

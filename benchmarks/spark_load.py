"""Sessions from Parquet into a cluster of three nodes by Spark, beside a loop over the client.

The sessions are those of MQTT clients, or pairs with `--table kv.pairs`; each has 100 bytes that do
not compress. Spark writes them to Parquet first, which is not measured. Then a loop over the Python
client writes some, one a call and 1,000 a call, and Spark loads all of them. A thread writes single
rows to the same shards all the time, some every second, as online traffic does. At the end the
nodes are stopped, and the rows of each replica are counted and compared by digest. With `--profile`
what a task of Spark does is done once more in this process, and its functions are told by the time
that they took.

python benchmarks/spark_load.py [--sessions 5000000] [--table mqtt.sessions] [--shards 2]
                                [--partitions 0] [--cores 2] [--loop-seconds 5] [--online 20]
                                [--batch-rows 1000] [--max-in-flight 4] [--directory DIR]
                                [--mode files]
                                [--profile] [--json]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

import pyarrow.parquet as pq
from figures import Options, percentiles, profiled, report
from loaded_tables import MANY, TABLES, LoadedTable
from pyspark.sql import SparkSession
from quorate.client import Client, QuorateError
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.waiting import until
from quorate_spark.client import Loads
from quorate_spark.source.local import local_session
from quorate_spark.source.options import BATCH_ROWS, write_options
from quorate_spark.source.writing import begun
from systems.system import Meter

LOAD: Final = "benchmark"
#: Rows of one Spark partition, unless it is said how many partitions there are.
PARTITION_ROWS: Final = 500_000
#: As Spark gives them to a writer.
ARROW_ROWS: Final = 10_000
#: Fields of a process' statistics: of itself, and of its children that have ended.
OWN: Final = (11, 12)
ENDED: Final = (13, 14)
#: The kinds of processes, of which the last writes single rows.
KINDS: Final = ("nodes", "Spark's Java", "Spark's Python", "this process")


@dataclass(frozen=True, slots=True, kw_only=True)
class Online:
    """What single writes took meanwhile."""

    when: str
    writes: int
    failed: int
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
class Loaded:
    """What the load took, and what came of it."""

    table: str
    sessions: int
    seconds: float
    rows_per_s: float
    loop_rows_per_s: float
    loop_many_rows_per_s: float
    #: What the load itself says, and what each node holds.
    loaded: int
    counted: int
    replicas_agree: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """Processor time of one kind of process while it loaded."""

    of: str
    seconds: float
    each_us: float


class OnlineWrites(threading.Thread):
    """Writes single rows at a steady rate for as long as the block takes."""

    def __init__(self, table: LoadedTable, endpoints: str, rate: float) -> None:
        super().__init__(daemon=True)
        self._table: Final = table
        self._endpoints: Final = endpoints
        self._pause_s: Final = 1 / rate
        self._ended: Final = threading.Event()
        self._took_s: list[float] = []
        self._failed = 0

    def run(self) -> None:
        """Write, each row when the one before was answered."""
        with Client(self._endpoints) as client:
            due = time.perf_counter()
            number = 0
            while not self._ended.wait(max(0.0, due - time.perf_counter())):
                began = time.perf_counter()
                try:
                    self._table.write(client, [f"online-{number % 1_000}"])
                except QuorateError:
                    self._failed += 1
                self._took_s.append(time.perf_counter() - began)
                due = max(due + self._pause_s, time.perf_counter())
                number += 1

    def taken(self, when: str) -> Online:
        """Return what the writes took since this was asked last."""
        took, self._took_s = self._took_s, []
        failed, self._failed = self._failed, 0
        p50_ms, p99_ms = percentiles(took) if len(took) > 1 else (0.0, 0.0)
        return Online(
            when=when,
            writes=len(took),
            failed=failed,
            p50_ms=p50_ms,
            p99_ms=p99_ms,
            longest_ms=max(took, default=0.0) * 1_000,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def write_sessions(
    spark: SparkSession, table: LoadedTable, path: Path, sessions: int, partitions: int
) -> None:
    """Write the source to Parquet."""
    rows = spark.range(0, sessions, 1, partitions).selectExpr(*table.columns)
    rows.write.mode("overwrite").parquet(str(path))


def options_of(options: argparse.Namespace, endpoints: str, load_id: str) -> dict[str, str]:
    """Return the options of a write."""
    return {
        "table": options.table,
        "endpoints": endpoints,
        "load_id": load_id,
        "batch_rows": str(options.batch_rows),
        "max_in_flight": str(options.max_in_flight),
        "load.mode": options.mode,
    }


def load(spark: SparkSession, path: Path, given: dict[str, str]) -> float:
    """Load the source, and return the seconds that it took."""
    began = time.perf_counter()
    rows = spark.read.parquet(str(path))
    rows.write.format("quorate").mode("append").options(**given).save()
    return time.perf_counter() - began


def profile(spark: SparkSession, path: Path, given: dict[str, str]) -> None:
    """Load the first partition in this process, and print where the time goes."""
    file = min(path.glob("*.parquet"))
    rows = pq.ParquetFile(file).iter_batches(ARROW_ROWS)
    writer = begun(write_options(given), spark.read.parquet(str(path)).schema, overwrite=False)
    meter = Meter(())
    with profiled():
        sent = writer.write_rows(0, rows).sent
    used = meter.read()
    print(
        f"a task of {sent.rows:,} rows under the profiler: {used.seconds:.1f} s, of them "
        f"{used.asker_s:.1f} s with the processor; it waits in `poll`"
    )


def looped(seconds: float, rows: int, write: Callable[[list[str]], object]) -> float:
    """Return the rows a second that a loop writes, so many a call."""
    written = 0
    began = time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        write([f"loop-{number}" for number in range(written, written + rows)])
        written += rows
    return round(written / took)


def cpu_seconds(nodes: Sequence[NodeProcess]) -> dict[str, float]:
    """Return the processor seconds until now of the nodes, of Spark's processes, and of this."""
    parents: dict[int, int] = {}
    fields: dict[int, list[str]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = place.read_text().rpartition(")")[2].split()
        except OSError:
            # It has ended meanwhile.
            continue
        parents[int(place.parent.name)], fields[int(place.parent.name)] = int(stat[1]), stat
    served = {node.pid for node in nodes}
    spark: set[int] = set()
    while more := {
        pid
        for pid, parent in parents.items()
        if parent in spark | {os.getpid()} and pid not in spark | served
    }:
        spark |= more

    def seconds(pids: set[int], *places: int) -> float:
        ticks = sum(int(fields[pid][place]) for pid in pids for place in places)
        return round(ticks / os.sysconf("SC_CLK_TCK"), 1)

    # Its Java is what this process has started; all below that is Python.
    java = {pid for pid in spark if parents[pid] == os.getpid()}
    return {
        "nodes": seconds(served, *OWN),
        "Spark's Java": seconds(java, *OWN),
        "Spark's Python": seconds(java, *ENDED) + seconds(spark - java, *OWN, *ENDED),
        "this process": seconds({os.getpid()}, *OWN),
    }


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


def replicas_of(table: LoadedTable, directory: Path) -> list[Replica]:
    """Return what the stopped nodes of a cluster hold of the sessions."""
    found = []
    for path in sorted(directory.glob(f"**/shards/{table.group}/*")):
        data = ShardData.open(DiskHome(path), ())
        digest, rows = sha256(), 0
        for key, value in data.iterate(table.name, table.prefix, table.prefix + b"\xff"):
            digest.update(b"%d %d " % (len(key), len(value)) + key + value)
            rows += 1
        data.close()
        node = path.relative_to(directory).parts[0]
        shard = f"{table.group}/{path.name}"
        found.append(Replica(node=node, shard=shard, rows=rows, digest=digest.hexdigest()))
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


def measure(
    options: argparse.Namespace, directory: Path
) -> tuple[Sequence[Loaded | Processor | Online | Replica], ...]:
    """Measure everything with one cluster below a directory."""
    table = TABLES[options.table]
    partitions = options.partitions or max(options.cores, options.sessions // PARTITION_ROWS)
    spark = local_session("spark_load", cores=options.cores)
    source = directory / "sessions.parquet"
    write_sessions(spark, table, source, options.sessions, partitions)
    nodes = directory / "nodes"
    settings = {"groups": {table.group: {"shards": options.shards}}}
    with Cluster(
        nodes, 3, plugins=["spark", *table.plugins], settings=settings, forked=False
    ) as cluster:
        cluster.ready()
        processes = list(cluster.nodes.values())
        with Client(cluster.endpoints) as client:
            table.prepare(client)
            one = looped(options.loop_seconds, 1, lambda names: table.write(client, names))
            many = looped(options.loop_seconds, MANY, lambda names: table.write(client, names))
            with OnlineWrites(table, cluster.endpoints, options.online) as online:
                time.sleep(options.loop_seconds)
                quiet = online.taken("before")
                before = cpu_seconds(processes)
                seconds = load(spark, source, options_of(options, cluster.endpoints, LOAD))
                after = cpu_seconds(processes)
                loading = online.taken("loading")
            view = Loads(client).get(LOAD)
            if options.profile:
                profile(spark, source, options_of(options, cluster.endpoints, "profile"))
        settle(processes)
    spark.stop()
    replicas = replicas_of(table, nodes)
    loaded = Loaded(
        table=options.table,
        sessions=options.sessions,
        seconds=seconds,
        rows_per_s=options.sessions / seconds,
        loop_rows_per_s=one,
        loop_many_rows_per_s=many,
        loaded=0 if view is None else view.rows,
        counted=sum(each.rows for each in replicas) // 3,
        replicas_agree=agree(replicas, 3),
    )
    used = {name: after[name] - before[name] for name in after}
    processors = [
        Processor(of=name, seconds=each, each_us=each / options.sessions * 1e6)
        for name, each in used.items()
    ]
    return [loaded], [quiet, loading], processors, replicas


def main() -> None:
    """Read the options, measure, and print."""
    parser = Options(
        __doc__,
        sessions=5_000_000,
        shards=2,
        partitions=0,
        cores=2,
        loop_seconds=5.0,
        online=(20.0, "single writes a second"),
        batch_rows=BATCH_ROWS,
        max_in_flight=4,
    )
    parser.add_argument("--table", choices=sorted(TABLES), default="mqtt.sessions")
    parser.add_argument("--mode", choices=("auto", "rpc", "files"), default="files")
    parser.add_argument("--profile", action="store_true", help="of what a task of Spark does")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        report(*measure(options, Path(place)), as_json=options.json)


if __name__ == "__main__":
    main()

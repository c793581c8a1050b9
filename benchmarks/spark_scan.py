"""What Spark reads of a cluster of three nodes: scans, counts with a filter, and changes.

Rows of `spark_load.py` are loaded first, which is not measured. Then Spark scans all of them right
after the load, while nodes may still compact their files, and again once they are quiet. It scans
the columns of the key alone, and counts all rows and those of a hundredth of the keys. Each is
printed in rows a second and in processor time of a row. One shard's pages are decoded in this
process, in columns and row by row. At the end a stream of changes is followed while single rows are
written: told is how long it takes from before a write until its row is in a batch.

python benchmarks/spark_scan.py [--sessions 5000000] [--table mqtt.sessions] [--shards 2]
                                [--cores 2] [--changes 200] [--trigger-ms 500] [--directory DIR]
                                [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from figures import Options, percentiles, report
from loaded_tables import TABLES, LoadedTable
from nodes import pids, quiet
from pyspark.sql import DataFrame, SparkSession
from quorate.client import Client
from quorate.testing.cluster import Cluster, NodeProcess
from quorate_spark.source.connecting import client_of
from quorate_spark.source.decoding import Decoder
from quorate_spark.source.local import local_session
from quorate_spark.source.options import read_options
from quorate_spark.source.reading import EVERY, pages, planned
from quorate_spark.source.tables import find
from spark_load import KINDS, PARTITION_ROWS, cpu_seconds, load, write_sessions

#: Filters of a hundredth of the keys, by table.
HUNDREDTH: Final = {
    "mqtt.sessions": "tenant = 'acme' and client_id >= 'client-42' and client_id < 'client-43'",
    "kv.pairs": "key >= cast('tenant-42/' as binary) and key < cast('tenant-420' as binary)",
}
#: Of the stream: how long a change may take.
IN_TIME_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Scan:
    """How rows were read."""

    what: str
    rows: int
    seconds: float
    rows_per_s: float
    #: Processor time of a row, of each kind of process.
    nodes_us: float
    java_us: float
    python_us: float
    reader_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """The processor time of a row that is decoded, in columns and row by row."""

    table: str
    columns_us: float
    one_by_one_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """How long changes took until they were in a batch."""

    changes: int
    trigger_ms: int
    p50_ms: float
    p99_ms: float


def scanned(
    what: str, nodes: Sequence[NodeProcess], rows: int, scan: Callable[[], int | None]
) -> Scan:
    """Scan, and return what it took."""
    before, began = cpu_seconds(nodes), time.perf_counter()
    found = scan()
    seconds, after = time.perf_counter() - began, cpu_seconds(nodes)
    rows = rows if found is None else found
    used = ((after[each] - before[each]) / rows * 1e6 for each in KINDS)
    return Scan(what, rows, seconds, rows / seconds, *used)


def into_nothing(rows: DataFrame) -> None:
    """Read all rows as a query does."""
    rows.write.format("noop").mode("overwrite").save()


def decoded(table: LoadedTable, endpoints: str) -> Decoding:
    """Decode the rows of a shard in this process, in both ways."""
    options = read_options({"table": table.name, "endpoints": endpoints})
    decoder, found = Decoder(find(table.name)), find(table.name)
    with client_of(options) as client:
        [part, *_] = planned(
            client, found.group, found.table.family, EVERY, ranges_per_shard=1, view_ttl_s=60.0
        )
        given = list(pages(client, part))
    rows = sum(len(page.key_ends) // 4 for page in given)
    took = []
    for decode in (decoder.batch, decoder._one_by_one):
        began = time.process_time()
        for page in given:
            decode(page)
        took.append((time.process_time() - began) / rows * 1e6)
    columns_us, one_by_one_us = took
    return Decoding(table=table.name, columns_us=columns_us, one_by_one_us=one_by_one_us)


def followed(
    spark: SparkSession, client: Client, endpoints: str, checkpoint: Path, count: int, trigger: int
) -> list[float]:
    """Return how long each change took until it was in a batch."""
    took: list[float] = []

    def take(batch: DataFrame, _: int) -> None:
        # A row that was collected is in a batch.
        began = [float(bytes(row.value)) for row in batch.select("value").collect()]
        took.extend(time.time() - each for each in began)

    query = (
        spark.readStream.format("quorate")
        .options(changes="kv.pairs", endpoints=endpoints, starting="now")
        .load()
        .where("key >= cast('late/' as binary) and key < cast('late0' as binary)")
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(checkpoint))
        .trigger(processingTime=f"{trigger} milliseconds")
        .start()
    )
    deadline = time.monotonic() + IN_TIME_S
    while not (checkpoint / "commits" / "0").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    # The first batch with rows starts Python's workers.
    client.kv.put("late/first", b"%f" % time.time())
    while not took and time.monotonic() < deadline:
        time.sleep(0.05)
    took.clear()
    for number in range(count):
        client.kv.put(f"late/{number}", b"%f" % time.time())
        time.sleep(0.02)
    deadline = time.monotonic() + IN_TIME_S
    while len(took) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    query.stop()
    return took


def measure(
    options: argparse.Namespace, directory: Path
) -> tuple[Sequence[Scan | Decoding | Followed], ...]:
    """Measure everything with one cluster below a directory."""
    table: LoadedTable = TABLES[options.table]
    spark = local_session("spark_scan", cores=options.cores)
    source = directory / "sessions.parquet"
    partitions = max(options.cores, options.sessions // PARTITION_ROWS)
    write_sessions(spark, table, source, options.sessions, partitions)
    settings = {"groups": {table.group: {"shards": options.shards}}}
    plugins = ["spark", *table.plugins]
    with Cluster(
        directory / "nodes", 3, plugins=plugins, settings=settings, forked=False
    ) as cluster:
        cluster.ready()
        nodes = list(cluster.nodes.values())
        given = {"table": table.name, "endpoints": cluster.endpoints}
        with Client(cluster.endpoints) as client:
            table.prepare(client)
            load(spark, source, {**given, "load_id": "scanned"})

            def read(**chosen: str) -> DataFrame:
                return spark.read.format("quorate").options(**given, **chosen).load()

            keys = ",".join(find(table.name).table.key)
            # Python's workers are started before.
            read().limit(1).collect()

            def scan_all(what: str) -> Scan:
                return scanned(what, nodes, options.sessions, lambda: into_nothing(read()))

            scans = [scan_all("all, right after the load")]
            asyncio.run(quiet(pids(cluster)))
            scans += [
                scan_all("all"),
                scanned("keys", nodes, options.sessions, lambda: into_nothing(read(columns=keys))),
                scanned("count", nodes, 0, lambda: read(columns=keys).count()),
                scanned(
                    "count of a hundredth",
                    nodes,
                    0,
                    lambda: read(columns=keys).where(HUNDREDTH[table.name]).count(),
                ),
            ]
            decoding = decoded(table, cluster.endpoints)
            took = followed(
                spark,
                client,
                cluster.endpoints,
                directory / "checkpoint",
                options.changes,
                options.trigger_ms,
            )
    spark.stop()
    p50_ms, p99_ms = percentiles(took)
    changes = Followed(
        changes=len(took), trigger_ms=options.trigger_ms, p50_ms=p50_ms, p99_ms=p99_ms
    )
    return scans, [decoding], [changes]


def main() -> None:
    """Read the options, measure, and print."""
    parser = Options(__doc__, sessions=5_000_000, shards=2, cores=2, changes=200, trigger_ms=500)
    parser.add_argument("--table", choices=sorted(TABLES), default="mqtt.sessions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        report(*measure(options, Path(place)), as_json=options.json)


if __name__ == "__main__":
    main()

"""Where Spark may run: behind Spark Connect, and in a cluster that got everything as one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate_spark.client import Loads

from tests.support.lake import processes

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

HOW_TO: Final = Path(__file__).parents[2] / "docs" / "how-to" / "load-with-spark.md"
ROWS: Final = 2_000

#: `spark` was made before.
LOADS_AND_READS: Final = """
given = {"endpoints": endpoints, "table": "kv.pairs"}
rows = spark.range(0, 2000, 1, 4).selectExpr("concat('from/', id) as key", "string(id) as value")
rows.write.format("quorate").mode("append").options(**given, load_id="one").save()
found = spark.read.format("quorate").options(**given).load()
print("read", found.where("key < cast('from0' as binary)").count())
"""
STREAMS: Final = """
(
    spark.readStream.format("quorate")
    .options(endpoints=endpoints, changes="kv.pairs")
    .load()
    .where("key >= cast('from' as binary) and key < cast('fron' as binary)")
    .selectExpr(
        "_operation", "cast(concat('copy', substring(string(key), 5)) as binary) as key", "value"
    )
    .writeStream.format("quorate")
    .options(**given, operation="_operation", checkpointLocation=checkpoint)
    .trigger(availableNow=True)
    .start()
    .awaitTermination()
)
"""

#: A client needs nothing of Quorate.
CONNECTED: Final = f"""
import sys

from pyspark.sql import SparkSession

remote, endpoints, checkpoint = sys.argv[1:]
spark = SparkSession.builder.remote(remote).getOrCreate()
{LOADS_AND_READS}
{STREAMS}
print("has", [each for each in sys.modules if "quorate" in each])
spark.stop()
"""

SUBMITTED: Final = """
import sys

from pyspark.sql import SparkSession

{register}
[endpoints] = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
register(spark)
{work}
print("from", sys.modules["quorate_spark"].__file__)
spark.stop()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')
    from quorate_spark.source.java import missing_java

    if why := missing_java():
        pytest.skip(why)
    with Cluster(tmp_path / "nodes", 1, plugins=["spark"]) as cluster:
        yield cluster.ready()


def check(cluster: Cluster, *prefixes: bytes) -> None:
    with Client(cluster.endpoints) as client:
        pairs = {pair.key: pair.value for page in client.kv.scan("") for pair in page.pairs}
        view = Loads(client).get("one")
    assert view is not None
    assert (view.rows, view.load.state) == (ROWS, view.load.FINISHED)
    wanted = {b"%s/%d" % (of, n): b"%d" % n for of in prefixes for n in range(ROWS)}
    assert pairs == wanted


def test_a_client_of_spark_connect_loads_reads_and_streams(
    cluster: Cluster, tmp_path: Path
) -> None:
    pytest.importorskip("grpc_status", reason='pip install "pyspark[connect]"')
    pytest.importorskip("zstandard", reason='pip install "pyspark[connect]"')
    file = tmp_path / "client.py"
    file.write_text(CONNECTED)
    with processes.connect_server(tmp_path) as remote:
        said = processes.run(file, remote, cluster.endpoints, str(tmp_path / "checkpoint"))

    assert f"read {ROWS}" in said
    assert "has []" in said
    check(cluster, b"from", b"copy")


def test_a_cluster_without_quorate_gets_it_as_a_file(cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="pip install -r requirements/packaging.txt")
    python = processes.bare_python(tmp_path / "bare")
    archive = processes.zipped(tmp_path)
    file = tmp_path / "job.py"
    [register] = re.findall(r"^```python\n(def register.+?)^```$", HOW_TO.read_text(), re.M | re.S)
    file.write_text(SUBMITTED.format(register=register, work=LOADS_AND_READS))
    with processes.standalone(tmp_path, python) as master:
        said = processes.submit(
            python,
            file,
            *("--master", master, "--py-files", str(archive)),
            *("--conf", "spark.executor.memory=1g", "--conf", "spark.ui.enabled=false"),
            arguments=[cluster.endpoints],
        )

    assert f"read {ROWS}" in said
    assert f"{archive.name}/quorate_spark" in said
    check(cluster, b"from")

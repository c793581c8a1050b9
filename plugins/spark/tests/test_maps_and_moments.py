"""Maps and moments in Spark, over the machines of `fleet.py`: a real Spark and a real cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from quorate.testing.cluster import Cluster

pytestmark = [pytest.mark.ci, pytest.mark.timeout(900)]

#: Spark has the zone of Berlin here, and its interface is served.
PROGRAM: Final = """
import json
import os
import re
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

from pyspark.sql import SparkSession
from pyspark.sql.functions import expr, udf
from quorate.client import Client
from quorate.v1.batch_pb2 import BatchReply
from quorate_fleet import Machine, PutMachines
from quorate_spark.source import checking, files
from quorate_spark.source.data_source import QuorateSource
from quorate_spark.source.errors import sentence_of
from quorate_spark.source.tables import find

[endpoints, folder] = sys.argv[1:]
settings = {
    "spark.ui.port": "0",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.warehouse.dir": f"{folder}/warehouse",
    "spark.log.level": "ERROR",
}
builder = SparkSession.builder.master("local[2]").appName("machines")
for each in settings.items():
    builder = builder.config(*each)
spark = builder.getOrCreate()
spark.dataSource.register(QuorateSource)
given = {"table": "fleet.machines", "endpoints": endpoints}


def read():
    return spark.read.format("quorate").options(**given).load()


def told(**found):
    print(json.dumps(found, default=str), flush=True)


told(columns=[(each.name, each.dataType.simpleString()) for each in read().schema.fields])
rows = spark.sql('''
    SELECT 'a' AS rack, timestamp'2026-11-28 12:00:00.123999' AS seen_at_ms,
        map('zone', 'north', 'os', 'é') AS labels, map(1, 2L) AS counts, map('x', 'UP') AS states,
        map('p', x'00ff') AS parts, timestamp'2026-11-28 12:00:00.123456' AS began_at_us,
        timestamp'9999-12-31 20:59:59.999Z' AS due_at_ms,
        timestamp'1969-12-31 23:59:59Z' AS ended_at_ms, timestamp'2038-01-01 00:00:00Z' AS
        retired_at_s, timestamp'2026-11-28 12:00:00.9' AS checked, x'00ff' AS blob
    UNION ALL
    SELECT 'a', timestamp'1960-01-01 00:00:00Z', map(), NULL, NULL, NULL, NULL, NULL,
        timestamp'1970-01-01 00:00:00Z', NULL, NULL, NULL
''')
rows.write.format("quorate").mode("append").options(**given, load_id="first").save()


def shown(rows):
    found = rows.orderBy("seen_at_ms").selectExpr(
        "cast(seen_at_ms AS string) seen", "labels", "counts", "states", "hex(parts['p']) part",
        "cast(began_at_us AS string) began", "cast(due_at_ms AS string) due",
        "cast(ended_at_ms AS string) ended", "cast(retired_at_s AS string) retired",
        "cast(ticked_at_ns AS string) ticked", "cast(checked AS string) checked", "hex(blob) blob",
    )
    return [each.asDict() for each in found.collect()]


told(rows=shown(read()))

# What no program of Spark has written.
with Client(endpoints) as client:
    odd = Machine(rack="odd", seen_at_ms=0, due_at_ms=(1 << 64) - 1, ticked_at_ns=-1_501)
    odd.began_at_us = -(1 << 63)
    odd.checked.seconds, odd.checked.nanos = 253_402_300_799, 999_999_999
    put = PutMachines(machines=[odd, Machine(rack="odd", seen_at_ms=1 << 60)])
    client.call("/fleet.v1.MachineService/PutBatch", put, BatchReply)
told(odd=shown(read().where("rack = 'odd'")))
later = "due_at_ms > timestamp'9999-01-01 00:00:00Z'"
told(later=read().where(f"rack = 'odd' and {later}").count())

# One row each millisecond.
steps = spark.range(0, 100).selectExpr(
    "'steps' AS rack", "timestamp_millis(1795863600000 + id) AS seen_at_ms",
    "map('n', string(id)) AS labels"
)
steps.write.format("quorate").mode("append").options(**given).save()


def asked(condition):
    found = read().where(f"rack = 'steps' AND {condition}")
    plan = re.search(r"PushedFilters: .(.*).$", explained(found), re.MULTILINE)
    left = "Filter (" in explained(found)
    numbers = sorted(int(each.labels["n"]) for each in found.collect())
    pushed = sorted(re.findall(r"(\\w+)[(](\\w+)", plan[1])) if plan else []
    return {"found": numbers, "pushed": pushed, "left": left}


def explained(rows):
    with redirect_stdout(StringIO()) as said:
        rows.explain("formatted")
    return said.getvalue()


at = "2026-11-28 12:00:00"
told(
    equal=asked(f"seen_at_ms = timestamp'{at}.007'"),
    unequal=asked(f"seen_at_ms = timestamp'{at}.0075'"),
    zoned=asked("seen_at_ms = timestamp'2026-11-28T11:00:00.007Z'"),
    several=asked(f"seen_at_ms IN (timestamp'{at}.001', timestamp'{at}.0015')"),
    between=asked(f"seen_at_ms > timestamp'{at}.0965' AND seen_at_ms <= timestamp'{at}.0985'"),
    half=asked(f"seen_at_ms >= timestamp'{at}.0965' AND seen_at_ms < timestamp'{at}.0985'"),
    exact=asked(f"seen_at_ms >= timestamp'{at}.097' AND seen_at_ms < timestamp'{at}.098'"),
    other=asked("began_at_us IS NULL AND labels['n'] < '1'"),
    day=asked("date(seen_at_ms) = date'2026-11-28' AND labels['n'] = '5'"),
    number=asked("unix_millis(seen_at_ms) = 1795863600003"),
)

# Bad rows: all others are loaded.
bad = spark.sql('''
    SELECT 'bad' AS rack, timestamp'2026-01-01 00:00:00Z' AS seen_at_ms, map('a', 'b') AS labels,
        map('x', 'UP') AS states, timestamp'1960-01-01 00:00:00Z' AS due_at_ms, NULL AS checked
    UNION ALL SELECT 'bad', timestamp'2026-01-02', map('a', NULL), map(), NULL, NULL
    UNION ALL SELECT 'bad', timestamp'2026-01-03', map('a', 'b'), map('x', 'SIDEWAYS'), NULL, NULL
    UNION ALL SELECT 'bad', timestamp'2026-01-04', map(), map(), NULL,
        timestamp_seconds(253402300800)
    UNION ALL SELECT 'bad', timestamp'2026-01-05', map('a', 'b'), map(), NULL, NULL
''')
beside = {"bad_rows": "dead_letter", "dead_letter_path": folder + "/bad"}
bad.write.format("quorate").mode("append").options(**given, **beside, load_id="bad").save()
lines = spark.read.json(folder + "/bad/bad").orderBy("row").collect()
letters = [(each.column, each.reason, each["values"].asDict(True)) for each in lines]
told(bad=letters, good=read().where("rack = 'bad'").count())


def refused(columns):
    try:
        rows.selectExpr(*columns).write.format("quorate").mode("append").options(**given).save()
    except Exception as error:
        return sentence_of(error)


told(
    refused=[
        refused(["rack", "timestamp_ntz'2026-01-01 00:00:00' AS seen_at_ms"]),
        refused(["rack", "seen_at_ms", "map('a', 1) AS labels"]),
        refused(["rack", "seen_at_ms", "'{}' AS labels"]),
    ]
)

# A table of the catalog, and SQL.
options = f"table 'fleet.machines', endpoints '{endpoints}'"
spark.sql(f"CREATE TABLE machines USING quorate OPTIONS ({options})")
spark.sql('''
    INSERT INTO machines (rack, seen_at_ms, labels, due_at_ms)
    SELECT 'sql', timestamp'2026-11-28 12:00:00', map('zone', 'south'), timestamp_millis(1)
''')
told(
    sql=spark.sql(
        "SELECT labels['zone'] zone, cast(due_at_ms AS string) due FROM machines WHERE rack = 'sql'"
    ).first().asDict()
)
# Numbers of the unit are taken as before.
numbers = spark.sql("SELECT 'numbers' AS rack, 5L AS seen_at_ms, 0L AS due_at_ms, 7 AS ended_at_ms")
numbers.write.format("quorate").mode("append").options(**given).save()
told(numbers=shown(read().where("rack = 'numbers'"))[0])

# Files, there and back.
found = find("fleet.machines")
mine = read().where("rack = 'a'").drop("rack")
for form in ("parquet", "csv", "json"):
    place = Path(folder) / form
    files.write(mine.selectExpr(f"'{form}' AS rack", "*"), place, form)
    back = files.read(spark, place, form, found)
    back.write.format("quorate").mode("append").options(**given).save()
    checked = checking.check("fleet.machines", place, form)
    bad = [str(each) for each in checked.first_bad]
    again = shown(read().where(f"rack = '{form}'"))
    told(**{form: {"rows": again, "checked": checked.rows, "bad": bad}})

# Changes, into another rack.
stream = (
    spark.readStream.format("quorate").options(changes="fleet.machines", endpoints=endpoints).load()
    .where("rack = 'a'").withColumn("rack", expr("'copied'"))
    .writeStream.format("quorate").options(**given, operation="_operation")
    .option("checkpointLocation", folder + "/copy").trigger(availableNow=True).start()
)
stream.awaitTermination(120)
told(copied=shown(read().where("rack = 'copied'")))

# What the interface of Spark tells while a load runs: its last partition waits for a file.
gate = folder + "/gate"


@udf("string")
def waiting(number):
    while number >= 6 and not os.path.exists(gate):
        time.sleep(0.02)
    return str(number)


def seen():
    at = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}"
    jobs = json.load(urlopen(f"{at}/jobs"))
    queries = json.load(urlopen(f"{at}/sql?details=true&length=1000"))
    job = [each for each in jobs if each.get("description") == "Quorate load gated"]
    query = [each for each in queries if each["description"] == "Quorate load gated"]
    if not job or not query:
        return {}
    nodes = {
        each["nodeName"]: {one["name"]: one["value"] for one in each["metrics"]}
        for each in query[0]["nodes"]
    }
    return {
        "job": job[0]["status"],
        "query": query[0]["status"],
        "tasks": job[0]["numTasks"],
        "tasks_done": job[0]["numCompletedTasks"],
        "write": nodes.get("AppendData quorate"),
    }


during = {}


def look():
    until = time.monotonic() + 120
    while not (during.get("tasks_done", 0) >= 3 or time.monotonic() > until):
        time.sleep(0.1)
        during.update(seen())
    open(gate, "w").close()


looking = Thread(target=look)
looking.start()
spark.sparkContext.setJobDescription("Quorate load gated")
gated = spark.range(0, 8, 1, 4).select(
    waiting("id").alias("rack"), expr("timestamp_millis(1)").alias("seen_at_ms")
)
gated.write.format("quorate").mode("append").options(**given, load_id="gated").save()
looking.join()
told(during=during, after=seen())
spark.stop()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the plugin `fleet` is installed."""
    site = tmp_path_factory.mktemp("site")
    source = Path(__file__).with_name("fleet.py").read_text(encoding="utf-8")
    (site / "quorate_fleet.py").write_text(source, encoding="utf-8")
    about = site / "quorate_fleet-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: quorate-fleet\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[quorate]\nfleet = quorate_fleet\n")
    return site


@pytest.fixture(scope="module")
def cluster(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A node with machines."""
    pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')
    from quorate_spark.source.java import missing_java

    if why := missing_java():
        pytest.skip(why)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
        with Cluster(tmp_path_factory.mktemp("node"), 1, plugins=["fleet", "spark"]) as cluster:
            cluster.ready().leader("fleet/0")
            yield cluster


def ran(site: Path, cluster: Cluster, folder: Path) -> dict[str, Any]:
    """Run the program in a Spark of its own, and return what it tells."""
    file = folder / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "PYSPARK_PYTHON": sys.executable,
        # The interface is served at this address alone.
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, str(file), cluster.endpoints, str(folder)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    return found


Said = Mapping[str, Any]


@pytest.fixture(scope="module")
def said(site: Path, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Said:
    """Return all that the program tells."""
    return ran(site, cluster, tmp_path_factory.mktemp("program"))


NOTHING: Final[Said] = {
    **{name: {} for name in ("labels", "counts", "states")},
    **dict.fromkeys(("part", "began", "due", "ended", "retired", "ticked", "checked")),
    "blob": "",
}
#: What `shown` gives of the rows of the rack `a`, in Berlin.
ROWS: Final[list[Said]] = [
    {**NOTHING, "seen": "1960-01-01 01:00:00", "ended": "1970-01-01 01:00:00"},
    {
        "seen": "2026-11-28 12:00:00.123",
        "labels": {"zone": "north", "os": "é"},
        "counts": {"1": 2},
        "states": {"x": "UP"},
        "part": "00FF",
        "began": "2026-11-28 12:00:00.123456",
        "due": "9999-12-31 21:59:59.999",
        "ended": "1970-01-01 00:59:59",
        "retired": "2038-01-01 01:00:00",
        "ticked": None,
        "checked": "2026-11-28 12:00:00.9",
        "blob": "00FF",
    },
]


def test_maps_and_moments_are_written_and_read(said: Said) -> None:
    kinds = dict(said["columns"])
    assert [kinds[name] for name in ("labels", "counts", "states", "parts")] == [
        "map<string,string>",
        "map<int,bigint>",
        "map<string,string>",
        "map<string,binary>",
    ]
    ends = ("_ms", "_us", "_s", "_ns", "checked")
    assert {name for name in kinds if name.endswith(ends)} == {
        name for name, kind in kinds.items() if kind == "timestamp"
    }
    assert said["rows"] == ROWS
    # A stream of changes has the same columns, and takes them.
    assert said["copied"] == ROWS


def test_moments_that_spark_cannot_write(said: Said) -> None:
    first, last = said["odd"]

    # A key with the number 0, and a number that no signed one holds.
    assert (first["seen"], first["due"]) == (
        "1970-01-01 01:00:00",
        "+294247-01-10 05:00:54.775",
    )
    assert first["began"].startswith("-290308-12-21")
    assert first["ticked"] == "1970-01-01 00:59:59.999998"
    assert first["checked"] == "+10000-01-01 00:59:59.999999"
    assert last == {**NOTHING, "seen": "+294247-01-10 05:00:54.775"}
    assert said["later"] == 1


@pytest.mark.parametrize(
    ("name", "found", "pushed"),
    [
        ("equal", [7], ["EqualTo"]),
        ("unequal", [], ["EqualTo"]),
        ("zoned", [7], ["EqualTo"]),
        ("several", [1], ["In"]),
        ("between", [97, 98], ["GreaterThan", "LessThanOrEqual"]),
        ("half", [97, 98], ["GreaterThanOrEqual", "LessThan"]),
        ("exact", [97], ["GreaterThanOrEqual", "LessThan"]),
    ],
)
def test_predicates_of_moments_are_pushed_down(
    said: Said, name: str, found: list[int], pushed: list[str]
) -> None:
    asked = said[name]

    assert asked["found"] == found
    assert asked["pushed"] == [["EqualTo", "rack"], *([each, "seen_at_ms"] for each in pushed)]
    # Nothing of them is left to Spark.
    assert not asked["left"]


@pytest.mark.parametrize(("name", "found"), [("other", 0), ("day", 5), ("number", 3)])
def test_other_predicates_are_left_to_spark(said: Said, name: str, found: int) -> None:
    assert (said[name]["found"], said[name]["left"]) == ([found], True)


def test_bad_maps_and_moments_are_bad_rows(said: Said) -> None:
    reasons = {column: reason for column, reason, _ in said["bad"]}

    assert said["good"] == 1
    assert reasons.keys() == {"due_at_ms", "labels", "states", "checked"}
    assert reasons["labels"] == "has a value that is null"
    assert reasons["states"].startswith("has a value that must be null or one of UP, DOWN")
    values = {column: found for column, _, found in said["bad"]}
    assert values["due_at_ms"]["labels"] == {"a": "b"}
    assert values["checked"]["checked"].startswith("10000-01-01 01:00:00")
    for told, column in zip(said["refused"], ("seen_at_ms", "labels", "labels"), strict=True):
        assert told.startswith(f"these columns do not fit the table fleet.machines: {column} is ")


def test_sql_and_numbers_write_them(said: Said) -> None:
    assert said["sql"] == {"zone": "south", "due": "1970-01-01 01:00:00.001"}
    assert said["numbers"] == {
        **NOTHING,
        "seen": "1970-01-01 01:00:00.005",
        "ended": "1970-01-01 01:00:00.007",
    }


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_files_hold_them(said: Said, form: str) -> None:
    first, second = said[form]["rows"]

    # Bytes that are no text are for Parquet.
    lossy = {
        "csv": {"part": "00EFBFBD", "blob": "EFBFBD"},
        "json": {"part": "00EFBFBD", "blob": "00EFBFBD"},
    }.get(form, {})
    assert (first, second) == (ROWS[0], {**ROWS[1], **lossy})
    assert (said[form]["checked"], said[form]["bad"]) == (2, [])


def test_the_interface_of_spark_shows_the_progress_of_a_load(said: Said) -> None:
    during, after = said["during"], said["after"]

    assert (during["job"], during["query"]) == ("RUNNING", "RUNNING")
    assert (during["tasks"], during["tasks_done"]) == (4, 3)
    assert (after["job"], after["query"], after["tasks_done"]) == ("SUCCEEDED", "COMPLETED", 4)
    if after["write"]:
        # Since Spark 4.3 it has the rows, too.
        assert after["write"]["number of output rows"] == "8"

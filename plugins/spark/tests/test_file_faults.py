"""Loads that are published in one step are whole or gone, wherever a process of Spark is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from quorate.testing.waiting import until
from quorate_spark.client import Loads
from quorate_spark.v1.rows_pb2 import Load

from tests.support.spark_faults import IN_A_TASK, Job
from tests.support.spark_files import PARTITIONS, Site, columns_of, new_site, tried

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

ROWS: Final = 600
#: No commit here makes this many calls.
MOST_STEPS: Final = 40


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with new_site(tmp_path) as found:
        yield found


def job_of(site: Site, tmp_path: Path, load_id: str, step: int) -> Job:
    """Return a job that loads the rows of `Site.load`, in the same partitions."""
    options = {"table": "mqtt.sessions", "endpoints": site.cluster.endpoints}
    return Job(
        load_id=load_id,
        columns=columns_of(load_id),
        rows=ROWS,
        partitions=PARTITIONS,
        options={**options, "load.mode": "files", "publish": "atomic"},
        step=step,
        mark=str(tmp_path / f"{load_id}.killed"),
    )


def gone(site: Site, load_id: str) -> None:
    """Abort a load, and check that nothing of it is left on any disk."""
    from quorate_spark.source import undoing

    # A shard may have lost its leader.
    tried(lambda: undoing.abort(site.client, load_id, lambda _: None))
    assert site.count(load_id) == 0
    name = f"spark/{load_id}".encode()
    until(lambda: None if name in site.names() else True)


def whole(site: Site, load_id: str) -> None:
    view = Loads(site.client).get(load_id)
    assert view is not None
    assert (view.rows, view.load.state, view.load.by_files) == (ROWS, Load.FINISHED, True)
    assert site.count(load_id) == ROWS


def agree(site: Site) -> None:
    for digests in site.digests().values():
        assert len(set(digests)) == 1


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_a_load_is_whole_or_gone_wherever_its_commit_is_killed(
    spark: SparkSession, site: Site, tmp_path: Path
) -> None:
    for step in count(IN_A_TASK):
        assert step < MOST_STEPS
        killed = set()
        for way in ("on", "back"):
            job = job_of(site, tmp_path, f"{way}{step + 1}", step)
            with suppress(Exception):
                job.save_and_die(spark)
            assert site.count(job.load_id) in (0, ROWS)
            if way == "on":
                job.save(spark)
                whole(site, job.load_id)
            else:
                gone(site, job.load_id)
            killed.add(Path(job.mark).exists())
        if killed == {False}:
            break
    # Each shard is asked, and the load recorded.
    assert step > 3
    agree(site)

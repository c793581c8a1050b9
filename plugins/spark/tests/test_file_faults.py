"""Loads by files end whole or are gone, wherever a process of Spark is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any, Final

import pytest
from quorate.client import QuorateError
from quorate.testing.waiting import until
from quorate_spark.client import Loads
from quorate_spark.v1.rows_pb2 import Load

from tests.support.spark_faults import IN_A_TASK, Job, started
from tests.support.spark_files import PARTITIONS, Site, columns_of, new_site, tried

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

ROWS: Final = 600
#: No commit here makes this many calls.
MOST_STEPS: Final = 40
#: A further Spark may take so long to begin and to end.
SPARK_S: Final = 240.0


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with new_site(tmp_path) as found:
        yield found


def job_of(site: Site, tmp_path: Path, load_id: str, publish: str, step: int, **more: Any) -> Job:
    """Return a job that loads the rows of `Site.load`, in the same partitions."""
    options = {"table": "mqtt.sessions", "endpoints": site.cluster.endpoints}
    return Job(
        load_id=load_id,
        columns=columns_of(load_id),
        rows=ROWS,
        partitions=PARTITIONS,
        options={**options, "load.mode": "files", "publish": publish},
        step=step,
        mark=str(tmp_path / f"{load_id}.killed"),
        **more,
    )


@contextmanager
def further_spark(job: Job) -> Iterator[Popen[bytes]]:
    """Carry out a job with a Spark of its own, which does not outlive the block."""
    driver = Popen(started(job), start_new_session=True)
    try:
        yield driver
    finally:
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


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
@pytest.mark.parametrize("publish", ["shards", "atomic"])
def test_a_load_is_whole_or_gone_wherever_its_commit_is_killed(
    spark: SparkSession, site: Site, tmp_path: Path, publish: str
) -> None:
    for step in count(IN_A_TASK):
        assert step < MOST_STEPS
        killed = set()
        for way in ("on", "back"):
            job = job_of(site, tmp_path, f"{way}{step + 1}", publish, step)
            with suppress(Exception):
                job.save_and_die(spark)
            if publish == "atomic":
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


@pytest.mark.parametrize(
    ("publish", "step"),
    [
        # The files of one shard are in place, and those of the other are not.
        pytest.param("shards", 4, marks=pytest.mark.ci),
        pytest.param("shards", IN_A_TASK, marks=pytest.mark.full),
        pytest.param("atomic", IN_A_TASK, marks=pytest.mark.full),
        pytest.param("atomic", 3, marks=pytest.mark.full),
    ],
)
@pytest.mark.timeout(600)
def test_a_load_goes_on_or_back_when_all_of_spark_is_killed(
    spark: SparkSession, site: Site, tmp_path: Path, publish: str, step: int
) -> None:
    ways = [job_of(site, tmp_path, way, publish, step, kills="driver") for way in ("on", "back")]
    with further_spark(ways[0]) as first, further_spark(ways[1]) as second:
        assert first.wait(SPARK_S) == second.wait(SPARK_S) == -signal.SIGKILL
    for job in ways:
        assert Path(job.mark).exists()
        there = site.count(job.load_id)
        assert 0 < there < ROWS if (publish, step) == ("shards", 4) else there == 0
    on, back = ways
    on.save(spark)
    whole(site, on.load_id)
    gone(site, back.load_id)
    agree(site)


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("publish", ["shards", "atomic"])
def test_a_load_ends_whole_when_an_executor_is_killed(
    spark: SparkSession, site: Site, tmp_path: Path, publish: str
) -> None:
    master = "local-cluster[2,1,1024]"
    more = {"kills": "executor", "master": master}
    job = job_of(site, tmp_path, "one", publish, IN_A_TASK, **more)
    with further_spark(job) as driver:
        # Spark repeats the task elsewhere, and nobody needs to do anything.
        assert driver.wait(SPARK_S) == 0
    assert Path(job.mark).exists()
    whole(site, "one")
    agree(site)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_an_abort_that_is_interrupted_anywhere_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quorate.client.twins import LoopThread
    from quorate_spark.source import undoing

    run: Any = LoopThread.run
    for step in count():
        assert step < MOST_STEPS
        load_id = f"abort{step}"
        site.load(load_id, ROWS)
        calls = count()

        def counted(
            thread: LoopThread, coroutine: Any, calls: count[int] = calls, step: int = step
        ) -> Any:
            # What is closed then, because it is given up, may be closed.
            if next(calls) == step:
                coroutine.close()
                raise KeyboardInterrupt
            return run(thread, coroutine)

        with monkeypatch.context() as patch:
            patch.setattr(LoopThread, "run", counted)
            try:
                undoing.abort(site.client, load_id, lambda _: None)
                ended = True
            except (KeyboardInterrupt, QuorateError):
                ended = False
        gone(site, load_id)
        if ended:
            break
    # Each shard is asked to drop its files and to delete its rows.
    assert step > 5
    agree(site)

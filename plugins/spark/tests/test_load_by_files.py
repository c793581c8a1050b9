"""Loads by files on real nodes, killed at every step; Spark is not needed for that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from quorate.client import QuorateError
from quorate.testing.waiting import until
from quorate.v1 import files_pb2
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.sessions_pb2 import DeleteSession, ImportSession
from quorate_spark.client import Loads
from quorate_spark.v1.rows_pb2 import Load

from tests.support.spark_files import EXPIRY_S, PARTITIONS, ROWS, TENANT, Site, new_site, tried

if TYPE_CHECKING:
    from quorate_spark.source.filing import Filed

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with new_site(tmp_path) as found:
        yield found


@pytest.mark.ci
def test_rows_of_files_are_on_all_replicas_and_may_be_taken_back(site: Site) -> None:
    from quorate_spark.source import undoing
    from quorate_spark.source.errors import SourceError

    filed = site.send("one")
    assert site.count("one") == 0
    site.place("one", filed)
    assert site.count("one") == ROWS
    view = Loads(site.client).get("one")
    assert view is not None
    assert (view.rows, view.load.by_files, view.load.state) == (ROWS, True, Load.FINISHED)

    # Once more changes nothing: not even what was deleted since comes back.
    site.client.execute(DeleteSession(tenant=TENANT, client_id="one-000007"), files_pb2.FileSet)
    site.load("one")
    assert site.count("one") == ROWS - 1

    # Where there are rows no files are put in place.
    again = site.send("two", 10)
    rows = SyncMqtt(site.client).sessions
    rows.import_many(
        [ImportSession(tenant=TENANT, client_id="two-000003", expiry_interval_s=EXPIRY_S)]
    )
    with pytest.raises(SourceError, match="two-000003"):
        site.place("two", again)
    assert undoing.abort(site.client, "two", lambda _: None) == 0
    assert site.count("two") == 1
    until(lambda: None if any(b"two" in each for each in site.names()) else True)

    assert undoing.abort(site.client, "one", lambda _: None) == ROWS - 1
    assert site.count("one") == 0
    with pytest.raises(QuorateError, match="LOAD_ABORTED"):
        site.load("one")
    for digests in site.digests().values():
        assert len(set(digests)) == 1


@pytest.mark.ci
def test_a_node_that_was_away_gets_the_files_from_the_others(site: Site) -> None:
    leader = site.cluster.leader("mqtt/0")
    away = next(node for node in site.cluster.nodes.values() if node is not leader)
    away.kill()
    site.load("one")
    away.start()
    away.ready()
    assert site.count("one") == ROWS
    for digests in site.digests().values():
        assert len(set(digests)) == 1


@pytest.mark.ci
def test_a_full_disk_pauses_the_load_which_says_whose_it_is(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from quorate_spark.source.errors import SourceError

    full = tmp_path / "full"
    full.touch()
    node = site.cluster.leader("mqtt/0")
    node.stop()
    node.failpoint = f"staging.writes=full:{full}"
    node.start()
    site.cluster.ready()
    says = rf"wait(s|ed) .*{node.name}: .*No space left"
    # It may wait for a time that the load says, and keeps what the other nodes have.
    with pytest.raises(SourceError, match=says):
        site.send("one", timeout_s="2")
    assert site.count("one") == 0

    caplog.clear()
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(site.load, "one")
        until(lambda: True if re.search(says, caplog.text) else None)
        assert not loading.done()
        full.unlink()
        loading.result()
    assert site.count("one") == ROWS
    for digests in site.digests().values():
        assert len(set(digests)) == 1


STEPS: Final = (
    "staging.synced",
    "staging.named",
    "ingest.gathered",
    "ingest.begun",
    "ingest.placed",
)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, marks=pytest.mark.ci if step == "ingest.placed" else pytest.mark.full)
        for step in STEPS
    ],
)
def test_a_load_ends_whole_whoever_is_killed_at_any_step(site: Site, step: str) -> None:
    victim = site.cluster.leader("mqtt/0")
    victim.stop()
    victim.failpoint = step
    victim.start()
    victim.ready()
    filed: list[Filed] = []
    tried(lambda: filed.extend(site.send("one")) if not filed else None)
    if victim.runs and step == "ingest.gathered":
        # It dies when it leads.
        tried(lambda: site.lead("mqtt/0", victim))
    tried(lambda: site.place("one", filed[:PARTITIONS]))
    until(lambda: None if victim.runs else True) if step.startswith("ingest") else None
    victim.kill()
    victim.failpoint = ""
    victim.start()
    victim.ready()
    tried(lambda: site.load("one"))
    assert site.count("one") == ROWS
    for digests in site.digests().values():
        assert len(set(digests)) == 1

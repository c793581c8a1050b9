"""Loads that come into place in one step, read and killed at every step; Spark is not needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from quorate.client import Client, QuorateError
from quorate.plugin import keys
from quorate.testing.waiting import PATIENCE_S, until
from quorate.v1 import view_pb2 as views
from quorate.v1.files_pb2 import FileSet
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.sessions_pb2 import DeleteSession, ImportSession
from quorate_spark.client import Loads
from quorate_spark.v1.commands_pb2 import EndLoadCommand
from quorate_spark.v1.rows_pb2 import Load

from tests.support.spark_files import EXPIRY_S, TENANT, Site, new_site, tried

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

READERS: Final = 20
#: Fewer than a page of a list.
ROWS: Final = 600


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with new_site(tmp_path) as found:
        yield found


class Reader(threading.Thread):
    """Reads until it is told to end, and keeps what was not all or nothing."""

    def __init__(self, site: Site, prefix: str, read: Callable[[Client, str], set[int]]) -> None:
        super().__init__(daemon=True)
        self._endpoints: Final = site.cluster.endpoints
        self._prefix: Final = prefix
        self._read: Final = read
        self.ended: Final = threading.Event()
        self.seen: Final[list[int]] = []
        self.parts: Final[list[set[int]]] = []

    def run(self) -> None:
        with Client(self._endpoints, timeout_s=60.0) as client:
            while not self.ended.is_set():
                try:
                    found = self._read(client, self._prefix)
                except QuorateError:
                    continue
                self.seen.append(len(found))
                if len(found) not in (0, ROWS):
                    self.parts.append(found)

    @property
    def went_back(self) -> bool:
        return self.seen != sorted(self.seen)


def listed(client: Client, prefix: str) -> set[int]:
    """List one page of all shards."""
    page = SyncMqtt(client).sessions.list(tenant=TENANT, prefix=prefix)
    return {int(each.client_id[-6:]) for each in page}


def gotten(client: Client, prefix: str) -> set[int]:
    """Get rows of all shards one by one: none is missing after one that is there."""
    sessions, found = SyncMqtt(client).sessions, set[int]()
    for number in range(8):
        if sessions.get(tenant=TENANT, client_id=f"{prefix}-{number:06}") is not None:
            found.add(number)
        elif found:
            return found
    # Those before the first one were read before it was published.
    return set(range(ROWS)) if 0 in found else set()


def viewed(client: Client, prefix: str) -> set[int]:
    """Take a view of every shard as a scan by Spark does."""
    from quorate_spark.source import reading

    parts = reading.planned(
        client,
        "mqtt",
        "mqtt.sessions",
        reading.EVERY,
        ranges_per_shard=1,
        view_ttl_s=60.0,
    )
    found = set[int]()
    for part in parts:
        node = client.at(part.node)
        request = views.ReadViewRequest(view=part.view)
        for page in node.stream("/quorate.v1.ViewService/Read", request, views.ReadViewResponse):
            ids = [str(keys.unpack(row.key)[1]) for row in page.rows]
            found |= {int(each[-6:]) for each in ids if each.startswith(prefix)}
        close = views.CloseViewRequest(view=part.view)
        node.call("/quorate.v1.ViewService/Close", close, views.CloseViewResponse)
    return found


def seen_by(site: Site, prefix: str, act: Callable[[], object]) -> list[Reader]:
    """Do something while readers read; return them once each has read before and after."""
    reads = (listed, gotten, viewed)
    readers = [Reader(site, prefix, reads[at % len(reads)]) for at in range(READERS)]
    for reader in readers:
        reader.start()
    until(lambda: True if all(each.seen for each in readers) else None)
    act()
    counts = [len(each.seen) for each in readers]
    # The read that was under way may be one of before.
    until(
        lambda: (
            True
            if all(len(each.seen) > count + 1 for each, count in zip(readers, counts, strict=True))
            else None
        )
    )
    for reader in readers:
        reader.ended.set()
    for reader in readers:
        reader.join(PATIENCE_S)
    return readers


@pytest.mark.ci
def test_no_reader_sees_a_part_and_an_abort_leaves_nothing(site: Site) -> None:
    from quorate_spark.source import undoing
    from quorate_spark.source.errors import SourceError

    site.stage("one", ROWS)
    assert site.count("one") == 0
    view = Loads(site.client).get("one")
    assert view is not None
    assert view.load.state == Load.STAGED
    readers = seen_by(site, "one", lambda: site.publish("one"))
    assert [each.parts for each in readers] == [[]] * READERS
    assert [each for each in readers if each.went_back] == []
    assert {each.seen[-1] for each in readers} == {ROWS}
    assert site.publish("one").state == Load.FINISHED

    # Nothing of it comes into place where one shard refuses it.
    site.stage("two", ROWS)
    taken = ImportSession(tenant=TENANT, client_id="two-000003", expiry_interval_s=EXPIRY_S)
    SyncMqtt(site.client).sessions.import_many([taken])
    with pytest.raises(SourceError, match="two-000003"):
        site.publish("two")
    assert site.count("two") == 1
    # The other way: it takes what it can have once the row is gone.
    site.client.execute(DeleteSession(tenant=TENANT, client_id="two-000003"), FileSet)
    assert site.publish("two").state == Load.FINISHED
    assert site.count("two") == ROWS

    site.stage("three", ROWS)
    assert site.names()
    assert undoing.abort(site.client, "three", lambda _: None) == 0
    with pytest.raises(SourceError, match="staged"):
        site.publish("three")
    until(lambda: None if any(b"three" in each for each in site.names()) else True)
    assert site.count("three") == 0
    for digests in site.digests().values():
        assert len(set(digests)) == 1


#: Of the leader of a shard, of metadata/0 that decides, or of the node that is asked to publish.
LED: Final = ("mqtt/0", "metadata/0")
STEPS: Final = (
    "publish.begun",
    "publish.closing",
    "publish.closed",
    "publish.reported",
    "publish.opening",
    "ingest.begun",
    "ingest.placed",
    "publish.opened",
)


@pytest.mark.parametrize(
    ("step", "led"),
    [
        pytest.param(
            step,
            led,
            marks=pytest.mark.ci if (step, led) == ("publish.closed", LED[0]) else pytest.mark.full,
        )
        for step in STEPS
        for led in LED
    ],
)
def test_a_publication_ends_whole_whoever_is_killed_at_any_step(
    site: Site, step: str, led: str
) -> None:
    site.stage("one", ROWS)
    victim = site.cluster.leader(led)
    victim.stop()
    victim.failpoint = step
    victim.start()
    victim.ready()
    if led != "metadata/0":
        # It dies when it leads.
        tried(lambda: site.lead(led, victim))
    readers = seen_by(site, "one", lambda: tried(lambda: site.publish("one")))
    assert [each.parts for each in readers] == [[]] * READERS
    assert [each for each in readers if each.went_back] == []
    victim.kill()
    victim.failpoint = ""
    victim.start()
    victim.ready()
    assert site.publish("one").state == Load.FINISHED
    until(lambda: True if site.count("one") == ROWS else None)
    # Nothing is closed any more.
    taken = ImportSession(tenant=TENANT, client_id="one-more", expiry_interval_s=EXPIRY_S)
    SyncMqtt(site.client).sessions.import_many([taken])
    for digests in site.digests().values():
        assert len(set(digests)) == 1


@pytest.mark.full
def test_a_publication_that_lacks_a_shard_is_aborted_and_closes_nothing(site: Site) -> None:
    """Begun by someone who has not staged every shard."""
    from quorate_spark.source import placing
    from quorate_spark.source.errors import SourceError

    filed = site.send("one", ROWS, publish="later")
    assert filed
    site.client.execute(EndLoadCommand(load_id="one", staged=True), Load)
    with pytest.raises(SourceError, match="not staged"):
        placing.publish(site.client, "one", 60.0)
    assert site.count("one") == 0
    site.load("two", ROWS)
    assert site.count("two") == ROWS

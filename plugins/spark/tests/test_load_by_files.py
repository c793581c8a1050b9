"""Loads by files on real nodes, killed at every step; Spark is not needed for that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from quorate.client import Client, QuorateError
from quorate.plugin import keys
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1 import files_pb2
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.sessions_pb2 import DeleteSession, ImportSession
from quorate_spark.client import Loads
from quorate_spark.v1.commands_pb2 import BeginLoadCommand, EndLoadCommand
from quorate_spark.v1.rows_pb2 import Load

if TYPE_CHECKING:
    from quorate.testing.cluster.node_process import NodeProcess
    from quorate_spark.source.filing import Filed
    from quorate_spark.source.options import WriteOptions

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

TENANT: Final = "acme"
SHARDS: Final = ("mqtt/0", "mqtt/1")
EXPIRY_S: Final = 3_600
ROWS: Final = 2_000
PARTITIONS: Final = 2
#: What a load writes; elections write elsewhere.
LOADED: Final = (
    "mqtt.sessions",
    "mqtt.session_counts",
    "core.deadlines",
    "core.deadline_keys",
    "core.file_sets",
)


class Site:
    """A cluster that loads sessions by files."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        self.cluster: Final = cluster
        self.client: Final = client

    def options(self, load_id: str, **given: str) -> WriteOptions:
        from quorate_spark.source.options import write_options

        options = {"table": "mqtt.sessions", "endpoints": self.cluster.endpoints}
        return write_options({**options, "load_id": load_id, "load.mode": "files", **given})

    def send(self, load_id: str, rows: int = ROWS) -> list[Filed]:
        """Begin a load, and send the files of all partitions."""
        from quorate_spark.source import placing
        from quorate_spark.source.filing import send_files
        from quorate_spark.source.tables import find

        options, found = self.options(load_id), find("mqtt.sessions")
        opened = placing.opened(self.client, options, found)
        assert opened is not None
        begin = BeginLoadCommand(load_id=load_id, table=options.table, by_files=True)
        self.client.execute(begin, Load)
        return [
            asyncio.run(send_files(options, each, opened, batches(load_id, each, rows)))
            for each in range(PARTITIONS)
        ]

    def place(self, load_id: str, filed: Sequence[Filed]) -> None:
        """Put the files in place, and end the load."""
        from quorate_spark.source import placing
        from quorate_spark.source.tables import find

        options = self.options(load_id)
        placing.put_in_place(self.client, options, find("mqtt.sessions"), filed)
        self.client.execute(EndLoadCommand(load_id=load_id), Load)

    def load(self, load_id: str, rows: int = ROWS) -> None:
        self.place(load_id, self.send(load_id, rows))

    def count(self, prefix: str) -> int:
        """Return how many sessions there are whose client ids begin with a prefix."""
        sessions = SyncMqtt(self.client).sessions.list(tenant=TENANT, prefix=prefix)
        return sum(1 for _ in sessions)

    def staged(self) -> list[Path]:
        """Return what the nodes keep of files."""
        nodes = self.cluster.nodes.values()
        return [path for node in nodes for path in node.directory.glob("files/*/*")]

    def digests(self) -> dict[str, list[str]]:
        """Stop all nodes, and return the digest of each replica, by shard."""
        settle(list(self.cluster.nodes.values()))
        for node in self.cluster.nodes.values():
            node.stop()
        return {
            shard: [digest_of(node, shard) for node in self.cluster.nodes.values()]
            for shard in SHARDS
        }


def settle(nodes: Sequence[NodeProcess]) -> None:
    """Wait until all replicas have applied the same."""

    def applied() -> bool | None:
        reports = [node.report() for node in nodes]
        indexes = [
            {each.shard: each.applied_index for each in report.shards}
            for report in reports
            if report is not None
        ]
        return True if len(indexes) == len(nodes) and len(set(map(str, indexes))) == 1 else None

    until(applied)


def digest_of(node: NodeProcess, shard: str) -> str:
    group, _, number = shard.partition("/")
    data = ShardData.open(DiskHome(node.directory / "shards" / group / number), ())
    digest = sha256()
    for family in LOADED:
        for key, value in data.iterate(family, b"", None):
            digest.update(keys.pack(family, key, value))
    data.close()
    return digest.hexdigest()


def batches(prefix: str, partition: int, rows: int) -> Iterator[Any]:
    """Yield the rows of a partition, the same ones every time."""
    ids = range(partition, rows, PARTITIONS)
    columns = {
        "tenant": pa.array([TENANT] * len(ids)),
        "client_id": pa.array([f"{prefix}-{number:06}" for number in ids]),
        "expiry_interval_s": pa.array([EXPIRY_S] * len(ids), pa.int64()),
        "payload": pa.array([b"%06d" % number for number in ids], pa.binary()),
    }
    yield pa.record_batch(columns)


def known(client: Client) -> None:
    """Let every shard know the tenant."""
    client.execute(CreateTenant(name=TENANT), Tenant)
    sessions = [
        ImportSession(tenant=TENANT, client_id=f"a-known-{number}", expiry_interval_s=EXPIRY_S)
        for number in range(32)
    ]
    until(lambda: None if SyncMqtt(client).sessions.import_many(sessions).refusals else True)


def tried(act: Any) -> None:
    """Do something until it succeeds, as Spark does with a task that fails."""

    def attempt() -> bool | None:
        try:
            act()
        except (QuorateError, Exception) as error:
            if "load" not in str(error) and not isinstance(error, QuorateError):
                raise
            return None
        return True

    until(attempt)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    settings = {"groups": {"mqtt": {"shards": 2}}}
    with Cluster(tmp_path, 3, plugins=["mqtt", "spark"], settings=settings) as cluster:
        cluster.ready()
        with Client(cluster.endpoints, timeout_s=60.0) as client:
            known(client)
            yield Site(cluster, client)


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
    until(lambda: None if any(b"two" in each for each in names(site)) else True)

    assert undoing.abort(site.client, "one", lambda _: None) == ROWS - 1
    assert site.count("one") == 0
    with pytest.raises(QuorateError, match="LOAD_ABORTED"):
        site.load("one")
    for digests in site.digests().values():
        assert len(set(digests)) == 1


def names(site: Site) -> list[bytes]:
    return [
        (folder / "name").read_bytes() for folder in site.staged() if (folder / "name").exists()
    ]


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
        tried(lambda: victim_leads(site, victim))
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


def victim_leads(site: Site, victim: NodeProcess) -> None:
    leader = site.cluster.leader("mqtt/0")
    if leader is not victim:
        leader.transfer("mqtt/0", victim.name)
        until(lambda: True if site.cluster.leader("mqtt/0") is victim else None)

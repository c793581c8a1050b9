"""A cluster that loads sessions by files, without Spark."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quorate.client import Client, QuorateError
from quorate.plugin import keys
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.sessions_pb2 import ImportSession
from quorate_spark.v1.commands_pb2 import BeginLoadCommand, EndLoadCommand
from quorate_spark.v1.rows_pb2 import Load

if TYPE_CHECKING:
    from quorate.testing.cluster.node_process import NodeProcess
    from quorate_spark.source.filing import Filed
    from quorate_spark.source.options import WriteOptions

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
        """Return the options of a load."""
        from quorate_spark.source.options import write_options

        options = {"table": "mqtt.sessions", "endpoints": self.cluster.endpoints}
        return write_options({**options, "load_id": load_id, "load.mode": "files", **given})

    def send(
        self, load_id: str, rows: int = ROWS, publish: str = "shards", **given: str
    ) -> list[Filed]:
        """Begin a load, and send the files of all partitions."""
        from quorate_spark.source import placing
        from quorate_spark.source.filing import send_files
        from quorate_spark.source.tables import find

        options, found = self.options(load_id, publish=publish, **given), find("mqtt.sessions")
        opened = placing.opened(self.client, options, found)
        assert opened is not None
        begin = BeginLoadCommand(
            load_id=load_id, table=options.table, by_files=True, atomic=publish != "shards"
        )
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

    def stage(self, load_id: str, rows: int = ROWS) -> None:
        """Send the files of all partitions, to be published."""
        from quorate_spark.source import placing
        from quorate_spark.source.tables import find

        filed = self.send(load_id, rows, publish="later")
        options = self.options(load_id, publish="later")
        placing.put_in_place(self.client, options, find("mqtt.sessions"), filed)
        self.client.execute(EndLoadCommand(load_id=load_id, staged=True), Load)

    def publish(self, load_id: str) -> Load:
        """Publish a staged load."""
        from quorate_spark.source import placing

        return placing.publish(self.client, load_id, 60.0)

    def load(self, load_id: str, rows: int = ROWS) -> None:
        """Load rows, the files of each shard at an entry of its own."""
        self.place(load_id, self.send(load_id, rows))

    def count(self, prefix: str) -> int:
        """Return how many sessions there are whose client ids begin with a prefix."""
        sessions = SyncMqtt(self.client).sessions.list(tenant=TENANT, prefix=prefix)
        return sum(1 for _ in sessions)

    def staged(self) -> list[Path]:
        """Return what the nodes keep of files."""
        nodes = self.cluster.nodes.values()
        return [path for node in nodes for path in node.directory.glob("files/*/*")]

    def lead(self, shard: str, node: NodeProcess) -> None:
        """Have a node lead a shard."""
        leader = self.cluster.leader(shard)
        if leader is not node:
            leader.transfer(shard, node.name)
            until(lambda: True if self.cluster.leader(shard) is node else None)

    def names(self) -> list[bytes]:
        """Return the names of the file sets of which the nodes keep something."""
        found = [folder / "name" for folder in self.staged()]
        return [each.read_bytes() for each in found if each.exists()]

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
    """Return the digest of what a load has written to a replica."""
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
    import pyarrow as pa

    ids = range(partition * rows // PARTITIONS, (partition + 1) * rows // PARTITIONS)
    columns = {
        "tenant": pa.array([TENANT] * len(ids)),
        "client_id": pa.array([f"{prefix}-{number:06}" for number in ids]),
        "expiry_interval_s": pa.array([EXPIRY_S] * len(ids), pa.int64()),
        "payload": pa.array([b"%06d" % number for number in ids], pa.binary()),
    }
    yield pa.record_batch(columns)


def columns_of(prefix: str) -> list[str]:
    """Return the columns of the same rows as expressions of Spark over a range."""
    return [
        f"'{TENANT}' as tenant",
        f"concat('{prefix}-', lpad(id, 6, '0')) as client_id",
        f"{EXPIRY_S}L as expiry_interval_s",
        "cast(lpad(id, 6, '0') as binary) as payload",
    ]


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


@contextmanager
def new_site(path: Path) -> Iterator[Site]:
    """Start a cluster of three nodes, in which a tenant may have sessions."""
    settings = {"groups": {"mqtt": {"shards": 2}}}
    with Cluster(path, 3, plugins=["mqtt", "spark"], settings=settings) as cluster:
        cluster.ready()
        with Client(cluster.endpoints, timeout_s=60.0) as client:
            known(client)
            yield Site(cluster, client)

"""One Spark for all tests, which takes seconds to start, and one cluster of real nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.sessions_pb2 import ImportSession
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Set where Java is promised to be there: its absence is a failure then.
REQUIRED = "QUORATE_REQUIRE_SPARK"

# Java compiles quickly and not well: tests are over before anything better would be worth its time.
os.environ.setdefault(
    "PYSPARK_SUBMIT_ARGS",
    '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" pyspark-shell',
)

TENANTS: Final = ("acme", "globex")
#: So many that each shard has some.
CLIENTS: Final = tuple(f"client-{number}" for number in range(16))

Save = Callable[..., None]


def _missing() -> str:
    try:
        from quorate_spark.source.java import missing_java
        from quorate_spark.source.local import local_session
    except ImportError as error:
        return f'Spark for Python is not installed ({error}): pip install "quorate-spark[testing]"'
    assert callable(local_session)
    return missing_java()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark with two cores of this machine."""
    why = _missing()
    if why and os.environ.get(REQUIRED) == "1":
        pytest.fail(why)
    if why:
        pytest.skip(why)
    from quorate_spark.source.local import local_session

    session = local_session("tests", cores=2)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cluster(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes with every kind of table, and pairs, offsets and sessions in two shards each."""
    directory = tmp_path_factory.mktemp("cluster")
    settings = {"groups": {group: {"shards": 2} for group in ("metadata", "mqtt", "offset")}}
    plugins = ["featureflags", "mqtt", "offset", "spark"]
    with Cluster(directory, 3, plugins=plugins, settings=settings) as cluster:
        yield cluster.ready()


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One node, for what needs no Spark: pairs and sessions in two shards each."""
    pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')
    directory = tmp_path_factory.mktemp("node")
    settings = {"groups": {group: {"shards": 2} for group in ("metadata", "mqtt")}}
    with Cluster(directory, 1, plugins=["mqtt", "spark"], settings=settings) as cluster:
        yield cluster.ready()


@pytest.fixture(scope="session")
def client(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.endpoints) as client:
        yield client


@pytest.fixture(scope="session")
def settle(client: Client) -> Callable[..., None]:
    """Wait until every shard knows tenants; the clients `CLIENTS` have sessions then."""

    def known(reply: BatchReply) -> bool | None:
        return None if reply.refusals else True

    def settled(*tenants: str) -> None:
        commits = [
            GroupCommit(tenant=tenant, group=group, commits=[OffsetCommit(topic="t", offset=0)])
            for tenant in tenants
            for group in CLIENTS
        ]
        sessions = [
            ImportSession(tenant=tenant, client_id=client_id, expiry_interval_s=3_600)
            for tenant in tenants
            for client_id in CLIENTS
        ]
        mqtt = SyncMqtt(client)
        until(lambda: known(client.execute(CommitOffsetsRequest(groups=commits), BatchReply)))
        until(lambda: known(mqtt.sessions.import_many(sessions)))

    return settled


@pytest.fixture(scope="session")
def tenants(client: Client, settle: Callable[..., None]) -> tuple[str, ...]:
    """Tenants that every shard knows, with sessions of the clients `CLIENTS`."""
    for name in TENANTS:
        client.execute(CreateTenant(name=name), Tenant)
    settle(*TENANTS)
    return TENANTS


@pytest.fixture
def save(cluster: Cluster) -> Save:
    """Load rows, into the pairs if nothing else is said; options as Spark takes them."""

    def saved(rows: DataFrame, **options: Any) -> None:
        # What is not said would depend on whether the table is empty.
        always = {"table": "kv.pairs", "endpoints": cluster.endpoints, "load.mode": "rpc"}
        given = {**always, **options}
        rows.write.format("quorate").mode("append").options(**given).save()

    return saved


@pytest.fixture
def pairs(spark: SparkSession, cluster: Cluster) -> Callable[..., DataFrame]:
    """Read pairs whose keys begin with a prefix."""

    def read(prefix: str, **options: Any) -> DataFrame:
        given = {"table": "kv.pairs", "endpoints": cluster.endpoints, **options}
        rows = spark.read.format("quorate").options(**given).load()
        # The bytes behind the prefix are all smaller.
        return rows.where(
            f"key >= cast('{prefix}' as binary) and key < cast('{prefix}~' as binary)"
        )

    return read

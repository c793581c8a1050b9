"""A flag in a cluster of three nodes, through the client that is not awaited."""

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants
from quorate_featureflags.plugin import Environment, Flag, FlagType, Project, Rule
from quorate_featureflags.v1.rows_client import SyncEnvironments, SyncFlags, SyncProjects

PROD = ("acme", "shop", "prod")
DARK = Flag(
    tenant="acme",
    project="shop",
    environment="prod",
    key="dark",
    type=FlagType.BOOLEAN,
    default_value="no",
)


@pytest.mark.ci
def test_a_flag_is_kept_by_a_cluster(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("flags")
    with (
        Cluster(folder, nodes=3, plugins=["featureflags"]) as cluster,
        Client(cluster.ready().endpoints) as q,
    ):
        q.execute(CreateTenants(tenants=[CreateTenant(name="acme")]), BatchReply)
        SyncProjects(q).create(Project(tenant="acme", project="shop"))
        SyncEnvironments(q).create(Environment(tenant="acme", project="shop", environment="prod"))
        flags = SyncFlags(q)
        flags.create(DARK)
        flags.rollout(*PROD, "dark", rules=[Rule(value="yes", percent=10)], expected_version=0)
        assert [each.version for each in flags.list(tenant="acme")] == [1]
        SyncProjects(q).delete("acme", "shop")
        assert flags.get(*PROD, "dark") is None

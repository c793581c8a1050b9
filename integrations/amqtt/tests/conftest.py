"""A cluster of one node, and two brokers on it, for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant

from tests.support.amqtt import TENANT, BrokerProcess, Brokers


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), nodes=1, plugins=["mqtt"]) as cluster:
        yield cluster.ready()


@pytest.fixture(scope="module")
def q(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.endpoints) as q:
        q.execute(CreateTenant(name=TENANT), Tenant)
        yield q


@pytest.fixture(scope="module")
def brokers(
    cluster: Cluster, q: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Brokers]:
    with Brokers(tmp_path_factory.mktemp("brokers"), cluster.endpoints) as brokers:
        yield brokers


@pytest.fixture(scope="module")
def pair(brokers: Brokers) -> tuple[BrokerProcess, BrokerProcess]:
    one, two = brokers.start("one", "two")
    return one, two

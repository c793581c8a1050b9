"""Nodes of Quorate come and go, and the clients of a broker stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant

from tests.support.amqtt import TENANT, Brokers, Device

pytestmark = pytest.mark.ci


def test_no_client_is_disconnected_when_a_leader_is_killed(tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster", nodes=3, plugins=["mqtt"]) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name=TENANT), Tenant)
        with Brokers(tmp_path, cluster.endpoints, ttl_ms=10_000, timeout_s=30) as brokers:
            one, two = brokers.start("one", "two")
            with (
                Device(one, "ada", clean=False) as ada,
                Device(two, "ben", clean=False) as ben,
            ):
                ben.subscribe("talk/#")
                for group in ("mqtt/0", "metadata/0"):
                    leader = cluster.leader(group)
                    leader.kill()
                    ada.publish("talk/live", group)
                    ada.publish("talk/kept", group, retain=True)
                    assert ben.message() == ("talk/live", group.encode())
                    assert ben.message() == ("talk/kept", group.encode())
                    with Device(one, f"late-{group}", clean=False) as late:
                        assert not late.refused
                        late.subscribe("talk/kept")
                        assert late.message() == ("talk/kept", group.encode())
                    leader.start()
                    leader.ready()
                assert ada.is_connected
                assert ben.is_connected
